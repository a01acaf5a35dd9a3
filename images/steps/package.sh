#!/bin/sh
# understudy itself, on top of everything else. Runs as root in the image.
set -eu
. /run/src/images/contents.env

copy=$(mktemp -d)
mkdir "$copy/operator"
cp -r /run/src/operator/src "$copy/operator/"
rm -r "$copy/operator/src/understudy_lab"
cp /run/src/pyproject.toml /run/src/README.md /run/src/LICENSE "$copy/"
PYTHONPATH=/run/tools/lib "$UNDERSTUDY_HOME/bin/python" -m pip install --quiet --root-user-action ignore \
    --ignore-installed --no-build-isolation --no-cache-dir --no-deps --no-index "$copy"
rm -r "$copy"
install -m 755 /run/src/images/entrypoint.sh "$UNDERSTUDY_HOME/entrypoint.sh"

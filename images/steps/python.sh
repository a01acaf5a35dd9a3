#!/bin/sh
# The Python environment with everything that understudy needs, without what it does not. Runs as root in the image.
set -eu
. /run/src/images/contents.env

python3 -m venv --without-pip "$UNDERSTUDY_HOME"
# Nothing in the folder that pip itself is run from counts as installed.
PYTHONPATH=/run/tools/lib PIP_CACHE_DIR=/run/pip "$UNDERSTUDY_HOME/bin/python" -m pip install --quiet \
    --root-user-action ignore --ignore-installed --no-build-isolation --no-compile --require-hashes \
    -r /run/src/requirements.lock

cd "$UNDERSTUDY_HOME"/lib/python3*/site-packages
for pattern in $DROP_PYTHON; do
    # shellcheck disable=SC2086 # a pattern
    rm -r $pattern || { echo "DROP_PYTHON: nothing is called $pattern" >&2; exit 1; }
done
cd pyspark/jars
for pattern in $DROP_JARS; do
    # shellcheck disable=SC2086 # a pattern
    rm -r $pattern || { echo "DROP_JARS: nothing is called $pattern" >&2; exit 1; }
done
python3 /run/src/images/steps/jars.py .
ln -s "$(dirname "$PWD")" "$UNDERSTUDY_HOME/spark"

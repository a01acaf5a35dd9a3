#!/bin/sh
# The Python environment with everything that understudy needs, without what it does not. Runs as root in the image.
set -eu
. /build/contents.env

python3 -m venv --without-pip "$UNDERSTUDY_HOME"
# Nothing that pip's own folder holds counts as installed.
PYTHONPATH="$TOOLS/lib" "$UNDERSTUDY_HOME/bin/python" -m pip install -q --root-user-action ignore \
    --ignore-installed --no-build-isolation --no-compile $LOCK_OPTIONS -r "$LOCK"

cd "$UNDERSTUDY_HOME"/lib/python3*/site-packages
for pattern in $DROP_PYTHON; do
    rm -rf -- $pattern
done
cd pyspark/jars
for pattern in $DROP_JARS; do
    ls -d -- $pattern >/dev/null 2>&1 || { echo "DROP_JARS: nothing is called $pattern" >&2; exit 1; }
    rm -r -- $pattern
done
python3 /build/steps/jars.py .
ln -s "$(dirname "$PWD")" "$UNDERSTUDY_HOME/spark"

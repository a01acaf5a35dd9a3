#!/bin/sh
# pip and setuptools in a folder of their own ($TOOLS), outside the image. Debian's copy of pip fetches them.
set -eu
[ -e "$TOOLS/ready" ] && exit 0
cd "$TOOLS"
apt-get -qq update
apt-get -qq download python3-pip-whl
dpkg-deb -x python3-pip-whl_*.deb debian
PYTHONPATH=$(echo debian/usr/share/python-wheels/pip-*.whl) python3 -m pip install -q \
    --root-user-action ignore --require-hashes --no-deps --target lib -r /build/tools.txt
rm -rf debian ./*.deb /var/lib/apt/lists/*
touch ready

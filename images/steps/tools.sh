#!/bin/sh
# pip and setuptools, as pinned, into /run/tools: outside the image. Debian's copy of pip fetches them.
set -eu
[ ! -e /run/tools/ready ] || exit 0
cd /run/tools
apt-get -qq update
apt-get -qq download python3-pip-whl
dpkg-deb -x python3-pip-whl_*.deb debian
PYTHONPATH=$(echo debian/usr/share/python-wheels/pip-*.whl) python3 -m pip install --quiet \
    --root-user-action ignore --no-deps --require-hashes --target lib -r /run/src/requirements-build.lock
rm -rf debian ./*.deb /var/lib/apt/lists/*
touch ready

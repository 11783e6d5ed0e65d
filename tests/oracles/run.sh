#!/bin/sh
# run.sh VENV TEST.py: runs one oracle's tests, or says why not and returns 77, which CTest counts as skipped.
if [ ! -f "$1/installed.txt" ]; then
  echo "skipped: no oracles in $1; scripts/setup-oracles.sh installs them"
  exit 77
fi
exec "$1/bin/python" -m pytest -rs -q -p no:cacheprovider "$2"

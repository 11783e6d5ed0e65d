#!/bin/sh
# Installs what is missing on Debian 12 (root or sudo). Says nothing and returns at once when nothing is.
# With --bench: also what only benchmarks compare with.
set -eu

packages="g++ clang clang-format cmake ninja-build pkg-config git
  libeigen3-dev libpugixml-dev libtomlplusplus-dev nlohmann-json3-dev libhdf5-dev libcli11-dev libfmt-dev
  libpng-dev libjpeg62-turbo-dev libqhull-dev libtbb-dev liblbfgs-dev libboost-dev libmpfr-dev libgmp-dev
  libgtest-dev libbenchmark-dev libassimp-dev libclang-rt-14-dev chromium python3 python3-numpy python3-h5py
  python3-pytest python3-venv"
if [ "${1:-}" = "--bench" ]; then packages="$packages libsiconos-numerics-dev libdart-dev"; fi
# Any Node.js from 18 on will do: Debian's own, or one that is there already.
node_major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/')
if [ "${node_major:-0}" -lt 18 ] || ! command -v npm >/dev/null; then packages="$packages nodejs npm"; fi

missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: this script knows Debian packages only; please install:$missing" >&2
  exit 2
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: root or sudo is needed to install:$missing" >&2; exit 2; }
  sudo=sudo
fi
echo "setup: installing$missing"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null

#!/bin/sh
# fuzz.sh PROGRAMS WORK [PERCENT]: libFuzzer on every reader, from the seeds of scree_readers and what earlier calls found
# in WORK/READER. Counts are printed; a finding ends it with the input in WORK/READER-crash-*. PERCENT: of the inputs (100).
set -eu
programs=$1
work=$2
percent=${3:-100}
mkdir -p "$work"
"$programs/scree_readers" --write "$work/seeds"
total=0
# Inputs of each: fewer where one takes long.
for pair in urdf:120000 stl:250000 obj:250000 scene:60000 motion:60000 impact:60000 csv:150000 png:150000 granular:100000 \
            run:20000 batch:20000 state:20000; do
  reader=${pair%%:*}
  count=$((${pair##*:} * percent / 100))
  mkdir -p "$work/$reader"
  "$programs/scree_fuzz" --reader="$reader" "$work/$reader" "$work/seeds/$reader" -runs="$count" -seed=1 -max_len=40000 \
    -timeout=60 -rss_limit_mb=4096 -artifact_prefix="$work/$reader-" >"$work/$reader.log" 2>&1 || {
    tail -40 "$work/$reader.log" >&2
    echo "fuzz: $reader failed, its input is in $work/$reader-*, the whole story in $work/$reader.log" >&2
    exit 1
  }
  done=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$work/$reader.log")
  edges=$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' "$work/$reader.log")
  echo "$reader: $done inputs, $edges edges"
  total=$((total + done))
done
echo "fuzz: $total inputs, nothing found"

#!/usr/bin/env bash
# run.sh FUZZER SECONDS [TARGET [INPUT]]: fuzzes all targets or one for so many seconds each, as many at a time as there
# are processors; or repeats one input. What shows a bug is kept in .build/fuzz-inputs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fuzzer=$1 seconds=$2 wanted=${3:-} input=${4:-}
corpus=Tests/FuzzTargets/Corpus

# The sanitizer's handlers, not Swift's, keep the input of a crash.
export SWIFT_BACKTRACE=enable=no

if [ -n "$input" ]; then
  FEEDSTORE_FUZZ_TARGET=$wanted exec "$fuzzer" "$input"
fi

fuzz() {
  local target=$1 found=.build/fuzz-inputs log=.build/fuzz-inputs/$1.log
  mkdir -p "$found" ".build/fuzz-corpus/$target"
  # What takes longer than 10 s or more than 1 GB is a bug, too.
  local TIMEFORMAT='%U %S' processor
  if processor=$({
    time FEEDSTORE_FUZZ_TARGET=$target "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
      -max_len=65536 -print_final_stats=1 -verbosity=1 -artifact_prefix="$found/$target-" \
      ".build/fuzz-corpus/$target" "$corpus/$target" >"$log" 2>&1
  } 2>&1); then
    local runs rate memory first last
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    # For each second of processor time, as others may use the processors.
    rate=$(awk -v runs="$runs" '{ printf "%d", runs / ($1 + $2 + 0.01) }' <<<"$processor")
    memory=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
    first=$(sed -n 's/.*INITED cov: \([0-9]*\) .*/\1/p' "$log")
    last=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    echo "$target: $runs inputs, $rate per processor second, $first to $last edges, $memory MB: nothing found"
  else
    tail -n 40 "$log"
    local kept
    kept=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "$target: a bug; the whole log is $log"
    if [ -n "$kept" ]; then echo "repeat it with: make fuzz TARGET=$target INPUT=$kept"; fi
    return 1
  fi
}
export -f fuzz
export fuzzer seconds corpus

if [ -n "$wanted" ]; then targets=$wanted; else targets=$(ls "$corpus"); fi
# shellcheck disable=SC2086
printf '%s\n' $targets | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz "$1"' fuzz '{}'

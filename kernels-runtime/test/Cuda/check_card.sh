#!/bin/bash
# What only a card can show, in about two minutes: check_card.sh BUILD, on a machine with an NVIDIA card. The runtime's tests on it, alone
# and under compute-sanitizer (memcheck with leaks, racecheck), PyTorch's tensors, and what graphs and weights cost.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
build=$(readlink -f "$1")
source_dir=$(readlink -f "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WEFT_TEST_DEVICE=cuda:0 WEFT_TEST_BUILD=$build XDG_CACHE_HOME=$scratch
failed=0

check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then
    echo "ok      $name: $(tail -n 1 "$scratch/log")"
  else
    echo "FAILED  $name"
    tail -n 40 "$scratch/log"
    failed=1
  fi
}

check tests "$build/bin/weft-runtime-tests" '--gtest_filter=Named/*'
# Without the test whose calls are to fail.
tests=("$build/bin/weft-runtime-tests" '--gtest_filter=Named/*-*RefusesBrokenCode*')
for tool in 'memcheck --leak-check=full' racecheck; do
  # shellcheck disable=SC2086 # the tool and its options
  command -v compute-sanitizer >/dev/null && check "$tool" compute-sanitizer --tool $tool --error-exitcode=9 "${tests[@]}"
done
check torch python3 -m unittest discover -s "$source_dir/python/tests" -t "$source_dir/python" -p 'test_torch.py'
"$build/bin/weft-test-bundle" "$scratch/chain.weft" chain
"$build/bin/weft-test-bundle" "$scratch/early.weft" early-chain
"$build/bin/weft-test-bundle" "$scratch/weights.weft" weights
for n in 1000 1000000; do
  "$build/bin/weft-bench" "$scratch/chain.weft" --device=cuda --dim=n=$n --duration=300ms --baseline-cuda-graph=off || failed=1
  "$build/bin/weft-bench" "$scratch/early.weft" --device=cuda --dim=n=$n --duration=300ms --baseline="$scratch/chain.weft" || failed=1
done
"$build/bin/weft-bench" "$scratch/weights.weft" --device=cuda --dim=n=1000 --duration=300ms --kernels=1 --l2=hot || failed=1
exit $failed

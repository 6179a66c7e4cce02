"""compare-instructions.py EXPLANATION COUNTED: matrix instructions that an explanation predicts for all launches, beside those of `weft-run --counters`."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import re
import sys

predicted: dict[str, float] = {}
with open(sys.argv[1]) as explanation:
    for launch in json.load(explanation)["launches"]:
        for name, value in launch["predicted"].items():
            predicted[name] = predicted.get(name, 0) + value
counted: dict[str, float] = {}
with open(sys.argv[2]) as lines:
    for line in lines:
        if found := re.match(r"\s*(sm__inst_executed_pipe_tensor\S*|l1tex__data_pipe_lsu_wavefronts_mem_shared\.sum)\s+([\d,.]+)", line):
            counted[found.group(1)] = counted.get(found.group(1), 0) + float(found.group(2).replace(",", ""))
for name in sorted(counted, reverse=True):
    if counted[name]:
        print(f"{name}: {counted[name]:.0f} counted, {predicted.get(name, 0):.0f} predicted")

"""Thresholds on what `weft compare-counters` prints: check-counters.py TABLE METRIC:MEDIAN:WORST... [--pairs=PERCENT]"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import pathlib
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("table", type=pathlib.Path)
parser.add_argument("thresholds", nargs="+", metavar="METRIC:MEDIAN:WORST")
parser.add_argument("--pairs", type=float, default=0)
args = parser.parse_args()
text, bad, launches = args.table.read_text(), [], 0
for threshold in args.thresholds:
    metric, *limits = threshold.split(":")
    found = re.search(rf"^{re.escape(metric)}: median error ([\d.]+) \S+, worst ([\d.]+) \(.*\), (\d+) launches$", text, re.M)
    if not found:
        bad.append(f"{metric}: not in the table")
        continue
    launches = int(found[3])
    bad += [f"{metric}: {name} {value}, expected at most {limit}" for name, value, limit in zip(("median", "worst"), found.groups(), limits)
            if float(value) > float(limit)]
pairs = re.search(r"(\d+) of (\d+) pairs ranked right", text)
right, total = (int(pairs[1]), int(pairs[2])) if pairs else (0, 0)
if args.pairs and right < args.pairs / 100 * max(total, 1):
    bad.append(f"pairs: {right} of {total} ranked right, expected {args.pairs} %")
if bad:
    sys.exit("\n".join(bad))
print(f"{launches} launches, {total} pairs: within the thresholds")

"""A file of records with one for each kernel in a plan (read from a file): make_records.py PLAN DEVICE CHOICE SECONDS [APART_SECONDS]."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import re
import sys

plan, device, choice, *seconds = sys.argv[1:]
print(json.dumps({"schema": "weft.records/1"}))
for match in re.finditer(r'tg\.shapes = (\[[^\]]*\]), tg\.subgraph = "([0-9a-f]{32})"', open(plan, encoding="utf-8").read()):
    record = {"subgraph": match[2], "device": device, "shapes": json.loads(match[1]), "choice": choice, "seconds": float(seconds[0])}
    if len(seconds) > 1:
        record["apart_seconds"] = float(seconds[1])
    print(json.dumps(record))

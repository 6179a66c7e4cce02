"""A profile with one record for each kernel of several ops in a plan (read from a file): make_profile.py PLAN DEVICE CHOICE SECONDS [APART_SECONDS]."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import re
import sys

plan, device, choice, *seconds = sys.argv[1:]
records = []
for match in re.finditer(r'tg\.shapes = (\[[^\]]*\]), tg\.subgraph = "([0-9a-f]{32})"', open(plan, encoding="utf-8").read()):
    record = {"subgraph": match[2], "device": device, "shapes": json.loads(match[1]), "choice": choice, "seconds": float(seconds[0])}
    if len(seconds) > 1:
        record["apart_seconds"] = float(seconds[1])
    records.append(record)
json.dump({"schema": "weft.profile/1", "records": records}, sys.stdout)

"""The node suite on the GPU path: which cases CI runs through the emulator, and what is expected of a target.

expected-gpu.json holds what differs from the CPU's list, by target; "all" is what every target has in common:
  refused   {case: {reason, message}}: refused for want of a GPU lowering, named by node and operator
  bugs      {case: {verdict, message}}: wrong values, crashes and the like that are known; a list to be emptied, never to grow
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import collections
import json
import pathlib
import re

import numpy as np
import onnx

from node_cases import Case, to_array
from runner import BUGS, Result

EXPECTED = pathlib.Path(__file__).resolve().parent / "expected-gpu.json"
TARGETS = ("sm_80", "sm_90a")  # What they have in common is listed once.

# Relative L2 error accepted where ONNX's own tolerance is missed (f64 as f32: it may be computed by other formulas).
L2 = {"float64": 1e-4, "float32": 1e-4, "float16": 5e-3, "bfloat16": 2e-2}

# The subset: of each operator the smallest cases of each form, none of them larger than this many elements.
PLAIN_EACH, EXPANDED_EACH, LARGEST = 3, 1, 4096


def elements(case: Case) -> int:
    """Elements of all inputs and outputs of the first data set."""
    def size(value) -> int:
        if isinstance(value, (list, tuple)):
            return sum(size(v) for v in value)
        return 0 if value is None else np.asarray(to_array(value)).size
    inputs, outputs = case.data[0]
    return size(list(inputs)) + size(list(outputs))


def subset(cases: list[Case], plain_each: int = PLAIN_EACH) -> list[Case]:
    """For each operator the `plain_each` smallest cases as they are and, with two or more, the EXPANDED_EACH smallest written as the function's
    body; of equal size the first by name."""
    each = {False: plain_each, True: EXPANDED_EACH if plain_each > 1 else 0}
    groups: dict[tuple[str, bool], list[tuple[int, str, Case]]] = collections.defaultdict(list)
    for case in cases:
        size = elements(case)
        if size <= LARGEST:
            groups[case.operator, "_expanded" in case.name].append((size, case.name, case))
    chosen = []
    for (_, expanded), members in groups.items():
        members.sort(key=lambda m: m[:2])
        chosen += [case for _, _, case in members[:each[expanded]]]
    return sorted(chosen, key=lambda c: c.name)


def _read(path: pathlib.Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {"targets": {}}


def expected(target: str, cpu: dict, path: pathlib.Path = EXPECTED) -> dict:
    """The list for a target, in the form of the CPU's with "bugs" added. Deviations are the CPU's; on the GPU such a case may pass, too."""
    targets = _read(path)["targets"]
    merged = {"refused": dict(cpu["refused"]), "bound": cpu["bound"], "sized": cpu["sized"], "deviations": cpu["deviations"], "bugs": {}}
    for key in ("all", target):
        for kind in ("refused", "bugs"):
            merged[kind].update(targets.get(key, {}).get(kind, {}))
    return merged


def write(target: str, results: list[Result], cpu: dict, path: pathlib.Path = EXPECTED) -> None:
    """Records what these results show for the target; cases that they do not touch keep their entries."""
    targets = _read(path)["targets"]
    full = {t: {k: {**targets.get("all", {}).get(k, {}), **targets.get(t, {}).get(k, {})} for k in ("refused", "bugs")}
            for t in dict.fromkeys([*TARGETS, *targets]) if t != "all"}
    mine = full.setdefault(target, {"refused": {}, "bugs": {}})
    for r in results:
        mine["refused"].pop(r.name, None)
        mine["bugs"].pop(r.name, None)
        if r.verdict == "refused" and r.name not in cpu["refused"]:
            mine["refused"][r.name] = {"reason": r.reason, "message": _neutral(r.message)}
        elif r.verdict in BUGS:
            mine["bugs"][r.name] = {"verdict": r.verdict, "message": _neutral(r.message)}
    common = {kind: {name: entry for name, entry in full[TARGETS[0]][kind].items()
                     if all(full[t][kind].get(name) == entry for t in TARGETS)} for kind in ("refused", "bugs")}
    out = {"all": common}
    for t, lists in full.items():
        out[t] = {kind: {n: e for n, e in lists[kind].items() if n not in common[kind]} for kind in lists}
    for lists in out.values():
        for kind, entries in lists.items():
            lists[kind] = dict(sorted(entries.items()))
    path.write_text(json.dumps({"schema": "weft.expected-gpu/1", "onnx": onnx.__version__, "targets": out}, indent=1) + "\n")


def _neutral(message: str) -> str:
    """A message without the target's name and the digits of addresses, so that targets can share it."""
    return re.sub(r"0x[0-9a-f]+", "0x...", re.sub(r"sm_\d+a?", "the target", message))[:200]

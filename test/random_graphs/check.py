"""Compares a graph's results in all variants with its meaning, and makes a failing graph small."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import pathlib
from typing import Sequence

import numpy as np

from case import Case, difference
from variants import Arrays, Failure, Variant, run_together

MOST_STEPS = 60


@dataclasses.dataclass
class Finding:
    """One variant of one graph that is wrong."""

    seed: int
    variant: str
    text: str
    output: str = ""
    name: str = ""
    status: str = ""
    reason: str = ""  # What the finding hangs on, where that was tried.

    def __post_init__(self):
        self.name, self.status = f"seed-{self.seed}-{self.variant}", f"{self.kind}: {self.text}"

    @property
    def kind(self) -> str:
        return self.reason or ("differs" if self.output else self.text.split(":")[0])


def is_skipped(result: Arrays | Failure | None, variant: Variant) -> bool:
    """onnxruntime lacks some ops for some types."""
    return result is None or (isinstance(result, Failure) and variant.name == "ort" and "NOT_IMPLEMENTED" in str(result))


def judge(case: Case, variant: Variant, result: Arrays | Failure, expected: dict) -> Finding | None:
    if isinstance(result, Failure):
        return Finding(case.seed, variant.name, str(result))
    for name, got in zip(case.outputs, result):
        if problem := difference(got, *expected[name]):
            return Finding(case.seed, variant.name, problem, name)
    return None


def hangs_on_infinities(case: Case, variant: Variant, finding: Finding, folder: pathlib.Path) -> bool:
    """Whether it is right with finite operands, and the variant may distribute products over sums: (a + b) * inf is a * inf + b * inf then."""
    if not (variant.distributes and finding.output) or case.ordinary:
        return False
    finite = case.finite()
    result = run_together(variant, [finite], folder)[0]
    return result is not None and judge(finite, variant, result, finite.expected(variant.loose)) is None


def same_bits(case: Case, fused: Arrays, unfused: Arrays) -> Finding | None:
    """Without sums there is no order to choose: fused and unfused kernels give the same bits."""
    for name, a, b in zip(case.outputs, fused, unfused):
        if a.dtype != b.dtype or a.shape != b.shape:
            return None  # The comparison with the graph's meaning says so.
        wide = [x.astype(np.float64) for x in (a, b)]
        equal = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
        if not equal.all():
            where = tuple(int(i) for i in np.argwhere(~equal)[0])
            return Finding(case.seed, "bits", f"fused {a[where]!r} and unfused {b[where]!r} at {list(where)}, and {int((~equal).sum())} in all", name)
    return None


def check(cases: Sequence[Case], variants: Sequence[Variant], folder: pathlib.Path) -> tuple[list[Finding], dict[str, int]]:
    """What is wrong, and how many graphs each variant ran."""
    findings, ran, results = [], {}, {}
    for variant in variants:
        results[variant.name] = run_together(variant, cases, folder)
    for i, case in enumerate(cases):
        rooms = {loose: case.expected(loose) for loose in {v.loose for v in variants}}
        for variant in variants:
            result = results[variant.name][i]
            if is_skipped(result, variant):
                continue
            ran[variant.name] = ran.get(variant.name, 0) + 1
            if finding := judge(case, variant, result, rooms[variant.loose]):
                if hangs_on_infinities(case, variant, finding, folder):
                    finding = dataclasses.replace(finding, reason="infinite operands")
                findings.append(finding)
        pair = [results[name][i] for name in ("fused", "unfused") if name in results]
        if len(pair) == 2 and not case.has_sums and not any(isinstance(r, Failure) for r in pair):
            if finding := same_bits(case, *pair):
                findings.append(finding)
    return findings, ran


def shrink(case: Case, finding: Finding, variants: Sequence[Variant], folder: pathlib.Path) -> tuple[Case, Finding]:
    """A smaller graph that goes wrong in the same way: fewer results, and inputs in place of ops."""
    names = ("fused", "unfused") if finding.variant == "bits" else (finding.variant,)
    used = [variant for variant in variants if variant.name in names]
    steps = 0

    def fails(smaller: Case) -> Finding | None:
        nonlocal steps
        steps += 1
        if steps > MOST_STEPS or not smaller.nodes:
            return None
        found = [f for f in check([smaller], used, folder)[0] if f.variant == finding.variant and f.kind == finding.kind]
        return found[0] if found else None

    for output in [finding.output] if finding.output else list(case.outputs):
        smaller = case.pruned([output])
        if found := fails(smaller):
            case, finding = smaller, found
            break
    changed = True
    while changed:
        changed = False
        for node in list(case.nodes):
            ends = set(node.outputs) & set(case.outputs)
            smaller = case.pruned([n for n in node.inputs if n in {o for m in case.nodes for o in m.outputs}]) if ends else case.cut(node)
            if smaller.outputs and (found := fails(smaller)):
                case, finding, changed = smaller, found, True
                break
    return case, finding

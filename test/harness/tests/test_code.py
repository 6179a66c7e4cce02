"""The check of generated code: how PTX is cut into kernels, what counts as a problem, and lists that break both ways."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "gpu"))

import check_code  # noqa: E402
from check_code import Outcome, Problem  # noqa: E402


def module(target: str, *names: str) -> str:
    bodies = "".join(f"\t// .globl\t{n}\n.extern .shared .align 1024 .b8 {n}_smem[];\n.visible .entry {n}(\n.param .u64 {n}_param_0\n)\n{{\n{{\n}}\n"
                     f"mov.b64 %rd1, {n}_smem;\n}}\n" for n in names)
    return f".version 7.4\n.target {target}\n.address_size 64\n\n{bodies}"


class Kernels(unittest.TestCase):
    def test_cut_and_renamed(self):
        found = list(check_code.kernels(module("sm_80", "k0", "k1", "k10") + module("sm_90a", "k0")))
        self.assertEqual([(t, n) for t, n, _ in found], [("sm_80", "k0"), ("sm_80", "k1"), ("sm_80", "k10"), ("sm_90a", "k0")])
        self.assertEqual({text for t, _, text in found if t == "sm_80"}, {found[0][2]}, "a kernel's number is no part of its text")
        self.assertTrue(found[0][2].startswith(".version 7.4\n.target sm_80\n"))
        self.assertIn("k0_smem", found[2][2])


class Reports(unittest.TestCase):
    def test_problems(self):
        clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info : Used 24 registers"
        self.assertEqual(list(check_code.problems_of(clean)), [])
        spilling = clean.replace("0 bytes spill stores", "12 bytes spill stores")
        self.assertEqual(list(check_code.problems_of(spilling)), [("spills", "12 bytes of stores, 0 of loads, 24 registers")])
        chosen = clean.replace("0 bytes spill stores", "8 bytes spill stores")
        self.assertEqual(list(check_code.problems_of(chosen)), [])
        self.assertTrue(check_code.has_chosen_spill(chosen) and not check_code.has_chosen_spill(clean) and not check_code.has_chosen_spill(spilling))
        self.assertEqual(list(check_code.problems_of(clean + "\ntook 2.00 s of processor time\n")), [])
        self.assertEqual(list(check_code.problems_of(clean + "\ntook 34.10 s of processor time\n")), [("assembly", "34.10 s of ptxas")])
        loss = "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n" + clean
        self.assertEqual([kind for kind, _ in check_code.problems_of(loss)], ["loss"])
        self.assertEqual([kind for kind, _ in check_code.problems_of("error: syntax")], ["refused"])

    def test_banks(self):
        line = "m.onnx: remark: sm_80: node `y`: [{}] banks | Category:layout | Function=k | Remark=\"reads: {}\"\n"
        text = line.format("Passed", "no bank conflicts") + 2 * line.format("Missed", "2 wavefronts instead of 1")
        self.assertEqual(list(check_code.bank_problems("g", text)), [Problem("g", "sm_80", "k", "banks", "reads: 2 wavefronts instead of 1")])

    def test_kept_by_text(self):
        with tempfile.TemporaryDirectory() as name:
            tool, calls = pathlib.Path(name) / "ptxas", pathlib.Path(name) / "calls"
            tool.write_text(f"#!/bin/sh\n[ $1 = --version ] || echo called >> {calls}\ngrep -qs bad $3 && exit 1\necho Used 1 registers\n")
            tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
            assembler = check_code.Assembler(str(tool), pathlib.Path(name) / "cache")
            for _ in range(2):
                self.assertRegex(assembler.report("sm_80", "good"), r"^Used 1 registers\ntook \d+\.\d\d s of processor time\n$")
            assembler.report("sm_90a", "good")
            self.assertEqual(len(calls.read_text().split()), 2, "once for each target")
            self.assertTrue(assembler.report("sm_80", "bad").startswith("error:"))


class Lists(unittest.TestCase):
    bad = Outcome("g", 2, 0, [Problem("g", "sm_80", "k0", "spills", ""), Problem("g", "sm_80", "k1", "spills", "")])
    good = Outcome("g", 2, 0, [])

    def judge(self, outcome, listed, targets=("sm_80",), kinds=check_code.KINDS):
        return check_code.judge([outcome], listed, targets, kinds)

    def test_both_ways(self):
        listed = {"g": {"reason": "why", "problems": {"sm_80": ["spills"]}}}
        self.assertEqual(self.judge(self.bad, listed), ([], ["g"]))
        self.assertEqual(len(self.judge(self.bad, {})[0]), 1)
        self.assertEqual(len(self.judge(self.good, listed)[0]), 1)
        self.assertEqual(self.judge(self.good, listed, targets=("sm_90a",)), ([], []))
        self.assertEqual(self.judge(self.good, listed, kinds=check_code.NOT_PTXAS), ([], []))
        self.assertIn("without a reason", self.judge(self.bad, {"g": {"reason": "", "problems": {"sm_80": ["spills"]}}})[0][0])

    def test_update_keeps_reasons_and_other_targets(self):
        listed = {"g": {"reason": "why", "problems": {"sm_80": ["loss"], "sm_86": ["spills"]}}}
        self.assertEqual(check_code.update([self.bad], listed, ("sm_80",)),
                         {"g": {"reason": "why", "problems": {"sm_80": ["spills"], "sm_86": ["spills"]}}})
        self.assertEqual(check_code.update([self.good], listed, ("sm_80", "sm_86")), {})


if __name__ == "__main__":
    unittest.main()

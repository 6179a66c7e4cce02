"""Ratios, refusals, the cache of peers' times and the table of the GPU benchmark, without a GPU."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import json
import math
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cases  # noqa: E402
from measure import children, table  # noqa: E402
from measure.table import Result, Timing  # noqa: E402


def result(*timings: Timing) -> Result:
    return Result("case", "bf16", floor_ms=0.5, flops=int(4e11), bytes=1000, timings=list(timings), kernels=3)


class Ratios(unittest.TestCase):
    def test_best_peer_over_ours(self):
        r = result(Timing("weft", [0.9, 1.1, 1.0]), Timing("eager", [3, 3, 3]), Timing("compile", [2, 1.2, 1.3]))
        self.assertEqual((r.best_peer.candidate, r.ratio), ("compile", 1.3))

    def test_no_ratio_without_both(self):
        self.assertIsNone(result(Timing("weft", [1])).ratio)
        self.assertIsNone(result(Timing("weft", failure="wrong"), Timing("eager", [1])).ratio)
        self.assertIsNone(result(Timing("weft", [1]), Timing("eager", failure="no memory")).ratio)

    def test_spread(self):
        self.assertAlmostEqual(Timing("weft", [1, 2, 3, 4, 5, 6, 7]).spread, (6 - 2) / 4)
        self.assertIsNone(Timing("weft", [1]).spread)


class Refusals(unittest.TestCase):
    def test_only_what_is_right_is_timed(self):
        right, wrong, nan = Timing("a"), Timing("b"), Timing("c")
        self.assertTrue(table.accept(right, 0.01, 0.02))
        self.assertFalse(table.accept(wrong, 0.03, 0.02))
        self.assertFalse(table.accept(nan, math.nan, 0.02))
        self.assertIn("3.0e-02", wrong.failure)
        self.assertIsNone(right.failure)


class Cache(unittest.TestCase):
    def test_by_device_case_and_candidate(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "peers.json"
            table.PeerCache(path, "GPU A").put("case", "bf16", Timing("eager", [1.0, 2.0]), "2026-01-01")
            again = table.PeerCache(path, "GPU A")
            self.assertEqual((again.get("case", "bf16", "eager").ms, again.get("case", "bf16", "eager").cached), ([1.0, 2.0], "2026-01-01"))
            self.assertIsNone(again.get("case", "f16", "eager"))
            self.assertIsNone(table.PeerCache(path, "GPU B").get("case", "bf16", "eager"))
            again.put("case", "bf16", again.get("case", "bf16", "eager"), "2027-01-01")  # What came from the cache stays as old as it is.
            self.assertEqual(table.PeerCache(path, "GPU A").get("case", "bf16", "eager").cached, "2026-01-01")


class Text(unittest.TestCase):
    def test_table(self):
        text = table.markdown([result(Timing("weft", [1.0], error=1e-3), Timing("eager", [2.0], cached="2026-01-01")),
                               result(Timing("weft", failure="wrong: far off"), Timing("compile", [1.0]))], {"device": "GPU"})
        self.assertIn("| case | 1.0000 | - | 2.0000\\* | eager | **2.00** | 400 TFLOP/s | 0.5000 | 2.00 | 1.0e-03 | 3 |", text)
        self.assertIn("* case weft: wrong: far off", text)
        self.assertIn("(2026-01-01), not beside ours", text)
        self.assertIn("* device: GPU", text)

    def test_json_round_trip(self):
        r = result(Timing("weft", [1.0], error=1e-3), Timing("eager", [2.0]))
        data = json.loads(table.to_json([r], {"device": "GPU"}))
        self.assertEqual((data["results"][0]["ratio"], data["results"][0]["best_peer"]), (2.0, "eager"))
        self.assertEqual(table.from_dict(data["results"][0]), r)


class Restart(unittest.TestCase):
    """A worker that dies takes its case down, not the run."""

    def run_all(self, folder: str, child, **options) -> dict:
        """Results by case, with `child` in place of the process."""
        args = argparse.Namespace(out=pathlib.Path(folder), seconds=60, dtype="bf16")
        original, children.run_child = children.run_child, child
        self.addCleanup(setattr, children, "run_child", original)
        return {r.case: r for r in children.run_all(cases.find("geglu*,softmax*,rmsnorm*"), args, "script", **options)}

    def test_every_case_has_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            calls = []

            def child(_script, _flags, _args, names, lines, _deadline):
                calls.append(names)
                with open(lines, "a") as out:
                    for name in names:
                        out.write(json.dumps({"begin": name}) + "\n")
                        if name.startswith("softmax"):
                            return "the process ended with -6"
                        good = Result(name, "bf16", 1, 1, 1, [Timing("weft", [1.0])])
                        out.write(json.dumps({"result": json.loads(table.to_json([good], {}))["results"][0]}) + "\n")
                return "the process ended with 0"

            results = self.run_all(folder, child)
        self.assertEqual(len(calls), 2)
        self.assertEqual({name: r.ours.failure for name, r in results.items()}, {
            "rmsnorm_8192x4096": None, "softmax_16384x4096": "the process ended with -6", "geglu_4096x10240": None})

    def test_goes_on_where_the_time_ended(self):
        """With `resume` neither what has a result nor the case that the end met is lost."""
        def child(_script, _flags, _args, names, lines, _deadline):
            seen.append(names)
            with open(lines, "a") as out:
                for name in names[:1] if len(seen) == 1 else names:
                    good = Result(name, "bf16", 1, 1, 1, [Timing("weft", [1.0])])
                    out.write(json.dumps({"result": json.loads(table.to_json([good], {}))["results"][0]}) + "\n")
                if len(seen) == 1:
                    out.write(json.dumps({"begin": names[1]}) + "\n")
            return "out of time" if len(seen) == 1 else "the process ended with 0"

        seen: list[list[str]] = []
        with tempfile.TemporaryDirectory() as folder:
            results = self.run_all(folder, child, resume=True)
            self.assertEqual([len(names) for names in seen], [3, 2])
            self.assertEqual([r.ours.failure for r in results.values()], [None] * 3)
            self.run_all(folder, child, resume=True)
            self.assertEqual(len(seen), 2)
            self.run_all(folder, child)
            self.assertEqual(len(seen[2]), 3)


if __name__ == "__main__":
    unittest.main()

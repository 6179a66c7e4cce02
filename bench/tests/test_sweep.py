"""Random shapes are the same everywhere and cover what they are said to; the summary's arithmetic."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import collections
import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from cases import random_shapes  # noqa: E402
from measure import sweep_table  # noqa: E402
from measure.table import Result, Timing  # noqa: E402


class Shapes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = random_shapes.sweep(7, 1150)
        cls.by_kind = collections.defaultdict(list)
        for case in cls.cases:
            cls.by_kind[random_shapes.kind_of(case.name)].append(case)

    def sizes(self, kind: str, name: str) -> set:
        return {case.sizes[name] for case in self.by_kind[kind] if name in case.sizes}

    def test_the_same_cases_from_a_seed(self):
        """Written down: a change of the distributions makes sweeps before and after it two different ones."""
        self.assertEqual([case.name for case in random_shapes.sweep(1, 3)], FIRST)

    def test_a_case_does_not_depend_on_the_others(self):
        norms = [case.name for case in self.by_kind["norm"]]
        alone = [case.name for case in random_shapes.sweep(7, len(norms), ("norm",))]
        self.assertEqual(alone, norms)

    def test_bounds(self):
        self.assertEqual(len({case.name for case in self.cases}), 1150)
        self.assertEqual(set(self.by_kind), set(random_shapes.KINDS))
        for case in self.cases:
            self.assertLessEqual(case.flops, random_shapes.MOST_FLOPS, case.name)
            self.assertLessEqual(case.bytes, random_shapes.MOST_BYTES, case.name)
        little = [case for case in self.cases if case.floor_ms < random_shapes.LITTLE_MS]
        self.assertLess(len(little), 0.35 * len(self.cases))

    def test_ranges(self):
        self.assertEqual(self.sizes("attention", "width"), set(range(32, 257, 16)))
        self.assertEqual(self.sizes("attention", "causal"), {False, True})
        self.assertEqual(self.sizes("epilogue", "epilogue"), {"bias", "gelu", "silu", "residual"})
        self.assertIn(1, self.sizes("product", "m") | self.sizes("epilogue", "m"))
        self.assertTrue(any(case.sizes["groups"] < case.sizes["heads"] for case in self.by_kind["attention"]))
        self.assertTrue(any(case.sizes["keys"] != case.sizes["queries"] for case in self.by_kind["attention"]))
        self.assertEqual({case.sizes["bias"][0] == case.sizes["batch"] for case in self.by_kind["biased"]}, {False, True})
        primes = {n for n in self.sizes("decode", "keys") if all(n % d for d in range(2, math.isqrt(n) + 1))}
        self.assertGreater(len(primes), len(self.by_kind["decode"]) / 10)
        self.assertEqual((self.sizes("conv", "kernel"), self.sizes("conv", "stride"), self.sizes("conv", "dilation")), ({1, 3}, {1, 2}, {1, 2}))
        self.assertEqual(self.sizes("depthwise", "kernel"), {3, 5, 7})
        self.assertTrue(all(len(size) == 3 for size in self.sizes("conv3d", "size")))
        for name in ("n", "k"):  # Any number, too.
            self.assertTrue(any(n % 8 for n in self.sizes("product", name)))

    def test_small_cases_have_the_graph_of_large_ones(self):
        for kind, listed in self.by_kind.items():
            case = listed[0]
            self.assertLessEqual({n for n in case.small_sizes}, {n for n in case.sizes} | {"dilation", "stride", "relu", "groups"}, kind)
            self.assertLess(case.small.flops, 1e7, kind)


FIRST = ["product_m76_n960_k384", "attention_batch8_heads1_groups1_queries4096_keys4096_width176_causal",
         "conv_batch15_channels560_out24_size57x57_kernel3_stride2_dilation1"]


class Summaries(unittest.TestCase):
    @staticmethod
    def result(kind: str, ours: float | None, peer: float | None, planned: float | None = None) -> Result:
        timings = [Timing("weft", [ours] if ours else [], failure=None if ours else "wrong: far off"), Timing("eager", [peer] if peer else [])]
        return Result("start" if kind == "start" else f"{kind}_m1", "bf16", 1, 1, 0, timings, planned_ms=planned)

    def test_quantiles(self):
        self.assertEqual(sweep_table.quantile([3, 1, 2], 0.5), 2)
        self.assertEqual(sweep_table.quantile([1, 2], 0.1), 1.1)
        self.assertEqual(sweep_table.quantile([5], 0.9), 5)

    def test_by_kind(self):
        results = [self.result("norm", 1.0, 2.0, planned=0.9), self.result("norm", 1.0, 0.5, planned=1.4), self.result("norm", None, 1.0, planned=1.0),
                   self.result("conv", 2.0, 2.0), self.result("conv", 1.0, None)]
        everything, conv, norm = sweep_table.summaries(results)
        self.assertEqual((everything.kind, everything.cases, everything.timed), ("all", 5, 3))
        self.assertEqual((conv.geomean, conv.worst, conv.priced, conv.error_median), (1.0, 1.0, 0, None))
        self.assertEqual((norm.cases, norm.timed, norm.priced, norm.worst), (3, 2, 2, 0.5))
        self.assertAlmostEqual(norm.geomean, 1.0)
        self.assertAlmostEqual(norm.tenth, 0.65)
        self.assertAlmostEqual(norm.error_median, 0.25)
        self.assertAlmostEqual(norm.error_ninetieth, 0.37)
        self.assertEqual(sweep_table.summarise("none", []).geomean, None)

    def test_what_the_method_adds(self):
        """The start, and dirty lines where memory bounds: as many as are read, less those that results replace in the L2."""
        results = [self.result("start", 0.004, None, planned=0.003), self.result("norm", 0.0125, None, planned=0.01)]
        self.assertAlmostEqual(sweep_table.start_ms(results), 0.001)
        self.assertAlmostEqual(sweep_table.summaries(results)[0].error_median, 1 - 0.011 / 0.0125)
        self.assertEqual([summary.kind for summary in sweep_table.summaries(results)], ["all", "norm"])
        read, copied, little = (Result("x_1", "bf16", 1, 1, int(n), [], written=int(w)) for n, w in ((2e8, 0), (2e8, 1e8), (2e7, 1e7)))
        self.assertAlmostEqual(sweep_table.method_ms(read, 0.001), 0.001 + sweep_table.DIRTY_PART * sweep_table.DIRTY_BYTES / 3e9)
        self.assertAlmostEqual(sweep_table.method_ms(copied, 0), 0)
        self.assertAlmostEqual(sweep_table.method_ms(little, 0), sweep_table.DIRTY_PART * 1e7 / 3e9)
        self.assertEqual(sweep_table.method_ms(Result("x_1", "bf16", 1, int(1e12), int(1e7), []), 0), 0)

    def test_texts(self):
        results = [self.result("norm", 0.001, 0.002, planned=0.0009), self.result("conv", None, 1.0)]
        text = sweep_table.markdown(results, {"device": "GPU"})
        self.assertIn("| norm | 1 | 1 | 2.00 | 2.00 | 2.00 | 1 | 10% | 10% |", text)
        self.assertIn("| conv | 1 | 0 | - | - | - | 0 | - | - |", text)
        self.assertIn("| norm_m1 | 1.0 | eager | 2.0 | 2.00 | 0.9 | 0.9 | -10% |", text)
        self.assertIn("* conv_m1 weft: wrong: far off", text)
        data = json.loads(sweep_table.to_json(results, {}))
        self.assertEqual([(row["kind"], row["ratio"]) for row in data["results"]], [("norm", 2.0), ("conv", None)])
        self.assertEqual(data["summary"][0]["kind"], "all")


if __name__ == "__main__":
    unittest.main()

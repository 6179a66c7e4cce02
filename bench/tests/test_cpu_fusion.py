"""What the comparison of fused and unfused CPU code says about given times, without running any."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cpu_fusion  # noqa: E402
from cpu_fusion import Case, Series  # noqa: E402


def case(fused: list[float], unfused: list[float], exact: bool = True, error: float = 1e-6) -> Case:
    return Case("model", 1, Series(fused, fused), Series(unfused, [2 * t for t in unfused]), Series([1.0], [1.0]), Series([], []), 0, (3, 9), exact, error, 1e-4)


class Ratios(unittest.TestCase):
    def test_one_ratio_a_round_of_two_runs(self):
        self.assertEqual(case([1, 3, 2, 2], [4, 4, 6, 6]).ratios(), [2, 3])
        self.assertEqual(case([1, 3, 2, 2], [4, 4, 6, 6]).ratios("wall"), [4, 6])

    def test_table(self):
        row = cpu_fusion.table([case([1, 1, 2, 2], [2, 2, 6, 6])])[-1]
        self.assertIn("| 3 / 9 | 1.50 ms | 4.00 ms | **2.50** (2.25 to 2.75) |", row)
        self.assertIn("**differs**", cpu_fusion.table([case([1, 1], [1, 1], error=1e-3)])[-1])


class Check(unittest.TestCase):
    def test_slower_in_most_rounds(self):
        slow, noise = [1.2, 1.2] * 8, [1.2, 1.2] * 5 + [1, 1] * 3
        self.assertEqual(cpu_fusion.check([case([1, 1] * 8, [1, 1] * 8)], 1.05), [])
        self.assertEqual(cpu_fusion.check([case(slow, [1, 1] * 8)], 1.05),
                         ["model, 1 threads: fused takes 1.20 times the unfused processor time, allowed 1.05"])
        self.assertEqual(cpu_fusion.check([case(noise, [1, 1] * 8)], 1.05), [], "a quarter of the rounds may say otherwise")
        self.assertEqual(cpu_fusion.check([case(slow, [1, 1] * 8)], None), [])

    def test_results_count_too(self):
        self.assertIn("outputs differ", cpu_fusion.check([case([1, 1], [2, 2], exact=False)], 1.05)[0])
        self.assertIn("1.0e-03 against onnxruntime, allowed 1e-04", cpu_fusion.check([case([1, 1], [2, 2], error=1e-3)], None)[0])


if __name__ == "__main__":
    unittest.main()

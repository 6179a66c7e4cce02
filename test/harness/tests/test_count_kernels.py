"""How test/models/count_kernels.py reads programs."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))

import count_kernels  # noqa: E402

PROGRAM = """
    %0 = tg.dispatch @norm::@kernel(%arg0) symbols = #map : (tensor<4xf32>) -> tensor<4xf32>
    %1:2 = tg.dispatch @launch_q::@kernel(%0, %0) symbols = #map : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  module @norm attributes {} {
"""


class CountKernels(unittest.TestCase):
    def test_labels(self):
        self.assertEqual(count_kernels.labels_of(PROGRAM), ["norm", "launch_q"])

    def test_period(self):
        self.assertEqual(count_kernels.period_of(["embed", "a", "b", "a", "b", "norm"], 2), 2)
        self.assertEqual(count_kernels.period_of(["a", "b", "c"], 2), 2)  # Layers that differ: their mean, rounded up.
        self.assertEqual(count_kernels.period_of(["a", "a", "a"], 1), 3)

    def test_judge(self):
        row = count_kernels.Count("m", "sm_80", 9, 7, 0.1)
        self.assertEqual(count_kernels.judge([row], {"sm_80": {"m": 7}}), [])
        self.assertEqual(len(count_kernels.judge([row], {"sm_80": {"m": 6}})), 1)
        self.assertEqual(len(count_kernels.judge([row], {})), 1)


if __name__ == "__main__":
    unittest.main()

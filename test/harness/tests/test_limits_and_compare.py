"""The harness must tell crashes, hangs, refusals and wrong values apart, or the suites prove nothing."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import signal
import sys
import time
import unittest

import ml_dtypes
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from harness import compare, limits  # noqa: E402


class Run(unittest.TestCase):
    def test_exit_status_and_output(self):
        outcome = limits.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((outcome.code, outcome.stdout, outcome.stderr, outcome.crashed), (3, "out\n", "err\n", False))

    def test_signal_is_a_crash(self):
        outcome = limits.run(["sh", "-c", "kill -SEGV $$"])
        self.assertEqual((outcome.code, outcome.crashed), (-signal.SIGSEGV, True))

    def test_hang_is_killed_with_its_children(self):
        start = time.monotonic()
        outcome = limits.run(["sh", "-c", "sleep 60 & sleep 60"], timeout=0.5)
        self.assertTrue(outcome.timed_out)
        self.assertFalse(outcome.crashed)
        self.assertLess(time.monotonic() - start, 10)

    def test_memory_limit(self):
        outcome = limits.run([sys.executable, "-c", "x = bytearray(1 << 30)"], memory_mb=512)
        self.assertNotEqual(outcome.code, 0)
        self.assertIn("MemoryError", outcome.stderr)


class Isolated(unittest.TestCase):
    def test_value(self):
        self.assertEqual(limits.isolated(lambda: [1, "two"]).value, [1, "two"])

    def test_exception_is_text(self):
        result = limits.isolated(lambda: 1 // 0)
        self.assertIn("ZeroDivisionError", result.error)

    def test_signal(self):
        result = limits.isolated(lambda: os.kill(os.getpid(), signal.SIGSEGV))
        self.assertEqual((result.signal, result.error), (signal.SIGSEGV, None))

    def test_hang(self):
        self.assertTrue(limits.isolated(lambda: time.sleep(60), timeout=0.3).timed_out)

    def test_silent_exit_is_an_error(self):
        self.assertIn("no result", limits.isolated(lambda: os._exit(0)).error)


class Direct(unittest.TestCase):
    def test_value_of_this_process(self):
        self.assertEqual(limits.direct(os.getpid).value, os.getpid())

    def test_exception_is_text(self):
        self.assertIn("ZeroDivisionError", limits.direct(lambda: 1 // 0).error)


class Mismatch(unittest.TestCase):
    def check(self, got, want):
        return compare.mismatch(np.asarray(got), np.asarray(want), 1e-3, 1e-7)

    def test_within_tolerance(self):
        self.assertIsNone(self.check(np.float32([1.0005, np.nan, np.inf]), np.float32([1, np.nan, np.inf])))

    def test_value_shape_and_type(self):
        self.assertIn("[1]", self.check(np.float32([1, 2.01]), np.float32([1, 2])))
        self.assertIn("shape", self.check(np.zeros((1, 2)), np.zeros(2)))
        self.assertIn("dtype", self.check(np.float32(1), np.float64(1)))
        self.assertIsNotNone(self.check(np.float32([-np.inf]), np.float32([np.inf])))

    def test_narrow_types_are_compared_by_value(self):
        one, two = np.ones(2, ml_dtypes.float8_e4m3fn), np.full(2, 2, ml_dtypes.float8_e4m3fn)
        self.assertIsNone(self.check(one, one))
        self.assertIsNotNone(self.check(one, two))
        self.assertIsNone(self.check(np.array([1.0], ml_dtypes.bfloat16), np.array([1.0078125], ml_dtypes.bfloat16)))

    def test_number_of_outputs(self):
        self.assertIn("2 outputs", compare.mismatches([np.zeros(1)], [np.zeros(1)] * 2, 0, 0))

    def test_relative_l2(self):
        want = np.array([3.0, 4.0])
        self.assertAlmostEqual(compare.relative_l2(np.array([3.0, 4.5]), want), 0.1)
        self.assertEqual(compare.relative_l2(np.array([3.0, np.nan]), want), float("inf"))
        self.assertEqual(compare.relative_l2(np.zeros(3), want), float("inf"))
        self.assertEqual(compare.relative_l2(np.zeros(2), np.zeros(2)), 0)


if __name__ == "__main__":
    unittest.main()

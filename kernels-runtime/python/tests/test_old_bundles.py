"""Bundles of older minors of the format are read and run: those of test/stable, written when each was the newest, for the CPU and a GPU.

They hold y = transpose(softmax(x w)) and the places where the softmax is above 0.15, for any n up to 64. A new minor adds one:
    weft compile m.onnx --target=cpu,sm_80 --cpu=x86-64-v2 --explain=off --dim=n=1..64
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes
import gzip
import os
import pathlib
import re
import sys
import unittest

import numpy as np

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402

STABLE = PACKAGE.parents[1] / "test" / "stable"


class OldBundlesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)

    def test_the_newest_is_there(self):
        major, minor = ctypes.c_uint32(), ctypes.c_uint32()
        weft.load_library().weft_format_version(ctypes.byref(major), ctypes.byref(minor))
        names = [path.name for path in STABLE.glob("bundle-*.weft.gz")]
        self.assertIn(f"bundle-{major.value}.{minor.value}.weft.gz", names, "keep one of the new minor, and the older ones")

    def test_runs(self):
        weight = (np.arange(91, dtype=np.float32).reshape(13, 7) - 45) / 64
        for path in sorted(STABLE.glob("bundle-*.weft.gz")):
            data = gzip.decompress(path.read_bytes())
            self.assertEqual(".".join(map(str, np.frombuffer(data, np.uint16, 2, 8))), re.search(r"-(.*)\.weft", path.name)[1])
            for device in ("cpu", "emu:sm_80"):
                session = weft.Session(data, device=device)
                for n in (1, 3, 64):
                    x = np.random.default_rng(n).standard_normal((n, 13), np.float32)
                    scores = np.exp(x @ weight)
                    scores /= scores.sum(1, keepdims=True)
                    with self.subTest(path=path.name, device=device, n=n):
                        results = session.run({"x": x})
                        np.testing.assert_allclose(results["y"], scores.T, rtol=2e-5, atol=1e-6)
                        np.testing.assert_array_equal(results["where"], np.nonzero(results["y"].T > np.float32(0.15)))


if __name__ == "__main__":
    unittest.main()

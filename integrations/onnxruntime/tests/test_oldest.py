"""The tests of the provider in the oldest onnxruntime that it supports, by a provider that takes notes: every function of OrtEntries.def is called."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[3]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", ROOT / "build"))
RUN = """
import ctypes, os, sys, unittest
import onnxruntime, test_ep
print("onnxruntime", onnxruntime.__version__)
done = unittest.TextTestRunner(stream=sys.stdout).run(unittest.defaultTestLoader.loadTestsFromModule(test_ep))
uncalled = ctypes.CDLL(str(test_ep.LIBRARY)).weft_ort_uncalled
uncalled.restype = ctypes.c_char_p
print("uncalled:", *uncalled().decode().split())
sys.exit(0 if done.wasSuccessful() and done.testsRun else 1)
"""


class OldestTest(unittest.TestCase):
    def test_with_notes(self):
        home = BUILD / "onnxruntime"
        if subprocess.run([sys.executable, ROOT / "tools/dev/get-wheel.py", "onnxruntime", home], capture_output=True).returncode:
            self.skipTest("PyPI was not reached, or has no onnxruntime 1.23.2 for this Python")
        environment = {**os.environ, "PYTHONPATH": f"{home}:{HERE.parent}", "WEFT_TEST_PROVIDER": "libonnxruntime_ep_weft_notes.so"}
        said = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, env=environment, timeout=600)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertRegex(said.stdout, r"onnxruntime 1\.23\.")
        self.assertRegex(said.stdout, r"(?m)^uncalled:$")


if __name__ == "__main__":
    unittest.main()

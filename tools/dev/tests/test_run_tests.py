"""The test runner says what a fuzz target found, so that a log alone is enough to see it again."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import base64
import importlib.util
import lzma
import pathlib
import sys
import tempfile
import unittest

SPEC = importlib.util.spec_from_file_location("run_tests", pathlib.Path(__file__).resolve().parents[1] / "run-tests.py")
run_tests = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = run_tests
SPEC.loader.exec_module(run_tests)

LOG = """INFO: Seed: 1
#2 INITED cov: 5
#9 NEW cov: 6
==42== ERROR: libFuzzer: timeout after 21 seconds
    #0 0x1 in loop
SUMMARY: libFuzzer: timeout
###### Recommended dictionary. ######
"abc" # Uses: 3
Done 9 runs
"""


class FuzzFinding(unittest.TestCase):
    def test_report_without_progress_and_dictionary(self):
        lines = run_tests.fuzz_finding(LOG, 20)
        self.assertEqual(lines[0], "==42== ERROR: libFuzzer: timeout after 21 seconds")
        self.assertIn("SUMMARY: libFuzzer: timeout", lines)
        self.assertFalse([line for line in lines if "NEW" in line or "Uses" in line])
        self.assertEqual(len(run_tests.fuzz_finding(LOG, 2)), 2)

    def test_input_can_be_had_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "crash-1"
            path.write_bytes(bytes(range(256)) * 9)
            lines = run_tests.fuzz_finding(LOG + f"Test unit written to {path}\n", 20)
            start = lines.index(f"{path}, base64 of xz:")
            self.assertEqual(lzma.decompress(base64.b64decode("".join(lines[start + 1:]))), path.read_bytes())
            self.assertIn("SUMMARY: libFuzzer: timeout", lines[:start])

    def test_only_what_is_seen_again_fails(self):
        """A stand-in for a target: it "finds" an input, which fails by itself if it says so."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for content, again in (("bad", True), ("stall", False)):
                (root / "input").write_text(content)
                (root / "log").write_text(f"Test unit written to {root}/input\n")
                (root / "target").write_text('#!/bin/sh\nfor last; do :; done\n[ "$(cat "$last")" != bad ]\n')
                (root / "target").chmod(0o755)
                context = run_tests.Context(argparse.Namespace(build=root), "fuzz")
                self.assertEqual(run_tests.is_seen_again(context, root / "target", root / "log"), again)
            (root / "log").write_text("no input was written\n")
            self.assertTrue(run_tests.is_seen_again(context, root / "target", root / "log"))


if __name__ == "__main__":
    unittest.main()

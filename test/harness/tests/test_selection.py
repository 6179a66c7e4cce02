"""Which cases a run takes, and that the slices together take all of them."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from harness import selection  # noqa: E402

NAMES = [f"case-{i}" for i in range(200)]


class Chosen(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "suite.txt").write_text("# two of them\ncase-7\ncase-11 # a reason\n")

    def choose(self, rotation=None, chosen=True, suite="suite", names=NAMES):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            found = selection.choose(argparse.Namespace(chosen=chosen, rotation=rotation), suite, names, 5, self.folder)
        return found, said.getvalue()

    def test_all_without_the_flag(self):
        self.assertEqual(self.choose(chosen=False), (set(NAMES), ""))

    def test_slices_take_all(self):
        parts = [self.choose(rotation)[0] for rotation in range(5)]
        self.assertEqual(set().union(*parts), set(NAMES))
        for part in parts:
            self.assertLessEqual({"case-7", "case-11"}, part)
            self.assertLess(len(part), 80)

    def test_the_same_again(self):
        self.assertEqual(self.choose(3), self.choose(3))
        self.assertEqual(self.choose(3)[0], self.choose(8)[0])
        self.assertIn("again with WEFT_ROTATION=8", self.choose(8)[1])

    def test_slices_alone_where_there_is_no_list(self):
        self.assertEqual(set().union(*(self.choose(r, suite="other")[0] for r in range(5))), set(NAMES))

    def test_a_covering_case_that_is_gone(self):
        with self.assertRaisesRegex(SystemExit, "suite.txt names 'case-7', which is not a case"):
            self.choose(0, names=NAMES[8:])


class Rotation(unittest.TestCase):
    def test_from_the_environment(self):
        with mock.patch.dict(os.environ, WEFT_ROTATION="17"):
            self.assertEqual(selection.rotation(), 17)

    def test_not_a_number(self):
        with mock.patch.dict(os.environ, WEFT_ROTATION="next"), self.assertRaisesRegex(SystemExit, "expected a number of at least 0, got 'next'"):
            selection.rotation()


class Lists(unittest.TestCase):
    def test_every_list_names_a_suite_of_cover(self):
        sys.path.insert(0, str(selection.ROOT / "tools" / "dev"))
        import cover
        lists = {path.stem for path in selection.FOLDER.glob("*.txt")}
        self.assertTrue(lists)
        self.assertLessEqual(lists, set(cover.SUITES))
        self.assertTrue(any(selection.read(suite) for suite in lists))


if __name__ == "__main__":
    unittest.main()

"""Greedy covers of made-up cases, and the counters of a raw profile."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools" / "dev"), str(ROOT / "test")]

import cover  # noqa: E402
from harness import coverage  # noqa: E402


def case(name: str, seconds: float, *regions: int) -> cover.Reached:
    return cover.Reached("suite", name, seconds, np.array(regions, np.int64))


class Cover(unittest.TestCase):
    def names(self, cases, regions):
        return [c.name for c in cover.cover(cases, regions)]

    def test_all_regions_are_reached(self):
        rng = np.random.default_rng(1)
        cases = [case(f"c{i:02}", rng.random(), *rng.choice(300, 20, replace=False)) for i in range(80)]
        reached = np.unique(np.concatenate([c.regions for c in cases]))
        numbers = {region: i for i, region in enumerate(reached)}
        for c in cases:
            c.regions = np.array([numbers[r] for r in c.regions])
        chosen = cover.cover(cases, len(reached))
        self.assertEqual(len(np.unique(np.concatenate([c.regions for c in chosen]))), len(reached))
        self.assertLess(len(chosen), len(cases))

    def test_a_quick_case_for_a_slow_one(self):
        self.assertEqual(self.names([case("slow", 9, 0, 1, 2), case("quick", 0.1, 0, 1, 2)], 3), ["quick"])

    def test_what_later_ones_made_superfluous_goes(self):
        self.assertEqual(self.names([case("first", 1, 0, 1, 2, 3), case("left", 1, 0, 1, 4), case("right", 1, 2, 3, 5)], 6), ["left", "right"])

    def test_the_first_by_name_among_equals(self):
        self.assertEqual(self.names([case("b", 1, 0), case("a", 1, 0)], 1), ["a"])


class RawProfile(unittest.TestCase):
    """A file as the header says: ids of 16 bytes, two functions, three counters, names of five bytes and their padding."""

    def write(self, magic=coverage.MAGIC, version=coverage.VERSION, records=2) -> pathlib.Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        header = np.array([magic, version | 1 << 56, 16, records, 0, 3, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1], np.uint64)
        path = pathlib.Path(folder.name) / "p.profraw"
        path.write_bytes(header.tobytes() + bytes(16) + bytes(64 * 2) + np.array([0, 7, 1], np.uint64).tobytes() + b"names" + bytes(3))
        return path

    def test_counters_that_are_not_zero(self):
        binary, found = coverage.counters(self.write())
        self.assertEqual((binary, list(found)), ("2-3-5", [1, 2]))

    def test_another_version(self):
        with self.assertRaisesRegex(ValueError, "expected a raw profile of version 10, got .* version 11"):
            coverage.counters(self.write(version=11))

    def test_a_header_that_promises_too_much(self):
        with self.assertRaisesRegex(ValueError, "do not hold 3 counters of 2000 functions"):
            coverage.counters(self.write(records=2000))


if __name__ == "__main__":
    unittest.main()

"""Random graphs at full sizes: the same seed gives the same bytes, each kind has its turn, and extents reach both sides of a power of two."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gpu"))

import full_size  # noqa: E402


class FullSize(unittest.TestCase):
    def test_is_deterministic(self):
        for seed in range(12):  # draw() checks the model's shapes and types.
            self.assertEqual(full_size.draw(seed)[1].SerializeToString(deterministic=True), full_size.draw(seed)[1].SerializeToString(deterministic=True))

    def test_kinds_take_turns(self):
        self.assertEqual([full_size.name_of(seed).split()[0] for seed in range(len(full_size.KINDS))], list(full_size.KINDS))

    def test_extents_are_of_every_sort(self):
        drawn = [full_size.Graph(seed).extent(16, 4096) for seed in range(400)]
        self.assertTrue(all(16 <= n <= 4096 for n in drawn))
        self.assertTrue({n % 2 for n in drawn} == {0, 1})
        beside = {n - 2 ** k for n in drawn for k in range(4, 13) if abs(n - 2 ** k) <= 1}
        self.assertEqual(beside, {-1, 0, 1})


if __name__ == "__main__":
    unittest.main()

"""The seeded faults fit the tree, and the script that seeds them tells a fault that fits from one that does not."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("seed_faults", TOOLS / "seed-faults.py")
seed_faults = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = seed_faults
SPEC.loader.exec_module(seed_faults)


class SeedFaults(unittest.TestCase):
    def test_every_fault_fits_the_tree(self):
        faults = seed_faults.read_faults()
        self.assertGreaterEqual(len(faults), 30)
        seeded = os.environ.get(seed_faults.SEEDED)  # That one is there: the other tests are to notice.
        self.assertEqual([problem for fault in faults if fault.name != seeded and (problem := fault.problem(seed_faults.ROOT))], [])

    def test_every_step_exists(self):
        tests = seed_faults.load_script(TOOLS / "run-tests.py")
        steps = {**tests.STEPS, **tests.SANITIZER_STEPS}
        self.assertEqual([fault.name for fault in seed_faults.read_faults() if fault.step not in steps], [])

    def test_a_fault_must_fit_once(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.cpp").write_text("int x = 1;\nint y = 1;\n")

            def problem(old: str, new: str = "?", file: str = "a.cpp") -> str:
                return seed_faults.Fault("f", "room", "what", file, old, new, "lit", "a").problem(root)

            self.assertEqual(problem("int x = 1"), "")
            self.assertIn("got it 2 times", problem(" = 1"))
            self.assertIn("got it 0 times", problem("int z"))
            self.assertIn("does not exist", problem("int x", file="b.cpp"))
            self.assertIn("changes nothing", problem("int x", "int x"))
            seed_faults.Fault("f", "room", "what", "a.cpp", "x = 1", "x = 2", "lit", "a").apply(root)
            self.assertEqual((root / "a.cpp").read_text(), "int x = 2;\nint y = 1;\n")


if __name__ == "__main__":
    unittest.main()

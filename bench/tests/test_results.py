"""The data files of bench/results, what is made of them, and that what is committed is that."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import results  # noqa: E402
from measure import sweep_table, table  # noqa: E402
from measure.table import Result, Timing  # noqa: E402

ABOUT = {"device": "NVIDIA H100 80GB HBM3, PyTorch 2.11.0", "date": "2026-11-23T10:00", "element type": "bf16", "command": "one"}


def case(name: str, *timings: Timing) -> Result:
    return Result(name, "bf16", floor_ms=0.5, flops=int(4e11), bytes=1000, timings=list(timings), kernels=1)


class Committed(unittest.TestCase):
    def test_is_what_the_data_make(self):
        for path, text in results.made(results.RESULTS, results.README).items():
            self.assertEqual(path.read_text(), text, f"{path.name}: bench/results.py writes it")

    def test_one_file_of_a_kind(self):
        """The newest only: no date in a name."""
        self.assertEqual([p.name for p in results.RESULTS.iterdir() if re.search(r"20\d\d-\d\d", p.name)], [])


class Conformance(unittest.TestCase):
    """README's sentence says how many cases pass only because of a flag."""

    def sentence(self, plain: int, counted: int, bound: int) -> str:
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "conformance.md"
            page.write_text(f"**{plain + counted + bound} of 2000 pass**: {plain} as they are, {counted} once told how many elements\n(`--elements`), and {bound} with operands bound to\nconstants")
            with mock.patch.object(results, "CONFORMANCE", page):
                return results.conformance()

    def test_says_what_was_not_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "conformance.md"
            page.write_text("**9 of 10 pass**: 9 as they are, 0 once told how many elements\n(`--elements`), and 0 with operands bound to\nconstants\nOf 2 that pass types, shapes and more")
            with mock.patch.object(results, "CONFORMANCE", page):
                self.assertIn("9 of 10 cases pass, 2 that draw random numbers by type, shape and range (", results.conformance())

    def test_counts_what_a_flag_told(self):
        self.assertEqual(self.sentence(1990, 0, 0), "Of ONNX's node suite 1,990 of 2,000 cases pass ([operator by operator](docs/conformance.md)).\n")
        self.assertIn("1,997 of 2,000 cases pass, 5 of them once `--elements` says how many tensors a sequence or an optional has, 2 with data that `--bind` makes constant (",
                      self.sentence(1990, 5, 2))


class Taken(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "results").mkdir()
        (self.root / "README.md").write_text(f"# Title\n{results.START}\nold\n{results.END}\nrest\n")
        for name, value in (("RESULTS", self.root / "results"), ("README", self.root / "README.md"), ("HERE", self.root / "bench")):
            patched = mock.patch.object(results, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def folder(self, name: str, kind: str, about: dict, *cases: Result) -> pathlib.Path:
        (self.root / name).mkdir(exist_ok=True)
        (self.root / name / f"{kind}.json").write_text({"gpu": table, "sweep": sweep_table}[kind].to_json(cases, about))
        return self.root / name

    def run_with(self, *args: str) -> tuple[int, str]:
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["results.py", *args]), contextlib.redirect_stdout(out):
            return results.main(), out.getvalue()

    def test_later_folders_win_case_by_case(self):
        first = self.folder("a", "gpu", ABOUT, case("x", Timing("weft", [3.0, 1.0, 2.0]), Timing("eager", [4.0])), case("y", Timing("weft", [7.0])))
        second = self.folder("b", "gpu", {**ABOUT, "command": "two"}, case("x", Timing("weft", [2.5]), Timing("compile default", [5.0])))
        results.take([first, second])
        found = results.Results.read(self.root / "results" / "h100-gpu.json")
        self.assertEqual({n: r.ours.ms for n, r in found.cases.items()}, {"x": [2.5], "y": [7.0]})
        self.assertEqual((found.about["command"], found.about["date"]), ("one; two", ABOUT["date"]))

    def test_front_page_sums_up_a_group(self):
        sweep = [case(f"product_m{i}", Timing("weft", [1.0]), Timing("eager", [ratio])) for i, ratio in enumerate((0.5, 2.0, 1.0))]
        folder = self.folder("a", "sweep", ABOUT, case(sweep_table.START.name, Timing("weft", [1.0])), *sweep)
        self.folder("a", "gpu", ABOUT, case("resnet50_B1", Timing("weft", [0.2]), Timing("compile default", [0.5]), Timing("compile", [0.4]), Timing("eager", [0.9])))
        self.assertEqual(self.run_with("--take", str(folder)), (0, ""))
        text = (self.root / "README.md").read_text()
        self.assertIn("**1.00** times as fast as the best of PyTorch's own, in the geometric mean of [3 random shapes](bench/results/h100-sweep.md): GEMM 1.00.\nOne shape in ten is "
                      "below 0.60; the worst is 0.50.", text)
        self.assertIn("| ResNet-50, one image | 200 us | 400 us | 900 us |", text)
        self.assertTrue(text.startswith("# Title\n") and text.endswith(results.END + "\nrest\n") and "\nold\n" not in text)
        self.assertEqual(self.run_with("--check"), (0, ""))

    def test_check_names_what_is_stale(self):
        self.run_with("--take", str(self.folder("a", "gpu", ABOUT, case("x", Timing("weft", [1.0])))))
        (self.root / "results" / "h100-gpu.md").write_text("edited\n")
        self.assertEqual(self.run_with("--check"), (1, "error: results/h100-gpu.md is not what the data make; bench/results.py writes it\n"))

    def test_refusals(self):
        with self.assertRaisesRegex(SystemExit, "expected a device as in"):
            results.card({"device": "a toaster"})
        bad = self.root / "bad.json"
        bad.write_text('{"schema": "other/1"}')
        with self.assertRaisesRegex(SystemExit, "expected a schema of weft.bench-gpu/1, weft.sweep/1, got other/1"):
            results.Results.read(bad)
        (self.root / "README.md").write_text("# Title\n")
        with self.assertRaisesRegex(SystemExit, "around the figures"):
            results.made(self.root / "results", self.root / "README.md")


if __name__ == "__main__":
    unittest.main()

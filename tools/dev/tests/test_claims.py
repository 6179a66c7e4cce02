"""What README says of sizes, versions, targets and suites is what the code says; docs/claims.md quotes pages as they are, and tests that are there."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()


def number(pattern: str, path: str) -> int:
    """The first match of `pattern` in a source; digits may be grouped by underscores."""
    return int(re.search(pattern, (ROOT / path).read_text())[1].replace("_", ""))


class Claims(unittest.TestCase):
    def test_size_of_the_runtime(self):
        """weft-runtime-library holds the library to MAX_BYTES."""
        most = number(r"MAX_BYTES = ([\d_]+)", "kernels-runtime/test/check_library.py")
        self.assertIn(f"A runtime of at most {most / 1e6:g} MB", README)

    def test_opsets(self):
        newest = number(r"newestOpset = (\d+);", "include/weft/Import/Onnx/Handler.h")
        self.assertIn(f"ONNX opsets 1 to {newest},", README)

    def test_architectures(self):
        """All that the compiler knows are named, and those without a measurement beside them as what they are."""
        known = re.search(r'getArchitectureList\(\) \{ return "([^"]*)"', (ROOT / "lib/Target/Device.cpp").read_text())[1].split(", ")
        claim = re.search(r"\* \*\*GPUs:\*\* code for (.*?)from one graph", README, re.S)[1]
        self.assertEqual(re.findall(r"sm_\w+", claim), known)
        self.assertRegex(claim, r"sm_120 \([^)]*tried in the emulator alone\)")

    def test_gpu_code_of_node_cases(self):
        """"Every ONNX node case that compiles for the CPU compiles for sm_80 and sm_90a too": the list of the others is empty."""
        self.assertIn("Every ONNX node case that compiles for the CPU compiles for sm_80 and sm_90a too", README)
        targets = json.loads((ROOT / "test/onnx/expected-gpu.json").read_text())["targets"]
        self.assertEqual(set(targets), {"all", "sm_80", "sm_90a"})
        self.assertEqual({name: lists["refused"] for name, lists in targets.items()}, {name: {} for name in targets})

    def test_kernels_of_the_picture(self):
        words = {"six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
        said, name = re.search(r"A BERT layer's nodes in (\w+) kernels\]\((.*?)\)", README).groups()
        self.assertEqual((ROOT / name).read_text().count("<g><title>"), words[said])

    def test_flags_are_those_of_the_tools(self):
        """A flag in README is in the source of a tool or of the compiler's options."""
        sources = [*ROOT.glob("tools/**/*.cpp"), *ROOT.glob("include/weft/**/*.h"), *ROOT.glob("lib/**/*.cpp"), *ROOT.glob("kernels-runtime/python/weft/tools/*.py"),
                   *ROOT.glob("test/onnx/*.py"), ROOT / "dev", *ROOT.glob("include/weft/**/*.td"), *ROOT.glob("tools/dev/*.py")]
        text = "\n".join(path.read_text() for path in sources)
        flags = {flag for flag in re.findall(r"(?<![\w-])--([a-z][\w-]+)", README) if flag not in ("install", "prefix")}
        self.assertGreater(len(flags), 8)
        self.assertEqual([flag for flag in sorted(flags) if not re.search(rf'["-]{flag}["=,\]\s]', text)], [])


class ListOfClaims(unittest.TestCase):
    """Rows of docs/claims.md: a text of a page, and the tests or steps that hold it."""

    @classmethod
    def setUpClass(cls):
        lines = [line for line in (ROOT / "docs/claims.md").read_text().splitlines() if line.startswith("| ") and not line.startswith("| claim ")]
        rows = [re.fullmatch(r"\| (.+?) \| \[[^\]]*\]\(([^)]*)\) \| (.+) \|", line) for line in lines]
        cls.malformed = [line for line, row in zip(lines, rows) if not row]
        cls.rows = [row.groups() for row in rows if row]

    def test_rows(self):
        self.assertEqual(self.malformed, [])
        self.assertGreater(len(self.rows), 40)

    def test_pages_say_so(self):
        self.assertEqual([(page, claim) for claim, page, _ in self.rows if plain(claim) not in plain((ROOT / "docs" / page).read_text())], [])

    def test_tests_are_there(self):
        listed = subprocess.run([sys.executable, ROOT / "tools/dev/run-tests.py", "--list"], capture_output=True, text=True, check=True).stdout
        steps = {line.split()[0] for line in listed.splitlines() if line.strip()}
        self.assertEqual([(claim, held) for claim, _, held in self.rows if not tests(held)], [])
        self.assertEqual([(claim, test) for claim, _, held in self.rows for test in tests(held) if not exists(test, steps)], [])

    def test_finds_what_is_gone(self):
        self.assertTrue(exists("tools/dev/tests/test_claims.py:test_finds_what_is_gone", set()))
        self.assertFalse(exists("tools/dev/tests/test_claims.py:test_of_" + "nothing", set()))
        self.assertFalse(exists("lib/Target/Device.cpp", set()))  # No test.
        self.assertFalse(exists("lit", {"unit"}))

    def test_readme_status(self):
        """No paragraph of the status says anything that is not listed."""
        points = re.findall(r"^\* (\*\*.*?)(?=^\* |^\n)", README.partition("## Status")[2].partition("\n## ")[0], re.S | re.M)
        self.assertGreater(len(points), 4)
        claims = [plain(claim) for claim, page, _ in self.rows if page == "../README.md"]
        self.assertEqual([point for point in points if not any(claim in plain(point) for claim in claims)], [])


def plain(text: str) -> str:
    return " ".join(text.split())


def tests(held: str) -> list[str]:
    return re.findall(r"`([^`]+)`", held)


def exists(test: str, steps: set[str]) -> bool:
    """Of `path`, `path:name` and a step's name."""
    if "/" not in test:
        return test in steps
    path, _, name = test.partition(":")
    return bool(re.search(r"(^|/)tests?/", path)) and (ROOT / path).is_file() and name in (ROOT / path).read_text()


if __name__ == "__main__":
    unittest.main()

"""What README says of sizes, versions, targets and suites is what the code and the suites' own lists say."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import pathlib
import re
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


if __name__ == "__main__":
    unittest.main()

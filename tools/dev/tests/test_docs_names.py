"""What the pages name is there: passes, files and folders of the tree."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROOMS = ("include", "lib", "test", "tools", "bench", "kernels-runtime", "integrations", "examples", "docs")
PATH = re.compile(r"`((?:%s)/[\w./+-]*[\w+])`" % "|".join(ROOMS))


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def passes() -> set[str]:
    text = "".join(path.read_text() for path in ROOT.glob("include/weft/**/*Passes.td"))
    code = "".join(path.read_text() for path in [*ROOT.glob("lib/**/*.cpp"), *ROOT.glob("lib/**/*.h"), *ROOT.glob("tools/**/*.cpp")])
    return set(re.findall(r'Pass<"(weft-[\w-]+)"', text)) | set(re.findall(r'"(weft-[\w-]+)"', code))


class Names(unittest.TestCase):
    def test_passes_and_pipelines(self):
        known, unknown = passes(), []
        self.assertIn("weft-kernelize", known)
        for page in pages():
            for flag in re.findall(r"`--(weft-[\w-]+)", page.read_text()):
                if flag not in known:
                    unknown.append(f"{page.name}: --{flag}")
        self.assertEqual(unknown, [])

    def test_paths(self):
        gone = []
        for page in pages():
            for name in PATH.findall(page.read_text()):
                if not (ROOT / name).exists() and not list(ROOT.glob(name + ".*")):
                    gone.append(f"{page.name}: {name}")
        self.assertEqual(gone, [])

    def test_files_of_the_code(self):
        """A bare `Name.cpp` or `Name.h` is somewhere in the tree."""
        files = {path.name for room in ("include", "lib", "kernels-runtime", "tools", "test", "integrations", "bench") for path in (ROOT / room).rglob("*.*")}
        gone = [f"{page.name}: {name}" for page in pages() for name in re.findall(r"`(?:[\w/]+/)?(\w+\.(?:cpp|h|py|td))`", page.read_text()) if name not in files]
        self.assertEqual(gone, [])

    def test_counts_of_hostile_files(self):
        golden = json.loads((ROOT / "test" / "hostile" / "golden.json").read_text())
        models, bundles = (sum(name.startswith(kind) for name in golden) for kind in ("model ", "bundle "))
        self.assertIn(f"{models} hostile or broken models and {bundles} bundles", (ROOT / "docs" / "test-steps.md").read_text())


if __name__ == "__main__":
    unittest.main()

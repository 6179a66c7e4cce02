"""docs/conf.py: what makes `./dev site` fail, over a small tree."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@unittest.skipUnless(importlib.util.find_spec("furo"), "no Sphinx with furo")
class SiteTest(unittest.TestCase):
    def build(self, **pages: str) -> tuple[int, str]:
        """Exit status and messages of a book of one chapter, with changed pages."""
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            for name in ("docs/conf.py", "CMakeLists.txt", "LICENSE"):
                (tree / name).parent.mkdir(exist_ok=True)
                shutil.copy(ROOT / name, tree / name)
            files = {"README": "# Weft\n[the book](docs/index.md), [licence](LICENSE)\n", "docs/index": "# Book\n1. [Chapter](chapter.md), [README](../README.md)\n",
                     "docs/chapter": "# Chapter\n## A part\n[result](../bench/results/one.md)\n", "bench/results/one": "# One\n", **pages}
            for name, text in files.items():
                (tree / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
                (tree / f"{name}.md").write_text(text)
            done = subprocess.run([sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "-c", "docs", "-d", tree / "cache", ".", tree / "site"],
                                  cwd=tree, capture_output=True, text=True)
            if not done.returncode:
                self.assertTrue((tree / "site" / "docs" / "chapter.html").is_file() and (tree / "site" / "index.html").is_file())
            return done.returncode, done.stderr

    def test_a_whole_book(self):
        status, messages = self.build()
        self.assertEqual((status, messages), (0, ""))

    def test_what_is_refused(self):
        """All of it in one build: a build takes a second or two."""
        status, messages = self.build(**{"docs/stray": "# Not in the book\n", "docs/chapter": "# Chapter\n[a](#no-part) [b](index.md#nothing) [c](gone.md) [d](../gone.json)\n"})
        self.assertNotEqual(status, 0)
        for said in ("stray.md: WARNING: document isn't included in any toctree", "'no-part'", "'nothing'", "'gone.md'", "'../gone.json'"):
            self.assertIn(said, messages)


if __name__ == "__main__":
    unittest.main()

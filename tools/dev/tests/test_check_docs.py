"""The runner of documentation examples: what it accepts, and that it does fail."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import pathlib
import tempfile
import unittest

_SPEC = importlib.util.spec_from_file_location("check_docs", pathlib.Path(__file__).resolve().parents[1] / "check-docs.py")
check_docs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(check_docs)


class Matches(unittest.TestCase):
    def test_lines_in_order_with_holes(self):
        output = ["read  a.onnx 12 nodes", "noise", "wrote a.weft in 3 s"]
        self.assertIsNone(check_docs.matches(["read ... nodes", "...", "wrote a.weft in ... s"], output))

    def test_missing_line_and_wrong_order(self):
        self.assertEqual(check_docs.matches(["three"], ["one", "two"]), "three")
        self.assertEqual(check_docs.matches(["two", "one"], ["one", "two"]), "one")

    def test_text_is_not_a_pattern(self):
        self.assertIsNotNone(check_docs.matches(["a.c"], ["abc"]))


class Pages(unittest.TestCase):
    def page(self, text: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text)
            return check_docs.run_page(page, pathlib.Path(folder))

    def test_setup_and_console(self):
        self.assertEqual(self.page("<!-- setup: echo 5 > n -->\n```console\n$ cat n\n5\n$ echo a \\\n    b\na b\n```\n"), 1)

    def test_wrong_output_fails(self):
        with self.assertRaisesRegex(check_docs.Failure, "expected a line `6`"):
            self.page("```console\n$ echo 5\n6\n```\n")

    def test_exit_status(self):
        self.assertEqual(self.page("```console\n$ exit 3 # exit 3\n```\n"), 1)
        with self.assertRaises(check_docs.Failure):
            self.page("```console\n$ false\n```\n")

    def test_excused_and_other_blocks(self):
        self.assertEqual(self.page("<!-- not run: needs a GPU -->\n```console\n$ false\n```\n```sh\nfalse\n```\n"), 0)

    def test_marked_mlir_block(self):
        self.assertEqual(self.page("<!-- run: grep -q module %s -->\n```mlir\nmodule {}\n```\n"), 1)


class Examples(unittest.TestCase):
    def test_only_whole_functions(self):
        whole = "func.func @f(%x: i32) -> i32 {\n  return %x : i32\n}\n"
        text = f"words\n```mlir\n{whole}```\n```mlir\n%r = tg.abs %x : tensor<4xf32>\n```\n```mlir\nfunc.func private @g()\n```\n"
        self.assertEqual(check_docs.whole_programs(text), [whole])


if __name__ == "__main__":
    unittest.main()

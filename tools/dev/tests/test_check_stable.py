"""check-stable.py: what is stable is as test/stable has it, and its rules tell what a caller would miss."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import os
import pathlib
import subprocess
import sys
import types
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[1] / "check-stable.py"
SPEC = importlib.util.spec_from_file_location("check_stable", TOOL)
check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check)

HEADER = """
#define WEFT_ABI_VERSION 4
enum { WEFT_A = 2, WEFT_B, /* one more */ };
typedef struct weft_handle weft_handle;
typedef struct weft_grows {
  size_t struct_size; /* first */
  const char *const *names;
  int32_t (*call)(void *user, int64_t n);
} weft_grows;
typedef struct weft_pair {
  int64_t a, b;
} weft_pair;
WEFT_EXPORT const char *weft_name(const weft_handle *handle);
WEFT_EXPORT weft_error *weft_make(const weft_grows *options,
                                  weft_handle **handle);
"""


class StableTest(unittest.TestCase):
    def test_is_as_recorded(self):
        build = os.environ["WEFT_TEST_BUILD"]
        said = subprocess.run([sys.executable, TOOL, "--build", build], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stdout), (0, ""), said.stderr)

    def test_describes_headers(self):
        self.assertEqual(check.describe_header(HEADER), [
            "abi 4", "constant WEFT_A = 2", "constant WEFT_B = 3", "struct weft_grows", "field weft_grows: size_t struct_size",
            "field weft_grows: const char *const *names", "field weft_grows: int32_t (*call)(void *user, int64_t n)",
            "struct weft_pair (of this size for good)", "field weft_pair: int64_t a, b", "function const char *weft_name(const weft_handle *handle)",
            "function weft_error *weft_make(const weft_grows *options, weft_handle **handle)"])

    def breaks(self, old: str, new: str) -> list[str]:
        self.assertIn(old, HEADER)
        return check.breaks(check.describe_header(HEADER), check.describe_header(HEADER.replace(old, new)))

    def test_tells_what_breaks(self):
        self.assertEqual(self.breaks("WEFT_B,", "WEFT_B, WEFT_C,"), [])
        self.assertEqual(self.breaks("} weft_grows;", "int32_t more; } weft_grows;"), [])
        self.assertEqual(self.breaks("WEFT_EXPORT const", "WEFT_EXPORT int weft_more(void);\nWEFT_EXPORT const"), [])
        self.assertEqual(self.breaks("WEFT_B,", "WEFT_C, WEFT_B,"), ["constant WEFT_B = 3"])
        self.assertEqual(self.breaks("  const char *const *names;", "  int32_t early; const char *const *names;"),
                         ["struct weft_grows: expected new fields at the end only"])
        self.assertEqual(self.breaks("int64_t a, b;", "int64_t a, b; int64_t c;"), ["struct weft_pair: expected the same fields"])
        self.assertEqual(self.breaks("weft_name(const weft_handle *handle)", "weft_name(weft_handle *handle)"),
                         ["function const char *weft_name(const weft_handle *handle)"])
        self.assertEqual(self.breaks("VERSION 4\nenum { WEFT_A = 2, WEFT_B,", "VERSION 5\nenum { WEFT_A = 3,"), [])

    def test_tells_what_breaks_python(self):
        def describe(source: str) -> list[str]:
            module = types.ModuleType("m")
            exec(source, module.__dict__)
            return check.describe_python([module])

        old = describe("__all__ = ['f', 'C']\ndef f(a, *, b=1): pass\nclass C:\n  def g(self): pass\n  @property\n  def p(self): pass")
        self.assertEqual(old, ["class m.C", "m.C.g()", "m.C.p", "m.f()", "m.f: a, 0, needed", "m.f: b, by name, or 1"])
        more = "class C:\n  def g(self, x=2): pass\n  p = property(len)\ndef h(): pass"
        self.assertEqual(check.breaks_python(old, describe("__all__ = ['f', 'C', 'h']\ndef f(a, *, b=1, c=2): pass\n" + more)), [])
        self.assertEqual(check.breaks_python(old, describe("__all__ = ['f', 'C']\ndef f(a, c, *, b=1): pass\n" + more)), ["m.f: c, 1, needed"])
        self.assertEqual(check.breaks_python(old, describe("__all__ = ['C']\n" + more)), old[3:])


if __name__ == "__main__":
    unittest.main()

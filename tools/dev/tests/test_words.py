"""What docs/glossary.md replaces is in no text that a tool prints, in no comment of the code, and on no page but those of notes."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = ("lib/**/*.cpp", "lib/**/*.h", "include/**/*.h", "include/**/*Passes.td", "tools/**/*.cpp", "tools/**/*.h", "kernels-runtime/src/**/*.cpp", "kernels-runtime/src/**/*.h",
           "kernels-runtime/python/weft/**/*.py", "integrations/**/*.cpp")
# Each with what to write instead.
PRIVATE = {r"\bcards?\b|\bCARD\b": "GPU", r"(?<!in )\bplaces?\b(?! it there)": "element, index, offset or position", r"\bpointwise\b(?! convolution)": "elementwise",
           r"\b(sums? of a|matrix) products?\b": "GEMM", r"\bsums? along\b": "contract over", r"\bkernels? (less|more)\b": "one fewer kernel, one more kernel",
           r"\bdear(er)?\b": "expensive", r"\btells\b": "says, shows, measures"}
ALLOWED = ("last place", "in place of", "in the place of")  # Units in the last place; instead of.
COMMENTED = ("lib/**/*.cpp", "lib/**/*.h", "include/**/*.h", "include/**/*.td", "tools/**/*.cpp", "tools/**/*.h", "tools/**/*.py", "tools/**/*.js", "kernels-runtime/**/*.cpp",
             "kernels-runtime/**/*.h", "kernels-runtime/**/*.c", "kernels-runtime/**/*.py", "integrations/**/*.cpp", "integrations/**/*.h", "bench/**/*.py", "test/unit/**/*.cpp")
IDIOMS = re.compile(r"`[^`]*`|\bPointwise\.cpp\b|\b[Ii]n (one|its|the|their|the last one's) place\b|\b[Ii]n place\b|\b[Tt]ak(e|es|en|ing) (the|its|their|each other's) place\b|\bunits? (in|of) the last place\b|"
                    r"\b(and|maps) places?\b|\bPlaces (the|buffers)\b")  # Names, phrases, and the verb.
_COMMENT = re.compile(r"(?<!:)//.*")
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def texts(source: str) -> list[str]:
    """Literals that people read: with a blank, and be it between a number that is put in and its unit."""
    code = "\n".join(_COMMENT.sub("", line) for line in source.splitlines() if not line.lstrip().startswith("#include"))
    return [text for text in _LITERAL.findall(code) if re.search(r" [a-z`'{%\"]|[a-z`'] ", text)]


def private_words(source: str) -> list[tuple[str, str]]:
    found = []
    for text in texts(source):
        plain = re.sub(r"\{[a-z][^{}]*\}", "", text)  # A value that Python puts in.
        plain = re.sub(r'\\"\w+\\": |%[a-z]\w+', "", plain)  # A key of JSON, a register of PTX.
        for phrase in ALLOWED:
            plain = plain.replace(phrase, "")
        found += [(text, instead) for pattern, instead in PRIVATE.items() if re.search(pattern, plain)]
    return found


def comments(source: str, mark: str) -> list[str]:
    """Each comment as one text: neighbouring lines that are comments are one."""
    found, isOpen = [], False
    for line in source.splitlines():
        match = re.search(r"(?<![:\"'])//[/!<]*(.*)" if mark == "//" else r"(?:^|\s)#(?![!{])(.*)", line)
        if match and isOpen and not line[: match.start()].strip():
            found[-1] += " " + match[1].strip()
        elif match:
            found.append(match[1].strip())
        isOpen = bool(match)
    return found


def private_words_of_comments(source: str, mark: str) -> list[tuple[str, str]]:
    found = []
    for text in comments(source, mark):
        plain = IDIOMS.sub("", text)
        found += [(text, instead) for pattern, instead in PRIVATE.items() if "tells" not in pattern and re.search(pattern, plain, re.IGNORECASE)]
    return found


def private_words_of_page(page: str) -> list[tuple[str, str]]:
    """Outside of blocks of code, links and names."""
    prose = re.sub(r"^```.*?^```|\]\([^)]*\)|<!--.*?-->", "", page, flags=re.S | re.M)
    return private_words_of_comments("".join(f"# {line}\n" for line in prose.splitlines() if not line.startswith("    ")), "#")


class Words(unittest.TestCase):
    def test_finds_them(self):
        self.assertEqual([instead for _, instead in private_words('f("expected a card of 4 SMs"); // a card\n g("two places of it", "card", "a good text");')],
                         ["GPU", "element, index, offset or position"])
        self.assertEqual(private_words('f("units in the last place are allowed", "caches in place", "a pointwise convolution");'), [])

    def test_finds_them_in_comments(self):
        self.assertEqual([instead for _, instead in private_words_of_comments("/// Two\n/// places of `place`.\nint card; // Of a card.\n", "//")],
                         ["element, index, offset or position", "GPU"])
        self.assertEqual(private_words_of_comments("// Written in\n// place; one takes the place of another: `places`.\nauto url = \"http://card\";", "//"), [])

    def test_comments(self):
        files = sorted({path for pattern in COMMENTED for path in ROOT.glob(pattern)} - {pathlib.Path(__file__).resolve()})
        self.assertGreater(len(files), 1000)
        found = [f"{path.relative_to(ROOT)}: \"{text[:120]}\": write {instead}" for path in files
                 for text, instead in private_words_of_comments(path.read_text(), "#" if path.suffix == ".py" else "//")]
        self.assertEqual(found, [])

    def test_pages(self):
        self.assertEqual(len(private_words_of_page("A card.\n```sh\nls card\n```\nSee [it](card.md), `card`, and\nin place.\n")), 1)
        pages = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs" / "glossary.md"})
        self.assertGreater(len(pages), 50)
        self.assertEqual([f"{page.name}: write {instead}: {text[:80]}" for page in pages for text, instead in private_words_of_page(page.read_text())], [])

    def test_texts_of_the_tools(self):
        files = sorted({path for pattern in SOURCES for path in ROOT.glob(pattern)})
        self.assertGreater(len(files), 500)
        found = [f"{path.relative_to(ROOT)}: \"{text}\": write {instead}" for path in files for text, instead in private_words(path.read_text())]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()

"""The site: `./dev site` makes build/site of the book and of the pages that it links to. Every warning is an error, a link to nothing among them.

Sources are the tree's own files, read from its root, so that links between them are the same here and in the repository."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import re

import pygments.lexers

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONTENTS = {"README": r"\]\((docs/index)\.md\)", "docs/index": r"\]\(((?!\.\./README)[\w./-]+)\.md\)", "docs/notes/index": r"\]\(([\w-]+)\.md\)"}  # pages, by the page that names them

project, author = "Weft", "the Weft authors"
project_copyright = "the Weft authors, Apache-2.0 WITH LLVM-exception"
version = release = re.search(r"project\(weft VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**", "bench/results/*.md"]
exclude_patterns = ["build*", "dist", ".*", "docs/conf.py"]
myst_heading_anchors = 4  # links to headings as the repository's host makes them
smartquotes = False
html_theme = "furo"
html_title = f"Weft {version}"
html_copy_source = html_show_sourcelink = False


def add_contents(app, name: str, source: list[str]) -> None:
    """The book's index is the table of contents; a page that it does not name is an error (a document of no toctree). Results have none: the
    pages that cite them link to them."""
    if name.startswith("bench/results/"):
        source[0] = "---\norphan: true\n---\n" + source[0]
    elif name in CONTENTS:
        pages = dict.fromkeys(re.findall(CONTENTS[name], source[0]))
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def write_front_page(app, exception) -> None:
    """Servers look for an index.html; the first page is the README."""
    if not exception:
        (pathlib.Path(app.outdir) / "index.html").write_text('<!DOCTYPE html><meta http-equiv="refresh" content="0; url=README.html"><title>Weft</title>\n')


def setup(app) -> dict:
    app.connect("source-read", add_contents)
    app.connect("build-finished", write_front_page)
    app.add_lexer("mlir", pygments.lexers.TextLexer)  # Pygments has none
    return {"parallel_read_safe": True}

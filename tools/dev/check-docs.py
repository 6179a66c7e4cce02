#!/usr/bin/env python3
"""Runs the examples of the documentation.

    check-docs.py --build=build pages      README.md and docs/**/*.md, or the pages that are named; the tools are those in build/bin
    check-docs.py --build=build ops        op descriptions: every mlir block that is a whole function or module goes through weft-opt
    check-docs.py --build=build passes     pass descriptions: the first such block goes through the pass

In a page, a console block is run line by line (`$ command`, in a folder of the page's own, tools on the PATH) and its output compared:
every shown line must appear in the output, in order; `...` stands for any text, a line of only `...` for any lines. An mlir block after
`<!-- run: weft-opt %s --flags -->` is saved as %s and the command must succeed. `<!-- setup: command -->` runs before the blocks after
it; `<!-- not run: reason -->` excuses the next block. WEFT_PYTHON and WEFT_SRC are set for commands.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
_PART = re.compile(r"^<!-- (?P<key>setup|run|not run): (?P<value>.*?) -->$|^```(?P<lang>\w*)\n(?P<body>.*?)^```$", re.M | re.S)
_MLIR_BLOCK = re.compile(r"```mlir\n(.*?)```", re.S)


class Failure(Exception):
    pass


class Shell:
    """Runs commands in one folder with the build's tools on the PATH."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path):
        path = os.pathsep.join([str(build / "bin"), "/usr/lib/llvm-22/bin", os.environ["PATH"]])
        self.folder = folder
        self.env = {**os.environ, "PATH": path, "WEFT_PYTHON": sys.executable, "WEFT_SRC": str(ROOT), "WEFT_BUILD": str(build)}

    def run(self, command: str) -> str:
        """Output and errors of a command that must succeed, or must fail when it ends in `# exit N`."""
        wanted = re.search(r"#\s*exit (\d+)\s*$", command)
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        if done.returncode != (int(wanted[1]) if wanted else 0):
            raise Failure(f"$ {command}\nexit {done.returncode}\n{done.stdout}")
        return done.stdout


def matches(shown: list[str], output: list[str]) -> str | None:
    """The first shown line that does not appear in the output after those before it, or None."""
    place = 0
    for line in shown:
        if line.strip() in ("...", ""):
            continue
        pattern = re.compile(r"\s*" + ".*".join(re.escape(part) for part in line.strip().split("...")) + r"\s*$")
        while place < len(output) and not pattern.match(output[place]):
            place += 1
        if place == len(output):
            return line
        place += 1
    return None


def run_console(shell: Shell, body: str) -> None:
    """A console block: commands after `$ ` (continued by a backslash), each followed by what it shows."""
    joined = re.sub(r"\\\n\s*", " ", body)
    for part in re.split(r"^\$ ", joined, flags=re.M)[1:]:
        command, _, rest = part.partition("\n")
        output = shell.run(command)
        missing = matches(rest.splitlines(), output.splitlines())
        if missing is not None:
            raise Failure(f"$ {command}\nexpected a line `{missing.strip()}`, got\n{output}")


def run_page(page: pathlib.Path, build: pathlib.Path) -> int:
    """Run one page; returns the number of blocks run."""
    ran, command, excused = 0, None, False
    with tempfile.TemporaryDirectory(prefix="weft-docs-") as folder:
        shell = Shell(build, pathlib.Path(folder))
        for part in _PART.finditer(page.read_text()):
            if part["key"] == "setup":
                shell.run(part["value"])
            elif part["key"] == "run":
                command = part["value"]
            elif part["key"] == "not run":
                excused = True
            elif part["lang"] == "console" and not excused:
                run_console(shell, part["body"])
                ran += 1
            elif command:
                (shell.folder / "example.mlir").write_text(part["body"])
                shell.run(command.replace("%s", "example.mlir"))
                ran += 1
            if part["key"] is None:
                command, excused = None, False
    return ran


def pages() -> list[pathlib.Path]:
    return sorted(ROOT.glob("README.md")) + sorted((ROOT / "docs").glob("**/*.md"))


def tablegen(path: pathlib.Path) -> dict:
    command = ["/usr/lib/llvm-22/bin/llvm-tblgen", "-dump-json", "-I", "include", "-I", "/usr/lib/llvm-22/include", str(path)]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout)


def whole_programs(description: str) -> list[str]:
    """The mlir blocks of a description that can be run as they stand: functions with a body, nothing elided."""
    blocks = _MLIR_BLOCK.findall(textwrap.dedent(description or ""))
    return [b for b in blocks if re.search(r"^\s*func\.func .*\{$", b, re.M) and "return" in b and "..." not in b]


def run_records(build: pathlib.Path, kind: str) -> tuple[int, list[str]]:
    """Examples of all ops (kind "Op") or passes ("PassBase"): blocks run and what failed."""
    ran, failures = 0, []
    files = (ROOT / "include").glob("**/TileGraph.td" if kind == "Op" else "**/Passes.td")
    for path in sorted(files):
        table = tablegen(path.relative_to(ROOT))
        for name in sorted(table["!instanceof"].get(kind, [])):
            blocks = whole_programs(table[name].get("description"))
            flags = f"--{table[name]['argument']}" if kind == "PassBase" else "--verify-roundtrip"
            for block in blocks[:1] if kind == "PassBase" else blocks:
                with tempfile.TemporaryDirectory(prefix="weft-docs-") as folder:
                    shell = Shell(build, pathlib.Path(folder))
                    (shell.folder / "example.mlir").write_text(block)
                    ran += 1
                    try:
                        shell.run(f"weft-opt example.mlir {flags}")
                    except Failure as failure:
                        failures.append(f"{name}: {failure}")
    return ran, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pages", "ops", "passes"))
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="these pages only")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    build = args.build.resolve()
    ran, failures = 0, []
    if args.what == "pages":
        for page in [page.resolve() for page in args.pages] or pages():
            try:
                ran += run_page(page, build)
            except Failure as failure:
                failures.append(f"{page.relative_to(ROOT)}: {failure}")
    else:
        ran, failures = run_records(build, "Op" if args.what == "ops" else "PassBase")
    print("\n\n".join(failures) if failures else f"{ran} examples run")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Manual pages of tools from their --help.

    make-man.py --version=0.1.0 --bin=build/bin --output=man1
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess

FLAG = re.compile(r"^ {1,4}(-\S.*?|[\w.]+(?: [A-Z]+)*)(?: {2,}(\S.*))?$")


def escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def help_of(tool: pathlib.Path) -> str:
    done = subprocess.run([tool, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
    return done.stdout if done.returncode == 0 else ""


def make_page(name: str, text: str, version: str) -> str:
    """Flags, indented, become paragraphs with their words behind; headings end in a colon; other lines are the description."""
    lines = [line.rstrip() for line in text.splitlines()]
    is_usage = [bool(re.match(r"(?i)usage:", line)) for line in lines]
    said = next((line for line, usage in zip(lines, is_usage) if line and not usage and not line.startswith(" ") and not line.endswith(":")),
                "compiles ONNX models to few kernels, and runs them")
    what = re.sub(rf"^{name}: ", "", re.sub(r" \(docs/[\w.-]+\)", "", said))
    synopsis = next((line.partition(":")[2].strip() for line, usage in zip(lines, is_usage) if usage), f"{name} [FLAGS]")
    page = [f'.TH {name.upper()} 1 "" "weft {version}" "Weft"', ".SH NAME", f"{escape(name)} \\- {escape(what)}", ".SH SYNOPSIS", escape(synopsis), ".SH DESCRIPTION"]
    for line, usage in zip(lines, is_usage):
        flag = FLAG.match(line)
        if usage or line == said or not line.strip():
            continue
        if not line.startswith(" ") and line.endswith(":"):
            page += [f".SH {escape(line[:-1].upper())}"]
        elif flag:
            page += [".TP", f".B {escape(flag[1])}", escape(flag[2] or "")]
        else:
            page.append(escape(line.strip()))
    page += [".SH EXIT STATUS", "0: done. 1: a comparison failed. 2: usage. 3: not supported. 4: device. 5: broken input. 6: over a limit. 70: an error of Weft.",
             ".SH SEE ALSO", ".BR weft (1)"]
    return "\n".join(line for line in page if line) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    front = args.bin / "weft"
    names = re.findall(r"^  ([a-z][a-z-]*)  ", help_of(front), re.M)
    for tool in [front, *(args.bin / f"weft-{name}" for name in names)]:
        if text := help_of(tool):
            (args.output / f"{tool.name}.1").write_text(make_page(tool.name, text, args.version))


if __name__ == "__main__":
    main()

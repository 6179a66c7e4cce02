#!/usr/bin/env python3
"""Holds what docs/stability.md promises: the C ABIs, the flags and the Python API are those of test/stable, and change as the page says.

    check-stable.py --build=build            compare
    check-stable.py --build=build --update   write test/stable again; refuses what would break a caller, but for an ABI of a new number
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import inspect
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STABLE = ROOT / "test" / "stable"
ABIS = {"runtime": (ROOT / "kernels-runtime/include/weft/runtime.h", "libweft_runtime.so"),
        "compiler": (ROOT / "include/weft/compiler.h", "libweft_compiler.so")}
TOOLS = ("compile", "run", "bench", "explain", "inspect", "compare", "reduce", "doctor", "tune", "calibrate")


def describe_header(text: str) -> list[str]:
    """A line each: the ABI's number, types, fields, constants, functions."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    lines = [f"abi {number}" for number in re.findall(r"#define WEFTC?_ABI_VERSION (\d+)", text)]
    text = " ".join(re.sub(r"^\s*#.*$", "", text, flags=re.M).split())
    tidy = lambda part: re.sub(r" ?(\*+) ?", r" \1", re.sub(r"\*\s+\*", "**", part)).replace("( *", "(*").strip()
    for body in re.findall(r"enum \w*\s*\{([^}]*)\}", text):
        value = -1
        for item in filter(None, map(str.strip, body.split(","))):
            name, _, given = map(str.strip, item.partition("="))
            value = int(given) if given else value + 1
            lines.append(f"constant {name} = {value}")
    for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} (\w+);", text):
        fields = [field.strip() for field in re.split(r";(?![^(]*\))", body) if field.strip()]
        lines.append(f"struct {name}" + ("" if fields[0].startswith("size_t struct_size") else " (of this size for good)"))
        lines += [f"field {name}: {tidy(field)}" for field in fields]
    for result, name, parameters in re.findall(r"WEFTC?_EXPORT ([^;(]*?)(weftc?_\w+)\s*\(([^;]*)\);", text):
        lines.append(f"function {tidy(f'{result.strip()} {name}({parameters})')}")
    return lines


def breaks(old: list[str], new: list[str]) -> list[str]:
    """What a program that was built with `old` would miss: functions may come, and fields at the end of structs that begin with their size."""
    if old[:1] != new[:1]:
        return []
    lost = [line for line in old if line not in new]
    structs = {line.split()[1] for line in old if line.startswith("struct ")}
    for name in structs:
        fields = [[line for line in lines if line.startswith(f"field {name}: ")] for lines in (old, new)]
        is_fixed = f"struct {name} (of this size for good)" in old
        if fields[1][:len(fields[0])] != fields[0] or (is_fixed and fields[1] != fields[0]):
            lost.append(f"struct {name}: expected {'the same fields' if is_fixed else 'new fields at the end only'}")
    return lost


def exported(library: pathlib.Path) -> set[str]:
    names = subprocess.run(["/usr/lib/llvm-22/bin/llvm-nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in names.splitlines() if line and " A " not in line}


def describe_flags(build: pathlib.Path) -> list[str]:
    lines = []
    for tool in TOOLS:
        environment = {**os.environ, "WEFT_PYTHON": sys.executable}
        said = subprocess.run([build / "bin" / "weft", tool, "--help"], capture_output=True, text=True, env=environment)
        flags = set(re.findall(r"^\s*(?:-\w,\s*)?(--[a-z][a-z0-9-]*)", said.stdout, re.M))
        if said.returncode or not flags:
            raise SystemExit(f"check-stable: weft {tool} --help: expected flags, got {said.stdout}{said.stderr}")
        lines += [f"weft {tool} {flag}" for flag in sorted(flags)]
    return lines


def describe_call(name: str, function) -> list[str]:
    """A line for the function and one for each argument: by number and name, or by name alone."""
    lines = [f"{name}()"]
    for number, each in enumerate(inspect.signature(function).parameters.values()):
        if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL):
            lines.append(f"{name}: **{each.name}")
        elif each.name != "self":
            place = "by name" if each.kind == each.KEYWORD_ONLY else str(number)
            lines.append(f"{name}: {each.name}, {place}" + (", needed" if each.default is each.empty else f", or {each.default}"))
    return lines


def describe_python(modules: list) -> list[str]:
    lines = []
    for module, name in [(module, name) for module in modules for name in sorted(module.__all__)]:
        value, full = getattr(module, name), f"{module.__name__}.{name}"
        if not inspect.isclass(value):
            lines += describe_call(full, value)
            continue
        lines.append(f"class {full}")
        if issubclass(value, BaseException):
            continue
        for member, function in sorted(vars(value).items()):
            if isinstance(function, property) and not member.startswith("_"):
                lines.append(f"{full}.{member}")
            elif inspect.isfunction(function) and (member == "__init__" or not member.startswith("_")):
                lines += describe_call(f"{full}.{member}", function)
    return lines


def breaks_python(old: list[str], new: list[str]) -> list[str]:
    """Functions and arguments may come, but none that callers must give."""
    return [line for line in old if line not in new] + [line for line in new if line not in old and line.endswith(", needed")
                                                       and line.split(":")[0] + "()" in old]


def compare(name: str, new: list[str], update: bool, find_breaks=lambda old, new: [line for line in old if line not in new]) -> list[str]:
    path = STABLE / f"{name}.txt"
    old = path.read_text().splitlines() if path.exists() else []
    if update:
        if lost := find_breaks(old, new):
            return [f"{name}: would break callers: {line}" for line in lost]
        path.write_text("\n".join(new) + "\n")
        return []
    changes = [f"{name}: gone: {line}" for line in old if line not in new] + [f"{name}: new: {line}" for line in new if line not in old]
    return changes or ([f"{name}: another order"] if old != new else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    problems = []
    for name, (header, library) in ABIS.items():
        lines = describe_header(header.read_text())
        problems += compare(name, lines, args.update, breaks)
        functions = {re.search(r"(\w+)\(", line)[1] for line in lines if line.startswith("function ")}
        problems += [f"{library}: expected to export what {header.name} declares, difference: {each}"
                     for each in sorted(functions ^ exported(args.build / "lib" / library))]
    problems += compare("flags", describe_flags(args.build), args.update)
    sys.path.insert(0, str(ROOT / "kernels-runtime/python"))
    import weft
    problems += compare("python", describe_python([weft]), args.update, breaks_python)
    for problem in problems:
        print(f"check-stable: {problem}")
    if problems and not args.update:
        print("check-stable: docs/stability.md says what may change; tools/dev/check-stable.py --update writes test/stable again")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Imports the one-line models of a lit test and prints the IR, or the diagnostics, of each.

    import_each.py TEST-FILE [TRANSLATE-FLAG...]

A line of the file `MODEL name opset: (inputs) => (outputs) { nodes }` holds a graph in ONNX's textual form; other domains are imported
at the versions below. For each, the output has a line `== name`, then what weft-translate prints; a failure ends in `exit N`.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx.parser

DOMAINS = {"com.microsoft": 1, "com.microsoft.nchwc": 1, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1, "ai.onnx.ml": 5}
LINE = re.compile(r"MODEL (\w+) (\d+): (.*)")


def build(name: str, opset: str, graph: str) -> bytes:
    domains = ", ".join(f'"{domain}" : {version}' for domain, version in DOMAINS.items())
    text = f'<ir_version: 10, opset_import: ["" : {opset}, {domains}]> {name} {graph}'
    return onnx.parser.parse_model(text).SerializeToString()


def main() -> None:
    test, flags = pathlib.Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        for match in filter(None, map(LINE.search, test.read_text().splitlines())):
            name = match.group(1)
            model = pathlib.Path(folder) / f"{name}.onnx"
            model.write_bytes(build(*match.groups()))
            done = subprocess.run(["weft-translate", "--import-onnx", str(model), *flags], capture_output=True, text=True, timeout=60)
            print(f"== {name}")
            print(done.stdout + done.stderr.replace(f"{folder}/", ""), end="")
            if done.returncode:
                print(f"exit {done.returncode}")


if __name__ == "__main__":
    main()

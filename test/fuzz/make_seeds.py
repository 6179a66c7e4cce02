#!/usr/bin/env python3
"""Seeds for the importer's fuzz target: every fifth ONNX node case and the hostile models, where small.

    make_seeds.py FOLDER
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import tempfile

TEST = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TEST), str(TEST / "onnx"), str(TEST / "hostile")]

import models  # noqa: E402
from node_cases import load  # noqa: E402

LARGEST = 8192


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in load()[::5]:
        data = case.model.SerializeToString()
        if len(data) <= LARGEST:
            (folder / case.name).write_bytes(data)
    for name, make in models.CASES.items():
        with tempfile.TemporaryDirectory() as beside:
            data = make(pathlib.Path(beside))
        if len(data) <= LARGEST:
            (folder / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs the sample GEMM kernels on the emulator, checks the products, and writes them as cases for replay.py.

    gemm_cases.py SAMPLES WEFT_EMU CASES [MxNxK...]        SAMPLES: the folder with gemm_sm80.ptx, gemm_sm90_c1.ptx, ...

The faulty sample (gemm_sm90_c1_rs) is not among them: the emulator refuses it.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy

SIZES = ["512x768x1024", "256x512x320", "1024x1024x512"]
F16, SWIZZLE_128, PROMOTION_128 = 6, 3, 2
SMS = 132
LIMIT = 5e-3  # relative L2 error against f64


def tensor_map(buffer: int, rows: int, columns: int, box: tuple[int, int]) -> dict:
    return {"kind": "tensorMap", "buffer": buffer,
            "map": {"mode": "tiled", "tensorDataType": F16, "tensorRank": 2, "globalDim": [columns, rows], "globalStrides": [2 * columns],
                    "elementStrides": [1, 1], "boxDim": [box[1], box[0]], "interleave": 0, "swizzle": SWIZZLE_128,
                    "l2Promotion": PROMOTION_128, "oobFill": 0}}


def launch_of(name: str, m: int, n: int, k: int) -> tuple[dict, list[str], bool]:
    """The launch as replay.py reads it, the same as flags of weft-emu, and whether B is [N, K]."""
    if name == "gemm_sm80":
        grid, block, shared, cluster = [n // 128, m // 128, 1], 128, 0, 1
        values = [{"kind": "value", "alignment": 8, "hex": struct.pack("<q", x).hex()} for x in (m, n, k)]
        arguments = [{"kind": "pointer", "buffer": i} for i in range(3)] + values
        flags = ["--arg=a", "--arg=b", "--arg=c"] + [f"--arg=i64={x}" for x in (m, n, k)]
        b_rows, b_columns = k, n
    else:
        cluster = 2 if name.startswith("gemm_sm90_c2") else 1
        tiles = m // 128 * (n // 256)
        grid, block, shared = [min(SMS, tiles), 1, 1], 384, 229440
        b_box = 256 // cluster
        arguments = [tensor_map(0, m, k, (128, 64)), tensor_map(1, n, k, (b_box, 64)), tensor_map(2, m, n, (64, 64))]
        arguments += [{"kind": "value", "alignment": 4, "hex": struct.pack("<i", x).hex()} for x in (m, n, k)]
        flags = ["--arg=map:a:128x64:swizzle=128", f"--arg=map:b:{b_box}x64:swizzle=128", "--arg=map:c:64x64:swizzle=128"]
        flags += [f"--arg=i32={x}" for x in (m, n, k)]
        b_rows, b_columns = n, k
    buffers = [{"kind": "buffer", "index": i, "bytes": 2 * size, "compared": i == 2, "isParameter": False}
               for i, size in enumerate((m * k, b_rows * b_columns, m * n))]
    launch = {"entry": "", "grid": grid, "block": [block, 1, 1], "cluster": [cluster, 1, 1], "dynamicShared": shared,
              "arguments": buffers + arguments}
    flags += [f"--grid={grid[0]},{grid[1]}", f"--block={block}", f"--shared={shared}", f"--buffer=a={m}x{k}xf16=rand:normal:1",
              f"--buffer=b={b_rows}x{b_columns}xf16=rand:normal:2", f"--buffer=c={m}x{n}xf16=empty"]
    return launch, flags, b_rows == n and name != "gemm_sm80"


def make_case(samples: pathlib.Path, emulator: str, root: pathlib.Path, name: str, size: str) -> None:
    m, n, k = (int(x) for x in size.split("x"))
    launch, flags, is_transposed = launch_of(name, m, n, k)
    folder = root / f"Gemm.{name}.{size}"
    folder.mkdir(parents=True, exist_ok=True)
    ptx = samples / f"{name}.ptx"
    listed = subprocess.run([emulator, ptx, "--list-entries"], capture_output=True, text=True, check=True).stdout
    launch["entry"] = listed.split('"')[1]
    files = [folder / f"{x}.npy" for x in "abc"]
    outputs = [f"--output={x}=@{file}" for x, file in zip("abc", files)]
    told = subprocess.run([emulator, ptx, "--device=H100", *flags, *outputs, "--counters=json"], capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"{folder.name}: {told.stderr}")
    a, b, c = (numpy.load(file) for file in files)
    for file in files:
        file.unlink()
    want = a.astype("f8") @ (b.astype("f8").T if is_transposed else b.astype("f8"))
    error = numpy.linalg.norm(c - want) / numpy.linalg.norm(want)
    print(f"{folder.name}: relative L2 error {error:.2e}")
    if not error < LIMIT:
        sys.exit(f"{folder.name}: wrong product")
    shutil.copy(ptx, folder / "kernel.ptx")
    (folder / "launch.json").write_text(json.dumps(launch, indent=1))
    (folder / "counters.json").write_text(told.stdout)
    for i, (before, after) in enumerate(((a, a), (b, b), (numpy.full_like(c, 7), c))):
        (folder / f"in{i}.bin").write_bytes(before.tobytes())
        (folder / f"out{i}.bin").write_bytes(after.tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("emulator")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("sizes", nargs="*", default=SIZES)
    arguments = parser.parse_args()
    for name in ("gemm_sm80", "gemm_sm90_c1", "gemm_sm90_c2", "gemm_sm90_c2_rts"):
        for size in arguments.sizes:
            make_case(arguments.samples, arguments.emulator, arguments.cases, name, size)


if __name__ == "__main__":
    main()

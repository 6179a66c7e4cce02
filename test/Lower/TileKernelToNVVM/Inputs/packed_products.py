"""Products of 1 to 32 rows in f16 by stored integers of 2, 4 and 8 bits (MatMulNBits) against numpy in f64, on the emulator with its sanitizer: tiles
of 8, 16 and 32 rows, several iterations under way with and without a rest, prime numbers of columns, sums that are no whole number of steps."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Cpu" / "Inputs"))
import packed_weights  # noqa: E402

TARGETS = ("sm_90a", "sm_80")


def draw(model):
    for bits, zeros in itertools.product((2, 4, 8), (False, True)):
        model.by_blocks(1, 704, 67, bits, 64, zeros, kind=np.float16)
        model.by_blocks(5, 416, 67, bits, 32, zeros, kind=np.float16)
    for rows in (2, 8, 9, 16, 17, 32):
        model.by_blocks(rows, 416, 48, 4, 32, rows % 2 == 0, kind=np.float16)
    for depth in (2112, 2880, 3104):  # 2 and 3 steps of 8 warps.
        model.by_blocks(1, depth, 32, 4, 32, depth == 2880, kind=np.float16)
    model.by_blocks(1, 1100, 40, 8, 128, True, kind=np.float16)


def main():
    model, failures = packed_weights.Model(), 0
    draw(model)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model.save(folder / "m.onnx")
        flags = []
        for i, (_, value, _) in enumerate(model.cases):
            np.save(folder / f"x{i}.npy", value)
            flags += [f"--input=x{i}=@{folder}/x{i}.npy", f"--output=y{i}=@{folder}/y{i}.npy"]
        for target in TARGETS:
            plan = subprocess.run(["weft-compile", folder / "m.onnx", f"--target={target}", "-o", folder / "m.weft", "--quiet", "--remarks=plan"],
                                  check=True, capture_output=True, text=True).stderr
            subprocess.run(["weft-run", folder / "m.weft", f"--device=emu:{target},sanitizer=on", *flags], check=True, stdout=subprocess.DEVNULL)
            if plan.count("unpacked in registers") < len(model.cases):
                failures += 1
                print(f"FAIL {target}: expected all products unpacked in registers, got {plan.count('unpacked in registers')} of {len(model.cases)}")
            for i, (text, value, want) in enumerate(model.cases):
                got = np.load(folder / f"y{i}.npy").astype(np.float64)
                error = np.linalg.norm(got - want) / np.linalg.norm(want) if got.shape == want.shape else np.inf
                if not error <= packed_weights.ROOM[value.dtype]:
                    failures += 1
                    print(f"FAIL {target} {text}: error {error}")
    print(f"{len(model.cases)} cases, {len(TARGETS)} targets, {failures} failures")
    raise SystemExit(failures != 0)


if __name__ == "__main__":
    main()

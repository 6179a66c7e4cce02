"""Attention as PyTorch's exporter decomposes it, masks and guards included: each layer of real models must become one fold.

    shared_attention.py FOLDER_OF_MODELS MODEL=FOLDS ...
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
for argument in sys.argv[2:]:
    model, _, wanted = argument.partition("=")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(source / f"{model}.onnx", folder)
        with open(pathlib.Path(folder) / f"{model}.weights.bin", "wb") as weights:
            weights.truncate(4 << 30)  # Zeros that take no space: what the weights are does not matter here.
        command = ["weft-compile", f"{folder}/{model}.onnx", "--target=sm_80", "--compile-to=group", "--quiet", "-o", "-"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    folds = done.stdout.count("tg.fold over")
    if done.returncode or folds != int(wanted):
        raise SystemExit(f"{model}: expected {wanted} folds, got {folds}\n{done.stderr}")
    print(f"{model}: {folds} folds")

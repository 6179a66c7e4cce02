"""Programs compiled at once, and by way of their printed plan: the code must be the same, byte by byte.

    printed_plan.py FOLDER_OF_MODELS MODEL@TARGET ...
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import shutil
import subprocess
import sys
import tempfile


def compile(*arguments: str) -> bytes:
    done = subprocess.run(["weft-compile", *arguments, "--quiet", "-o", "-"], capture_output=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}:\n{done.stderr.decode()}")
    return done.stdout


source = pathlib.Path(sys.argv[1])
for argument in sys.argv[2:]:
    model, _, target = argument.partition("@")
    code = [f"--target={target}", *(["--emit=asm"] if target == "cpu" else ["--emit=ptx", "--ptxas=off"])]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(source / f"{model}.onnx", folder)
        with open(pathlib.Path(folder) / f"{model}.weights.bin", "wb") as weights:
            weights.truncate(4 << 30)  # Zeros that take no space: what the weights are does not matter here.
        at_once = compile(f"{folder}/{model}.onnx", *code)
        plan = compile(f"{folder}/{model}.onnx", f"--target={target}", "--compile-to=plan")
        pathlib.Path(folder, "plan.mlir").write_bytes(plan)
        again = compile(f"{folder}/plan.mlir", f"--target={target}", "--compile-from=plan", "--compile-to=plan")
        by_plan = compile(f"{folder}/plan.mlir", "--compile-from=plan", *code)
    schedules, kernels = plan.count(b"tg.schedule = #tg.schedule<"), plan.count(b"func.func @kernel")
    if target != "cpu" and (not kernels or schedules != kernels):
        raise SystemExit(f"{argument}: {schedules} schedules of {kernels} kernels")
    if again != plan or by_plan != at_once:
        raise SystemExit(f"{argument}: {'the plan' if again != plan else 'the code'} differs after the plan was read back")
    print(f"{argument}: {kernels} kernels, {len(at_once)} bytes")

#!/usr/bin/env python3
"""Real models that people have deployed, as they are: compiled once, run at several sizes, compared with onnxruntime.

    run_real.py FOLDER [NAME...] [--forms] [--build=build] [--target=sm_80] [--device=emu:sm_80]

FOLDER is what shared/realmodels/fetch.sh filled (the models keep their own licences, so they are not in the repository). The table is
printed in the form of docs/real-models.md. A result is right if it differs from onnxruntime without optimisations by at most four times what
onnxruntime with them does, or by 1e-4 of the largest element. With --forms FOLDER is what make_forms.py filled; where a form rounds to 8 bits or
to halves, another order of summation moves values by a step each, so that its results are right within four times onnxruntime's spread or 2e-2
in relative L2, and integers, which are places of the largest, are not compared.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "kernels-runtime" / "python")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402

from harness import limits  # noqa: E402
from harness.compare import relative_l2  # noqa: E402

RNG = np.random.default_rng(0)


def normal(scale: float, *shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def uniform(low: float, high: float, *shape: int) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(np.float32)


def integers(low: int, high: int, dtype: type, *shape: int) -> np.ndarray:
    return RNG.integers(low, high, shape).astype(dtype)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def voice(samples: int) -> dict:
    return {"input": normal(0.1, 1, samples), "state": zeros(2, 1, 128), "sr": np.array(16000, np.int64)}


def speech(frames: int, hidden: int) -> dict:
    return {"input": normal(0.5, 1, 3, frames, 160), "h0": zeros(4, 1, hidden)}


def diacritics(length: int) -> dict:
    return {"char_inputs": integers(1, 30, np.int64, 1, length), "diac_inputs": integers(0, 10, np.int64, 1, length),
            "input_lengths": np.array([length], np.int64)}


# The inputs of each file; a file is compiled once for all of them.
CASES: dict[str, list[dict]] = {
    "magika/model": [{"bytes": integers(0, 257, np.int32, n, 2048)} for n in (1, 3)],
    "nudenet/320n": [{"images": uniform(0, 1, 1, 3, n, n)} for n in (320, 640)],
    "piper_tts/model": [diacritics(n) for n in (20, 37)],
    "piper_tts/nakdimon": [{"input_1": integers(1, 35, np.float32, *shape)} for shape in ((1, 30), (2, 45))],
    "rapidocr/PP-OCRv6_det_small": [{"x": uniform(-1, 1, 1, 3, *shape)} for shape in ((96, 160), (64, 96))],
    "rapidocr/PP-OCRv6_rec_small": [{"x": uniform(-1, 1, n, 3, 48, w)} for n, w in ((2, 160), (1, 320))],
    "rapidocr/ch_ppocr_mobile_v2.0_cls_mobile": [{"x": uniform(-1, 1, 2, 3, 48, 192)}],
    "silero_vad/silero_vad": [voice(512), voice(576)],
    "silero_vad/silero_vad_16k_op15": [voice(576)],
    "silero_vad/silero_vad_half": [voice(576)],
    "silero_vad/silero_vad_16k_sequence": [{"input": normal(0.1, n, 576), "h": zeros(1, 1, 128), "c": zeros(1, 1, 128)} for n in (10, 31)],
    "silero_vad/silero_vad_op18_ifless": [voice(576)],
    "silero_vad/silero_vad_openvino_16k": [voice(576)],
    "speechmos/Run_1663829550_Stage_0": [speech(n, 64) for n in (100, 171)],
    "speechmos/Run_1663915512_Stage_0": [speech(n, 64) for n in (100, 171)],
    "speechmos/Run_1668423760_Stage_0": [speech(n, 96) for n in (100, 171)],
    "speechmos/plcmos_v2": [{"degraded_audio": normal(0.5, 1, 1, n, 257), "rater_embed": normal(0.5, 1, 64)} for n in (100, 64)],
    "speechmos/sig": [{"input_1": normal(1, n, 901, 161)} for n in (1, 2)],
    "speechmos/bak_ovr": [{"input_1": normal(1, n, 901, 161)} for n in (1, 2)],
    "speechmos/sig_bak_ovr": [{"input_1": normal(0.1, n, 144160)} for n in (1, 2)],
    "speechmos/model_v8": [{"input_1": normal(1, n, 900, 120)} for n in (1, 2)],
    "swift_f0/model": [{"audio": normal(0.1, 1, n), "fmin": np.array(60, np.float32), "fmax": np.array(500, np.float32)} for n in (16000, 8000)],
}


def reference(path: pathlib.Path, inputs: dict) -> tuple[list[str], list[np.ndarray], list[np.ndarray]]:
    """Names and results of the outputs, without and with onnxruntime's optimisations."""
    results = []
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level, options.log_severity_level, options.intra_op_num_threads = level, 4, 1
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = {port.name for port in session.get_inputs()}
        results.append(session.run(None, {name: value for name, value in inputs.items() if name in names}))
    return [port.name for port in session.get_outputs()], *results


def runs_in_onnxruntime(path: pathlib.Path) -> bool:
    try:
        ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception:
        return False
    return True


def problem(path: pathlib.Path, session: object, inputs: dict) -> str:
    """What is wrong with the results for `inputs`; empty if nothing."""
    rounds = any(word in path.stem.rpartition("+")[2] for word in ("float16", "dynamic", "qdq", "qoperator"))
    names, plain, optimised = reference(path, inputs)
    taken = {port.name for port in session.inputs}
    results = session.run({name: value for name, value in inputs.items() if name in taken})
    for name, want, other in zip(names, plain, optimised):
        got = np.asarray(results[name])
        if got.shape != want.shape:
            return f"`{name}`: expected shape {want.shape}, got {got.shape}"
        if rounds:
            error, spread = relative_l2(got, want), relative_l2(other, want)
            if want.dtype.kind == "f" and not error <= max(4 * spread, 2e-2):
                return f"`{name}`: relative L2 error {error:.1e}, onnxruntime's own spread is {spread:.1e}"
            continue
        error, spread, scale = (float(np.max(np.abs(x.astype(np.float64)), initial=0)) for x in (got - want, other - want, want))
        if not error <= max(4 * spread, 1e-4 * max(scale, 1)):
            return f"`{name}`: off by {error:.1e}, onnxruntime's own spread is {spread:.1e}"
    return ""


def check(name: str, form: str, arguments: argparse.Namespace, folder: pathlib.Path) -> tuple[bool, str]:
    import weft

    path, bundle = arguments.folder / f"{name}{form}.onnx", folder / "model.weft"
    command = [str(ROOT / arguments.build / "bin" / "weft-compile"), str(path), "-o", str(bundle), "--quiet"]
    start = time.monotonic()
    outcome = limits.run(command + ([f"--target={arguments.target}"] if arguments.target else []), timeout=300)
    seconds = time.monotonic() - start
    if outcome.code:
        return False, f"refused: {outcome.stderr.strip().splitlines()[0].split('error: ')[-1][:160]}"
    if arguments.forms and not runs_in_onnxruntime(path):
        return True, "onnxruntime refuses what its tool wrote"
    try:
        session = weft.Session(str(bundle), device=arguments.device) if arguments.device else weft.Session(str(bundle))
        problems = [text for inputs in CASES[name] if (text := problem(path, session, inputs))]
    except weft.Error as error:
        problems = [f"fails: {error}"]
    return not problems, "; ".join(problems) or f"right at {len(CASES[name])} sizes, compiled in {seconds:.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--forms", action="store_true")
    parser.add_argument("--build", default="build")
    parser.add_argument("--target", default="")
    parser.add_argument("--device", default="")
    arguments = parser.parse_args()
    if arguments.target and not arguments.device:
        arguments.device = f"emu:{arguments.target}"
    import weft

    weft.load_library(str(ROOT / arguments.build / "lib"))
    chosen = [(name, "") for name in CASES]
    if arguments.forms:
        chosen = [(name, path.stem[len(path.stem.split("+")[0]):]) for name in CASES
                  for path in sorted(arguments.folder.glob(f"{name}+*.onnx"))]
    chosen = [(name, form) for name, form in chosen if not arguments.names or any(word in name + form for word in arguments.names)]
    good = 0
    print("| model | opset | |\n|---|---|---|")
    for name, form in chosen:
        with tempfile.TemporaryDirectory() as folder:
            right, text = check(name, form, arguments, pathlib.Path(folder))
        good += right
        opset = max(each.version for each in onnx.load(arguments.folder / f"{name}{form}.onnx").opset_import if not each.domain)
        print(f"| {name}{form} | {opset} | {text} |", flush=True)
    print(f"\n{good} of {len(chosen)} are right")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())

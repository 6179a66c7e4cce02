#!/usr/bin/env python3
"""Mixtures of experts against onnxruntime: few tokens read what their router chose, more tokens read all.

    run_experts.py [--build=build] [--target=sm_80] [--seeds=0:12] [--json=FILE]

Every case is drawn from its seed: MoE or QMoE (4 and 8 bits, by rows and by blocks, with zero points), an odd or even number of experts, k of 1 to 4, each activation, 1 to 17 tokens,
some of them symbolic. Where a router chooses fewer experts than there are, those that no token chose are NaN: reading one, times 0, would show. Of experts that are large enough to be
told from the rest, a card's counters say how many bytes came from DRAM.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "kernels-runtime" / "python")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

from harness import limits  # noqa: E402

TOKENS = (1, 1, 2, 3, 5, 17)
WITHIN = {np.float32: 1e-5, np.float16: 4e-3}
WITHIN_REFERENCE = 2e-2  # Of onnxruntime from what is computed here: it rounds rows to 8 bits where weights have as many.
MOST_BYTES = 1.1  # Of those of the chosen experts: a card reads biases, activations and the router beside them.
COPIES = 3  # On the CPU what is chosen is read, written and read.
ACTIVATIONS = ("relu", "gelu", "silu", "swiglu", "identity")
KNOWN_PACKED = ("swiglu", "silu", "identity")  # To onnxruntime's kernel for packed weights, which always normalises over the chosen.


@dataclasses.dataclass
class Case:
    seed: int
    tokens: int
    is_symbolic: bool
    experts: int
    chosen: int
    width: int
    hidden: int
    activation: str
    is_normalised: bool
    bits: int  # 0: numbers of floating point.
    block: int
    has_zeros: bool
    has_bias: bool
    dtype: type

    def __str__(self) -> str:
        kind = f"QMoE of {self.bits} bits, block {self.block}{', zeros' * self.has_zeros}" if self.bits else "MoE"
        return (f"seed {self.seed}: {kind}, {np.dtype(self.dtype)}, {self.tokens} {'(symbolic) ' * self.is_symbolic}tokens, {self.chosen} of {self.experts} experts "
                f"of {self.width}x{self.hidden}, {self.activation}{', normalised' * self.is_normalised}{', bias' * self.has_bias}")


def draw(seed: int) -> Case:
    rng = random.Random(seed)
    bits = rng.choice([0, 0, 4, 8])
    chosen = rng.choice([1, 2, 3, 4])
    activation = rng.choice(ACTIVATIONS)
    block = rng.choice([0, 16, 32]) if bits else 0
    unit = 32 if bits else 1
    width, hidden = (unit * rng.randint(1, 96 // unit) for _ in range(2))
    return Case(seed, rng.choice(TOKENS), rng.random() < 0.3, rng.randint(chosen, 11), chosen, width, hidden, activation, bool(bits) or rng.random() < 0.5, bits, block,
                bool(bits) and rng.random() < 0.4, rng.random() < 0.5, np.float16 if rng.random() < 0.5 else np.float32)


LARGE = [Case(0, tokens, is_symbolic, 9, 2, 256, 352, "silu", True, bits, block, bits == 4, True, np.float16)
         for tokens, is_symbolic, bits, block in ((1, False, 0, 0), (1, True, 4, 32), (1, False, 8, 0), (2, False, 4, 32))]


def routed(case: Case, router: np.ndarray) -> set[int]:
    return {int(expert) for row in router for expert in np.argsort(-row, kind="stable")[:case.chosen]}


def feeds(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Tokens, and what a router says of them; no two experts are equally good."""
    x = rng.standard_normal((case.tokens, case.width)).astype(case.dtype)
    scores = np.arange(case.experts) / case.experts * 3 - 1
    return x, rng.permuted(np.tile(scores, (case.tokens, 1)), axis=1).astype(case.dtype)


def weights(case: Case, rng: np.random.Generator, unused: list[int]) -> dict[str, np.ndarray]:
    """By the names of the operator's inputs; what no token chose is NaN."""
    fused = 2 if case.activation == "swiglu" else 1
    arrays = {}
    for name, outputs, inputs in (("fc1", fused * case.hidden, case.width), ("fc2", case.width, case.hidden)):
        shape = (case.experts, outputs)
        if case.bits:
            arrays[name] = rng.integers(0, 256, (*shape, inputs * case.bits // 8)).astype(np.uint8)
            blocks = (inputs // case.block,) if case.block else ()
            arrays[f"{name}_scales"] = rng.uniform(0.5, 1.5, (*shape, *blocks)) / 2 ** (case.bits - 1) / inputs ** 0.5
            if case.has_zeros:
                fields = blocks[0] if case.block else outputs
                packed = (*shape, -(-fields * case.bits // 8)) if case.block else (case.experts, -(-fields * case.bits // 8))
                arrays[f"{name}_zeros"] = rng.integers(0, 256, packed).astype(np.uint8)
        else:
            arrays[name] = rng.standard_normal((*shape, inputs)) / inputs ** 0.5
        if case.has_bias:
            arrays[f"{name}_bias"] = rng.standard_normal(shape)
    for name, array in arrays.items():
        if array.dtype != np.uint8:
            array = array.astype(case.dtype)  # Of which the reference has the same numbers.
            array[unused] = np.nan
            arrays[name] = array
    return arrays


def unpacked(case: Case, arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The weights of a layer as numbers, experts x outputs x inputs."""
    if not case.bits:
        return arrays[name].astype(np.float64)

    def fields(packed: np.ndarray) -> np.ndarray:
        numbers = packed[..., None] >> np.arange(0, 8, case.bits, dtype=np.uint8) & np.uint8(2**case.bits - 1)
        return numbers.reshape(*packed.shape[:-1], -1).astype(np.float64)

    numbers, scales = fields(arrays[name]), arrays[f"{name}_scales"].astype(np.float64).reshape(case.experts, arrays[name].shape[1], -1)
    zeros = np.full_like(scales, 2.0 ** (case.bits - 1))
    if case.has_zeros:
        zeros = fields(arrays[f"{name}_zeros"])[..., :scales.shape[2] if case.block else scales.shape[1]].reshape(scales.shape)
    spread = numbers.shape[2] // scales.shape[2]
    return (numbers - zeros.repeat(spread, 2)) * scales.repeat(spread, 2)


def compute(case: Case, arrays: dict[str, np.ndarray], x: np.ndarray, router: np.ndarray) -> np.ndarray:
    """The operator by its definition, in f64."""
    first, second = unpacked(case, arrays, "fc1"), unpacked(case, arrays, "fc2")
    biases = [arrays[f"{name}_bias"].astype(np.float64) if case.has_bias else np.zeros(layer.shape[:2]) for name, layer in (("fc1", first), ("fc2", second))]
    activate = {"relu": lambda h: np.maximum(h, 0), "identity": lambda h: h, "silu": lambda h: h / (1 + np.exp(-h)),
                "gelu": lambda h: h * 0.5 * (1 + np.tanh(0.79788456080286536 * (h + 0.044715 * h**3)))}
    result = np.zeros(x.shape)
    for token, (row, scores) in enumerate(zip(x.astype(np.float64), router.astype(np.float64))):
        chosen = np.argsort(-scores, kind="stable")[:case.chosen]
        gates = np.exp(scores - scores.max())
        gates /= gates[chosen].sum() if case.is_normalised else gates.sum()
        for expert in chosen:
            h = first[expert] @ row + biases[0][expert]
            if case.activation == "swiglu":
                gate, linear = np.minimum(h[::2], 7), np.clip(h[1::2], -7, 7)
                h = gate / (1 + np.exp(-1.702 * gate)) * (linear + 1)
            else:
                h = activate[case.activation](h)
            result[token] += gates[expert] * (second[expert] @ h + biases[1][expert])
    return result


def build(case: Case, arrays: dict[str, np.ndarray], dtype: type, is_symbolic: bool) -> onnx.ModelProto:
    attributes = {"k": case.chosen, "activation_type": case.activation, "normalize_routing_weights": int(case.is_normalised)}
    if case.activation == "swiglu":
        attributes |= {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0}
    order = ["fc1", "fc1_bias", "fc2", "fc2_bias"]
    if case.bits:
        order = ["fc1", "fc1_scales", "fc1_bias", "fc2", "fc2_scales", "fc2_bias", "", "", "", "fc1_zeros", "fc2_zeros"]
        attributes |= {"expert_weight_bits": case.bits}
        if case.block:
            attributes |= {"block_size": case.block}
    names = [name if name in arrays else "" for name in order]
    while not names[-1]:
        names.pop()
    node = helper.make_node("QMoE" if case.bits else "MoE", ["x", "router", *names], ["y"], name="experts", domain="com.microsoft", **attributes)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    rows = "tokens" if is_symbolic else case.tokens
    extents = {"x": case.width, "router": case.experts, "y": case.width}
    x, router, y = (helper.make_tensor_value_info(name, element, [rows, extent]) for name, extent in extents.items())
    stored = [numpy_helper.from_array(array if array.dtype == np.uint8 else array.astype(dtype), name) for name, array in arrays.items()]
    graph = helper.make_graph([node], "experts", [x, router], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9, producer_name="weft-test")


def relative(want: np.ndarray, got: np.ndarray) -> float:
    return float(np.linalg.norm(want - got.astype(np.float64)) / np.linalg.norm(want))


def compare_onnxruntime(case: Case, arrays: dict[str, np.ndarray], x: np.ndarray, router: np.ndarray, want: np.ndarray) -> str:
    if case.bits and case.activation not in KNOWN_PACKED:
        return ""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    clean = {name: np.nan_to_num(array) for name, array in arrays.items()}
    session = ort.InferenceSession(build(case, clean, np.float32, False).SerializeToString(), options, providers=["CPUExecutionProvider"])
    error = relative(want, session.run(None, {"x": x.astype(np.float32), "router": router.astype(np.float32)})[0])
    return "" if error <= WITHIN_REFERENCE else f"onnxruntime is off by {error:.1e}"


def compile_case(case: Case, arrays: dict[str, np.ndarray], arguments: argparse.Namespace, folder: pathlib.Path) -> tuple[str, pathlib.Path]:
    """What the compiler says, and the bundle."""
    path = folder / "experts.onnx"
    onnx.save(build(case, arrays, case.dtype, case.is_symbolic), path)
    command = [str(ROOT / arguments.build / "bin" / "weft-compile"), str(path), "-o", str(path.with_suffix(".weft")), "--ptxas=off", "--remarks=plan"]
    command += [f"--target={arguments.target}"] if arguments.target else []
    outcome = limits.run(command, timeout=120, memory_mb=2048)
    if outcome.code:
        raise RuntimeError(f"refused: {outcome.stderr.strip()[:300]}")
    return outcome.stdout + outcome.stderr, path.with_suffix(".weft")


def check(case: Case, arguments: argparse.Namespace, folder: pathlib.Path) -> tuple[str, bool]:
    """What is wrong, and whether only chosen experts are read."""
    import weft

    rng = np.random.default_rng(case.seed)
    x, router = feeds(case, rng)
    pairs = (1 if case.is_symbolic else case.tokens) * case.chosen  # Of a symbolic extent a card's program has a plan for 1.
    is_few = pairs < case.experts if arguments.target else not case.is_symbolic and COPIES * pairs < case.experts
    unused = sorted(set(range(case.experts)) - routed(case, router)) if is_few and (case.tokens == 1 or not case.is_symbolic) else []
    arrays = weights(case, rng, unused)
    want = compute(case, arrays, x, router)
    if failure := compare_onnxruntime(case, arrays, x, router, want):
        return failure, False
    text, bundle = compile_case(case, arrays, arguments, folder)
    if is_few != (is_read := "chosen-experts" in text):
        return f"expected {'the chosen experts' if is_few else 'all experts'} to be read", is_read
    session = weft.Session(str(bundle), device=f"emu:{arguments.target}" if arguments.target else "cpu", memory_limit=1 << 30)
    if not (error := relative(want, session.run({"x": x, "router": router})["y"])) <= WITHIN[case.dtype]:
        return f"off by {error:.1e}{f' with NaN in experts {unused}' if unused else ''}", is_read
    return "", is_read


def check_bytes(case: Case, arguments: argparse.Namespace, folder: pathlib.Path) -> str:
    """What is wrong with the bytes that a card reads."""
    import weft

    rng = np.random.default_rng(case.seed)
    x, router = feeds(case, rng)
    arrays = weights(case, rng, [])
    session = weft.Session(str(compile_case(case, arrays, arguments, folder)[1]), device=f"emu:{arguments.target},counters=on", memory_limit=1 << 30)
    session.run({"x": x, "router": router})
    read = sum(int(launch["counters"]["dram__bytes_read.sum"]) for launch in session.counters())
    chosen = sum(array.nbytes for array in arrays.values()) / case.experts * len(routed(case, router))
    return "" if read <= MOST_BYTES * chosen else f"expected at most {MOST_BYTES} times the {chosen:.0f} bytes of the chosen experts from DRAM, got {read}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--target", default="")
    parser.add_argument("--seeds", default="0:12", metavar="FIRST:COUNT")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    arguments = parser.parse_args()
    import weft

    weft.load_library(str(ROOT / arguments.build / "lib"))
    first, count = map(int, arguments.seeds.split(":"))
    bad, few = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for case in map(draw, range(first, first + count)):
            failure, is_few = check(case, arguments, pathlib.Path(folder))
            bad, few = bad + bool(failure), few + is_few
            print(f"{case}: {failure or 'right'}{', the chosen are read' * is_few}", flush=True)
        for case in LARGE if arguments.target else ():
            failure = check_bytes(case, arguments, pathlib.Path(folder))
            bad, count = bad + bool(failure), count + 1
            print(f"{case}: {failure or 'the chosen come from DRAM'}", flush=True)
    if first == 0 and count >= 12 and not few:  # Other seeds may happen to draw none.
        bad += 1
        print("no case reads the chosen experts alone")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"schema": "weft.experts/1", "passed": count - bad, "failed": bad, "skipped": 0}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

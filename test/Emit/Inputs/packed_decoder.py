"""Decoders in f16 with weights of 2, 4 and 8 bits (MatMulNBits), one token (and three) behind a cache in place, on the emulator with its sanitizer against
numpy in f64. Norms between their products are summed up by the product in front: each model has kernels for that of the embedding only."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "test" / "models"), str(ROOT / "kernels-runtime" / "python")]
import decoder  # noqa: E402
import weft  # noqa: E402

SHAPE = decoder.Shape(layers=2, hidden=192, heads=4, key_heads=2, ffn=224, vocab=96, dtype=np.float16, bits=4)
CASES = [("sm_90a", 1, {}), ("sm_80", 1, {"zeros": True}), ("sm_90a", 1, {"bits": 8, "zeros": True}), ("sm_90a", 3, {}),
         ("sm_90a", 1, {"bits": 2, "hidden": 160, "heads": 5, "key_heads": 1, "ffn": 200, "vocab": 77}),
         ("sm_90a", 1, {"block": 64, "zeros": True})]
PAST, CAPACITY, WITHIN = 5, 24, 4e-3


def fields(packed, bits):
    return (packed[..., None] >> np.arange(0, 8, bits, dtype=np.uint8) & np.uint8(2**bits - 1)).reshape(*packed.shape[:-1], -1).astype(np.float64)


class Reference:
    """The network in f64, with weights as they are rounded to f16."""

    def __init__(self, path, shape):
        self.shape = shape
        self.values = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}

    def linear(self, x, name, width):
        s, depth = self.shape, x.shape[-1]
        blocks = -(-depth // s.block)
        numbers = fields(self.values[f"{name}.weight"], s.bits).reshape(width, blocks, s.block)
        zero = fields(self.values[f"{name}.zeros"].reshape(width, -1), s.bits)[:, :blocks, None] if s.zeros else 2.0 ** (s.bits - 1)
        weight = ((numbers - zero) * self.values[f"{name}.scales"].reshape(width, blocks, 1).astype(np.float64)).astype(np.float16)
        return x @ weight.astype(np.float64).reshape(width, -1)[:, :depth].T

    def norm(self, x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * self.values[f"{name}.weight"].astype(np.float64)

    def rotate(self, x, places):
        half = self.shape.width // 2
        angle = places[:, None, None] / 10000 ** (np.arange(half) / half)
        return x * np.tile(np.cos(angle), 2) + np.concatenate([-x[..., half:], x[..., :half]], -1) * np.tile(np.sin(angle), 2)

    def attend(self, x, layer, caches, places):
        s, name, rows = self.shape, f"layer.{layer}.attention", len(places)
        split = lambda part, heads: self.linear(x, f"{name}.{part}", heads * s.width).reshape(rows, heads, s.width)  # noqa: E731
        query, fresh = self.rotate(split("query", s.heads), places), {"key": self.rotate(split("key", s.key_heads), places), "value": split("value", s.key_heads)}
        key, value = (np.concatenate([caches[f"past_key_values.{layer}.{part}"][0, :, :PAST], new.transpose(1, 0, 2)], 1).repeat(s.heads // s.key_heads, 0)
                      for part, new in fresh.items())
        scores = query.transpose(1, 0, 2) @ key.transpose(0, 2, 1) / s.width**0.5
        scores[:, np.arange(key.shape[1])[None] > places[:, None]] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        y = (weights / weights.sum(-1, keepdims=True)) @ value
        return self.linear(y.transpose(1, 0, 2).reshape(rows, -1), f"{name}.output", s.hidden)

    def run(self, tokens, caches):
        s, places = self.shape, np.arange(PAST, PAST + len(tokens))
        x = self.values["embedding"].astype(np.float64)[tokens]
        for layer in range(s.layers):
            x = x + self.attend(self.norm(x, f"layer.{layer}.norm"), layer, caches, places)
            y, name = self.norm(x, f"layer.{layer}.ffn.norm"), f"layer.{layer}.ffn"
            gate = self.linear(y, f"{name}.gate", s.ffn)
            x = x + self.linear(gate / (1 + np.exp(-gate)) * self.linear(y, f"{name}.up", s.ffn), f"{name}.down", s.hidden)
        return self.linear(self.norm(x, "norm"), "logits", s.vocab)


def check(folder, target, rows, changes):
    shape = dataclasses.replace(SHAPE, **changes)
    path, bundle, rng = decoder.concat(folder / "m.onnx", shape), folder / "m.weft", np.random.default_rng(3)
    flags = ["--alias=caches", f"--dim=batch=1,sequence={rows},total={rows}..{CAPACITY}:{CAPACITY}", f"--target={target}", "--quiet", "--remarks=plan"]
    remarks = subprocess.run(["weft-compile", path, "-o", bundle, *flags], check=True, capture_output=True, text=True).stderr
    tokens = rng.integers(0, shape.vocab, rows)
    feeds = {"input_ids": tokens[None], "attention_mask": np.ones((1, PAST + rows), np.int64), "position_ids": np.arange(PAST, PAST + rows)[None]}
    out = {}
    for layer in range(shape.layers):
        for part in ("key", "value"):
            memory = weft.zeros((1, shape.key_heads, CAPACITY, shape.width), "f16")
            memory[:, :, :PAST] = rng.standard_normal((1, shape.key_heads, PAST, shape.width))
            feeds[f"past_key_values.{layer}.{part}"] = out[f"present.{layer}.{part}"] = memory
    want = Reference(path, shape).run(tokens, {name: array.astype(np.float64) for name, array in feeds.items() if name.startswith("past")})
    with weft.Session(str(bundle), device=f"emu:{target},sanitizer=on", memory_limit=1 << 30) as session:
        got = session.run({port.name: feeds[port.name] for port in session.inputs}, out=out)["logits"][0].astype(np.float64)
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    norms, kept = remarks.count("[Passed] delayed-scale"), remarks.count("[Missed] no-delayed-scale")
    print(f"{'right' if error <= WITHIN else f'FAIL: error {error}'}, {norms} norms without a kernel, {kept} with one")


def main():
    weft.load_library(os.environ.get("WEFT_RUNTIME_LIBRARY", str(ROOT / "build" / "lib")))
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            check(pathlib.Path(folder), *case)


main()

#!/usr/bin/env python3
"""Text from a decoder that was compiled with its caches in place: prompt in, prefill, decode, tokens per second.

    weft compile decoder.onnx -o decoder.weft --alias=caches                # exported with past_key_values.* and present.*
    generate.py decoder.weft --prompt=12,7,99 --tokens=50 --capacity=512    # --device=cuda, --top-p=0.9

Each cache is one tensor, an input and an output of every run (Session.aliases says which belong together). A run reads the places so
far and writes those of its tokens, nothing is copied. The attention mask, the positions and the tokens are the other inputs.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import pathlib
import sys
import time

import numpy as np

try:
    import weft
except ImportError:  # In a source tree.
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "kernels-runtime" / "python"))
    import weft


def numpy_of(value) -> np.ndarray:
    return value.numpy() if isinstance(value, weft.Tensor) else np.asarray(value)


class Decoder:
    """One sequence, or several of one length, and their caches."""

    def __init__(self, session: weft.Session, capacity: int, batch: int = 1):
        self.session, self.capacity, self.batch, self.length = session, capacity, batch, 0
        self.input_of = session.aliases
        if not self.input_of:
            raise SystemExit("the bundle has no caches in place: compile the model with --alias=caches")
        ports = {port.name: port for port in session.inputs}
        self.caches = {name: weft.zeros(self.extents(ports[name]), ports[name].dtype) for name in self.input_of.values()}
        self.others = [port for port in session.inputs if port.name not in self.caches]
        self.logits = next(port.name for port in session.outputs if port.name not in self.input_of)
        self.on_card = session.device.startswith("cuda")

    def extents(self, port: weft.Port) -> tuple[int, ...]:
        """Those of a cache: batch first, and where it is open the capacity."""
        dims = [dim if isinstance(dim, int) else self.batch if axis == 0 else self.capacity for axis, dim in enumerate(port.dims)]
        self.capacity = min([self.capacity, *(size for dim, size in zip(port.dims[2:-1], dims[2:-1]) if isinstance(dim, int))])
        return tuple(dims)

    def feed(self, port: weft.Port, tokens: np.ndarray) -> np.ndarray:
        fresh, total = tokens.shape[1], self.length + tokens.shape[1]
        places = np.arange(self.length, total)
        values = {"input_ids": tokens, "attention_mask": np.ones((self.batch, total)),
                  "position_ids": np.broadcast_to(places, (self.batch, fresh)), "cache_position": places}
        if port.name not in values:
            raise SystemExit(f"the input `{port.name}` has no meaning here; expected {', '.join(values)}")
        return np.ascontiguousarray(values[port.name].astype(np.int32 if port.dtype == "i32" else np.int64))

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """The logits of the last of `tokens` (batch x any number), which follow those of the steps before."""
        if self.length + tokens.shape[1] > self.capacity:
            raise SystemExit(f"the caches hold {self.capacity} tokens; give a larger --capacity")
        feeds = {port.name: self.feed(port, tokens) for port in self.others}
        feeds.update(self.caches)
        # The first run of a GPU brings the caches there: its results are the memory of all further runs.
        is_first = self.on_card and self.length == 0
        out = {} if is_first else {name: self.caches[source] for name, source in self.input_of.items()}
        results = self.session.run(feeds, out=out, outputs="dlpack" if self.on_card else "numpy")
        if is_first:
            self.caches = {source: results[name] for name, source in self.input_of.items()}
        self.length += tokens.shape[1]
        return numpy_of(results[self.logits])[:, -1].astype(np.float32)


def sample(logits: np.ndarray, top_p: float, temperature: float, rng: np.random.Generator) -> np.ndarray:
    """A token for each row: the likeliest, or with `top_p` one of the fewest whose probabilities are `top_p` together."""
    if top_p <= 0:
        return logits.argmax(-1)
    chosen = []
    for row in logits / max(temperature, 1e-6):
        order = np.argsort(-row, kind="stable")
        shares = np.exp(row[order] - row[order[0]])
        shares /= shares.sum()
        count = int(np.searchsorted(np.cumsum(shares), top_p)) + 1
        shares = shares[:count] / shares[:count].sum()
        chosen.append(order[rng.choice(len(shares), p=shares)])
    return np.array(chosen)


def generate(decoder: Decoder, prompt: np.ndarray, count: int, top_p: float = 0.0, temperature: float = 1.0, seed: int = 0):
    """Yields the next tokens (one for each sequence), `count` times."""
    rng, tokens = np.random.default_rng(seed), prompt
    for _ in range(count):
        token = sample(decoder.step(tokens), top_p, temperature, rng)
        yield token
        tokens = token[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--prompt", required=True, help="token ids, separated by commas")
    parser.add_argument("--tokens", type=int, default=32, help="how many to make")
    parser.add_argument("--capacity", type=int, default=1024, help="places of the caches")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--top-p", type=float, default=0.0, help="0: always the likeliest token")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    prompt = np.array([[int(token) for token in args.prompt.split(",")]])
    with weft.Session(args.bundle, device=args.device, threads=args.threads) as session:
        decoder = Decoder(session, args.capacity)
        begin, times = time.perf_counter(), []
        for token in generate(decoder, prompt, args.tokens, args.top_p, args.temperature, args.seed):
            times.append(time.perf_counter())
            print(int(token[0]), end=" ", flush=True)
            if len(times) > 1 and sys.stderr.isatty():
                print(f"\033[s  [{(len(times) - 1) / (times[-1] - times[0]):.1f} tokens/s]\033[u", end="", file=sys.stderr, flush=True)
        print()
        if times:
            print(f"prefill: {prompt.shape[1]} tokens in {(times[0] - begin) * 1e3:.2f} ms", end="")
        if len(times) > 1:
            print(f"; decode: {(len(times) - 1) / (times[-1] - times[0]):.1f} tokens/s", end="")
        print()


if __name__ == "__main__":
    main()

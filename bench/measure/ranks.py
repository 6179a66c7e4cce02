"""Decoders by tensor parallel: cases, what they move, and their table."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))

import numpy as np  # noqa: E402

MANIFEST = "ranks-manifest.json"
DECODE, PREFILL, SCALING = 1.2, 1.0, 1.6  # Of issue 22: against PyTorch's, and of two GPUs against one in decode.
GPU_BYTES = {"H100": 3.352e12, "H200": 4.8e12}  # DRAM, by a part of the GPU's name.


@dataclasses.dataclass(frozen=True)
class Net:
    layers: int
    hidden: int
    heads: int
    key_heads: int
    ffn: int
    vocab: int
    positions: int

    @property
    def width(self) -> int:
        return self.hidden // self.heads


@dataclasses.dataclass(frozen=True)
class Case:
    """`past` places of caches of `capacity` are written; `tokens` more are."""
    name: str
    net: str
    batch: int
    tokens: int
    past: int
    capacity: int

    @property
    def total(self) -> int:
        return self.past + self.tokens

    def feeds(self, net: Net, rank: int, ranks: int, dtype) -> dict[str, np.ndarray]:
        """Of a rank: its heads of the caches."""
        rng = np.random.default_rng(11)
        heads = net.key_heads // ranks if net.key_heads % ranks == 0 else net.key_heads
        first = rank * heads if heads < net.key_heads else 0
        feeds = {"input_ids": rng.integers(0, net.vocab, (self.batch, self.tokens)),
                 "attention_mask": np.ones((self.batch, self.total), np.int64)}
        for layer in range(net.layers):
            for part in ("key", "value"):
                # Drawn once, and shifted for each sequence: drawing all would take longer than the runs.
                drawn = np.random.default_rng([layer, part == "key"]).standard_normal((net.key_heads, self.capacity, net.width), np.float32)
                own = drawn[first:first + heads].astype(dtype)
                feeds[f"past_key_values.{layer}.{part}"] = np.stack([np.roll(own, 7 * sequence, axis=1) for sequence in range(self.batch)])
        return feeds


NETS = {"8b": Net(32, 4096, 32, 8, 14336, 128256, 8192), "70b": Net(8, 8192, 64, 8, 28672, 128256, 8192)}  # 8 of 80 layers.
CASES = [Case(f"{net}_decode_b{batch}", net, batch, 1, 1024, 2048) for net in NETS for batch in (1, 4, 16)]
CASES += [Case(f"{net}_prefill_{tokens}", net, 1, tokens, 0, 2048) for net in NETS for tokens in (512, 2048)]
SMALL_NETS = {"small": Net(2, 64, 8, 4, 96, 128, 64)}
SMALL_CASES = [Case("small_decode_b2", "small", 2, 1, 9, 24), Case("small_prefill_24", "small", 1, 24, 0, 24)]


def shards(net: Net, ranks: int) -> list[str]:
    """As Megatron-LM has it; keys and values whole where their heads are fewer than ranks, or no multiple."""
    heads = ["past_key_values.*:1", "present.*:1", "*.key:-1", "*.value:-1"] if net.key_heads % ranks == 0 else []
    return [*heads, "*.query:-1", "*.gate:-1", "*.up:-1", "logits.weight:1"]


def count_bytes(case: Case, net: Net, ranks: int, itemsize: int = 2) -> tuple[float, float]:
    """Of DRAM (weights that a run reads, and caches) and of the links, of one rank."""
    row = net.key_heads * net.width
    layer = net.hidden * (net.hidden + 2 * row) + net.hidden * net.hidden + 3 * net.hidden * net.ffn
    weights = (net.layers * layer + net.vocab * net.hidden) / ranks
    caches = 2 * net.layers * case.batch * (case.total + case.tokens) * row / ranks
    sums = 2 * net.layers * case.batch * case.tokens * net.hidden
    logits = case.batch * case.tokens * net.vocab
    others = (ranks - 1) / ranks
    return (weights + caches) * itemsize, (2 * sums * others + logits * others) * itemsize


def markdown(results: dict) -> str:
    ranks, lines = results["ranks"], [f"{results['device']}, {results['ranks']} ranks, commit {results['commit']}, medians of {results['rounds']}, slowest rank", ""]
    lines += ["| case | one GPU, us | in turn, us | overlapped, us | PyTorch, us | PyTorch / Weft | one / all | DRAM MB (bound us) | links MB | L2 error | |",
              "|---|---|---|---|---|---|---|---|---|---|---|"]
    rate = next((rate for name, rate in GPU_BYTES.items() if name in results["device"]), None)
    for line in results["cases"]:
        def show(key: str) -> str:
            return f"{line[key]:.1f}" if key in line else "-"
        dram, links = line["bytes"]
        bound = f" ({dram / rate * 1e6:.0f})" if rate else ""
        ours, peer = best(line), line.get("torch_us")
        lines.append(f"| {line['name']} | {show('one_us')} | {show('off_us')} | {show('on_us')} | {show('torch_us')} | {ratio(peer, ours)} "
                     f"| {ratio(line.get('one_us'), ours)} | {dram / 1e6:.1f}{bound} | {links / 1e6:.2f} | {line.get('error', float('nan')):.1e} | {'; '.join(judge(line, ranks))} |")
    return "\n".join(lines) + "\n"


def best(line: dict) -> float | None:
    return min((line[key] for key in ("on_us", "off_us") if key in line), default=None)


def ratio(a: float | None, b: float | None) -> str:
    return f"{a / b:.2f}" if a and b else "-"


def judge(line: dict, ranks: int) -> list[str]:
    """What the issue asks for and the line does not show."""
    failures, ours = list(line.get("failures", [])), best(line)
    if ours is None:
        return failures + ["not measured"]
    least = PREFILL if "prefill" in line["name"] else DECODE
    if "torch_us" in line and line["torch_us"] < least * ours:
        failures.append(f"below {least} of PyTorch")
    if "one_us" in line and ranks == 2 and "decode" in line["name"] and line["one_us"] < SCALING * ours:
        failures.append(f"below {SCALING} of one GPU")
    return failures

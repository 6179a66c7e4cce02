"""The peer: the same decoder in PyTorch, its linear layers split by parallelize_module, in a CUDA graph."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from . import ranks
from .timing import capture


def join(rank: int, world: int, address: str, device: str):
    """Joins the ranks; a call that makes their streams wait for each other."""
    host, _, port = address.rpartition(":")
    on_gpu = device == "cuda"
    dist.init_process_group("nccl" if on_gpu else "gloo", init_method=f"tcp://{host}:{int(port) + 1}", rank=rank, world_size=world,
                            device_id=torch.device("cuda", rank) if on_gpu else None)
    token = torch.zeros(1, device=device)
    return lambda: dist.all_reduce(token)


class Norm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Layer(nn.Module):
    def __init__(self, net: ranks.Net, world: int):
        super().__init__()
        self.heads, self.key_heads, self.width = net.heads // world, net.key_heads // world, net.width
        row = net.key_heads * net.width
        self.norm, self.ffn_norm = Norm(net.hidden), Norm(net.hidden)
        self.query, self.key, self.value, self.output = (nn.Linear(a, b, bias=False) for a, b in (
            (net.hidden, net.hidden), (net.hidden, row), (net.hidden, row), (net.hidden, net.hidden)))
        self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((net.hidden, net.ffn), (net.hidden, net.ffn), (net.ffn, net.hidden)))

    PLAN = {"query": ColwiseParallel(), "key": ColwiseParallel(), "value": ColwiseParallel(), "output": RowwiseParallel(), "gate": ColwiseParallel(),
            "up": ColwiseParallel(), "down": RowwiseParallel()}

    def turn(self, x, cos, sin):
        low, high = x.chunk(2, -1)
        return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)

    def forward(self, x, case: ranks.Case, cos, sin, keys, values):
        batch, tokens, _ = x.shape
        y = self.norm(x)
        q, k, v = (part(y).view(batch, tokens, -1, self.width).transpose(1, 2) for part in (self.query, self.key, self.value))
        keys[:, :, case.past:case.total] = self.turn(k, cos, sin)
        values[:, :, case.past:case.total] = v
        y = F.scaled_dot_product_attention(self.turn(q, cos, sin), keys[:, :, :case.total], values[:, :, :case.total], is_causal=tokens > 1, enable_gqa=True)
        x = x + self.output(y.transpose(1, 2).reshape(batch, tokens, -1))
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, net: ranks.Net, world: int):
        super().__init__()
        self.embedding = nn.Embedding(net.vocab, net.hidden)
        self.layers = nn.ModuleList(Layer(net, world) for _ in range(net.layers))
        self.norm, self.logits = Norm(net.hidden), nn.Linear(net.hidden, net.vocab, bias=False)

    def forward(self, ids, case, cos, sin, caches):
        x = self.embedding(ids)
        for layer, (keys, values) in zip(self.layers, caches):
            x = layer(x, case, cos, sin, keys, values)
        return self.logits(self.norm(x))


class Peer:
    """Prefill begins an empty cache: a causal mask of a square. Decode sees all places. f16 on GPUs, f32 on CPUs."""

    def __init__(self, net: ranks.Net, folder: pathlib.Path, model: str, manifest: dict, world: int, device: str):
        self.net, self.device = net, device
        self.dtype, dtype = (torch.float16, np.float16) if device == "cuda" else (torch.float32, np.float32)
        entry, inline = manifest["models"][model], np.load((folder / model).with_suffix(".npz"))
        self.values = {name: inline[name].astype(dtype) for name in inline.files}
        if entry["tensors"]:
            data = np.memmap(folder / entry["data"], np.uint8, "r")
            for tensor in entry["tensors"]:
                self.values[tensor["name"]] = data[tensor["offset"]:tensor["offset"] + tensor["bytes"]].view(dtype).reshape(tensor["shape"])
        with torch.device(device):
            self.module = Decoder(net, world).to(self.dtype).eval().requires_grad_(False)
        self._load()
        mesh = init_device_mesh(device, (world,))
        for layer in self.module.layers:
            parallelize_module(layer, mesh, dict(Layer.PLAN))
        parallelize_module(self.module, mesh, {"logits": ColwiseParallel(output_layouts=Replicate())})

    def _put(self, value: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.array(value)).to(self.device)

    def _load(self) -> None:
        names = {"embedding.weight": "embedding", "norm.weight": "norm.weight", "logits.weight": "logits.weight"}
        for i in range(self.net.layers):
            names |= {f"layers.{i}.{part}.weight": f"layer.{i}.attention.{part}.weight" for part in ("query", "key", "value", "output")}
            names |= {f"layers.{i}.{part}.weight": f"layer.{i}.ffn.{part}.weight" for part in ("gate", "up", "down")}
            names |= {f"layers.{i}.norm.weight": f"layer.{i}.norm.weight", f"layers.{i}.ffn_norm.weight": f"layer.{i}.ffn.norm.weight"}
        for name, parameter in self.module.named_parameters():
            value = self._put(self.values.pop(names[name]))
            parameter.data.copy_(value.T if value.dim() == 2 and name != "embedding.weight" else value)

    def __call__(self, case: ranks.Case, feeds: dict):
        """A replay, and where its logits are."""
        cos, sin = (self._put(self.values[name][case.past:case.total]) for name in ("cos_table", "sin_table"))
        of = {name: torch.as_tensor(value) for name, value in feeds.items()}  # On the CPU they are numpy's.
        caches = [(of[f"past_key_values.{i}.key"], of[f"past_key_values.{i}.value"]) for i in range(self.net.layers)]
        logits = torch.empty(case.batch, case.tokens, self.net.vocab, dtype=self.dtype, device=self.device)

        @torch.no_grad()
        def step() -> None:
            logits.copy_(self.module(of["input_ids"], case, cos, sin, caches))
        return (capture(step, "thread_local") if self.device == "cuda" else step), logits

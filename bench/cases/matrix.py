"""Products of matrices, alone and with what surrounds them in a network."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from .case import Case


def gemm(f, m: int, n: int, k: int) -> None:
    """y[m, n] = x[m, k] w[n, k]^T"""
    f.output("y", f.linear(f.input("x", (m, k)), f.weight("w", (n, k))))


def linear(f, m: int, n: int, k: int, epilogue: str) -> None:
    """x w^T with what networks have behind it: "bias", "gelu" or "silu" (with a bias), "residual" (without)"""
    y = f.linear(f.input("x", (m, k)), f.weight("w", (n, k)), None if epilogue == "residual" else f.weight("b", (n,)))
    f.output("y", y + f.input("residual", (m, n)) if epilogue == "residual" else y if epilogue == "bias" else getattr(f, epilogue)(y))


def two_products(f, m: int, k: int, hidden: int, n: int) -> None:
    """gelu(x up^T) down^T"""
    y = f.gelu(f.linear(f.input("x", (m, k)), f.weight("up", (hidden, k))))
    f.output("y", f.linear(y, f.weight("down", (n, hidden))))


def ffn_swiglu(f, tokens: int, width: int, hidden: int) -> None:
    """(silu(x gate^T) * (x up^T)) down^T"""
    x = f.input("x", (tokens, width))
    gate, up = f.linear(x, f.weight("gate", (hidden, width))), f.linear(x, f.weight("up", (hidden, width)))
    f.output("y", f.linear(f.silu(gate) * up, f.weight("down", (width, hidden))))


def _gemm(m: int, n: int, k: int) -> Case:
    return Case(f"gemm_{m}x{n}x{k}", gemm, dict(m=m, n=n, k=k), dict(m=min(m, 80), n=96, k=min(k // 64, 136)))


def _ffn(model: str, tokens: int, width: int, hidden: int) -> Case:
    return Case(f"ffn_swiglu_{model}_T{tokens}", ffn_swiglu, dict(tokens=tokens, width=width, hidden=hidden),
                dict(tokens=min(tokens, 48), width=64, hidden=192))


CASES = [
    *(_gemm(*sizes) for sizes in ((4096, 4096, 4096), (8192, 8192, 8192), (2048, 28672, 4096), (1, 28672, 4096), (16, 28672, 4096),
                                  (512, 4096, 14336))),
    Case("bert_ffn_up_gelu_4096x3072x768", linear, dict(m=4096, n=3072, k=768, epilogue="gelu"),
         dict(m=64, n=192, k=96, epilogue="gelu")),
    *(_ffn("llama8b", tokens, 4096, 14336) for tokens in (1, 16, 512, 4096)),
    _ffn("llama70b", 2048, 8192, 28672),
]

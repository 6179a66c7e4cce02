"""Whole layers of transformers and of a diffusion network."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from .case import Case

LLAMA_8B = dict(width=4096, heads=32, groups=8, hidden=14336)
LLAMA_SMALL = dict(width=128, heads=4, groups=2, hidden=192)


def _rope(f, x, cos, sin):
    """Rotates the features of x[B, H, T, D] by the angles of cos and sin [T, D]: x cos + rotate_half(x) sin"""
    half = x.shape[-1] // 2
    low, high = f.split(x, [half, half], -1)
    return x * cos + f.cat([-high, low], -1) * sin


def _heads(f, x, count: int):
    """[B, T, H D] as [B, H, T, D]"""
    return f.swap(f.reshape(x, [x.shape[0], x.shape[1], count, x.shape[2] // count]), 1, 2)


def _tokens(f, x):
    """The way back"""
    return f.reshape(f.swap(x, 1, 2), [x.shape[0], x.shape[2], x.shape[1] * x.shape[3]])


def _matrix(f, name: str, n: int, k: int, columns: bool = False):
    """[n, k]; with `columns` in memory as exporters leave it, [k, n]"""
    return f.swap(f.weight(name, (k, n)), 0, 1) if columns else f.weight(name, (n, k))


def _llama_qkv(f, x, width: int, heads: int, groups: int, cos, sin, columns: bool = False):
    d = width // heads
    y = f.rms_norm(x, f.weight("norm1", (width,), mean=1.0), 1e-5)
    q, k, v = (_heads(f, f.linear(y, _matrix(f, name, n * d, width, columns)), n) for name, n in (("wq", heads), ("wk", groups), ("wv", groups)))
    return _rope(f, q, cos, sin), _rope(f, k, cos, sin), v


def rms_qkv_rope(f, tokens: int, width: int, heads: int, groups: int, hidden: int) -> None:
    """The start of a Llama layer: norm, three products, rotation"""
    del hidden
    cos, sin = (f.input(kind, (tokens, width // heads), kind=kind) for kind in ("cos", "sin"))
    q, k, v = _llama_qkv(f, f.input("x", (1, tokens, width)), width, heads, groups, cos, sin)
    for name, value in (("q", q), ("k", k), ("v", v)):
        f.output(name, value)


def llama_layer(f, batch: int, tokens: int, past: int, width: int, heads: int, groups: int, hidden: int, cache: bool = False) -> None:
    """One layer. With a past, its keys and values are inputs; the new ones are outputs, for the caller's cache, or with `cache` all of them; weights then are
    [in, out], as torch.onnx writes them"""
    cos, sin = (f.input(kind, (tokens, width // heads), kind=kind) for kind in ("cos", "sin"))
    x = f.input("x", (batch, tokens, width))
    q, k, v = _llama_qkv(f, x, width, heads, groups, cos, sin, cache)
    new = (k, v)
    if past:
        k, v = (f.cat([f.input(f"past_{name}", (batch, groups, past, width // heads)), row], 2) for name, row in (("k", k), ("v", v)))
    for name, value in zip("kv", (k, v) if cache else new):
        f.output(name, value)
    y = _tokens(f, f.attention(q, k, v, causal=not past))
    x = x + f.linear(y, _matrix(f, "wo", width, width, cache))
    y = f.rms_norm(x, f.weight("norm2", (width,), mean=1.0), 1e-5)
    gate, up = (f.linear(y, _matrix(f, name, hidden, width, cache)) for name in ("gate", "up"))
    f.output("y", x + f.linear(f.silu(gate) * up, _matrix(f, "down", width, hidden, cache)))


def _linear(f, x, name: str, n: int):
    return f.linear(x, f.weight(f"{name}.weight", (n, x.shape[-1])), f.weight(f"{name}.bias", (n,)))


def _layer_norm(f, x, name: str):
    width = x.shape[-1]
    return f.layer_norm(x, f.weight(f"{name}.weight", (width,), mean=1.0), f.weight(f"{name}.bias", (width,)), 1e-12)


def bert_layer(f, batch: int, tokens: int, width: int, heads: int) -> None:
    """One encoder layer of BERT, norms after the residuals, without a mask"""
    x = f.input("x", (batch, tokens, width))
    q, k, v = (_heads(f, _linear(f, x, name, width), heads) for name in ("query", "key", "value"))
    y = _linear(f, _tokens(f, f.attention(q, k, v)), "output", width)
    x = _layer_norm(f, y + x, "norm1")
    y = _linear(f, f.gelu(_linear(f, x, "up", 4 * width)), "down", width)
    f.output("y", _layer_norm(f, y + x, "norm2"))


def _modulated(f, x, shift, scale):
    return f.layer_norm(x, None, None, 1e-6) * (scale + 1) + shift


def _stream_start(f, x, cond, name: str, heads: int):
    """Modulation, qkv and QK norms of one stream: (q, k, v, what its end needs)"""
    width = x.shape[-1]
    mod = f.reshape(_linear(f, f.silu(cond), f"{name}_mod", 6 * width), [cond.shape[0], 1, 6 * width])
    shift1, scale1, gate1, shift2, scale2, gate2 = f.split(mod, [width] * 6, -1)
    qkv = _linear(f, _modulated(f, x, shift1, scale1), f"{name}_qkv", 3 * width)
    q, k, v = (_heads(f, part, heads) for part in f.split(qkv, [width] * 3, -1))
    q, k = (f.rms_norm(part, f.weight(f"{name}_norm_{which}", (width // heads,), mean=1.0), 1e-6) for which, part in (("q", q), ("k", k)))
    return q, k, v, (gate1, shift2, scale2, gate2)


def _stream_end(f, x, y, rest, name: str):
    gate1, shift2, scale2, gate2 = rest
    width = x.shape[-1]
    x = x + gate1 * _linear(f, y, f"{name}_out", width)
    y = f.gelu(_linear(f, _modulated(f, x, shift2, scale2), f"{name}_up", 4 * width), approximate="tanh")
    return x + gate2 * _linear(f, y, f"{name}_down", width)


def qwen_image_block(f, image: int, text: int, width: int, heads: int) -> None:
    """A double-stream diffusion transformer block: two streams of tokens that attend to each other"""
    img, txt, cond = f.input("img", (1, image, width)), f.input("txt", (1, text, width)), f.input("cond", (1, width))
    cos, sin = (f.input(kind, (text + image, width // heads), kind=kind) for kind in ("cos", "sin"))
    starts = [_stream_start(f, x, cond, name, heads) for x, name in ((txt, "txt"), (img, "img"))]
    q, k, v = (f.cat([start[i] for start in starts], 2) for i in range(3))
    y = _tokens(f, f.attention(_rope(f, q, cos, sin), _rope(f, k, cos, sin), v))
    y_txt, y_img = f.split(y, [text, image], 1)
    f.output("img_out", _stream_end(f, img, y_img, starts[1][3], "img"))
    f.output("txt_out", _stream_end(f, txt, y_txt, starts[0][3], "txt"))


def unet_resblock(f, batch: int, channels: int, size: int, embedding: int, groups: int = 32) -> None:
    """GroupNorm, SiLU, convolution, twice, with the time embedding between and a residual"""
    x, temb = f.input("x", (batch, channels, size, size)), f.input("temb", (batch, embedding))

    def half(y, name: str):
        w, bias = f.weight(f"{name}.norm.weight", (channels,), mean=1.0), f.weight(f"{name}.norm.bias", (channels,))
        y = f.silu(f.group_norm(y, groups, w, bias, 1e-5))
        return f.conv(y, f.weight(f"{name}.weight", (channels, channels, 3, 3)), f.weight(f"{name}.bias", (channels,)), padding=1)

    y = half(x, "conv1") + f.reshape(_linear(f, f.silu(temb), "time", channels), [batch, channels, 1, 1])
    f.output("y", x + half(y, "conv2"))


def _decode(batch: int) -> Case:
    return Case(f"llama8b_layer_decode_B{batch}_ctx2047", llama_layer, dict(batch=batch, tokens=1, past=2047, **LLAMA_8B),
                dict(batch=min(batch, 3), tokens=1, past=31, **LLAMA_SMALL), opset=23)


def _bert(batch: int, tokens: int) -> Case:
    return Case(f"bert_base_layer_B{batch}_T{tokens}", bert_layer, dict(batch=batch, tokens=tokens, width=768, heads=12),
                dict(batch=min(batch, 2), tokens=tokens // 16, width=96, heads=3))


CASES = [
    Case("rms_qkv_rope_llama8b_T2048", rms_qkv_rope, dict(tokens=2048, **LLAMA_8B), dict(tokens=32, **LLAMA_SMALL), opset=23),
    Case("llama8b_layer_prefill_T512", llama_layer, dict(batch=1, tokens=512, past=0, **LLAMA_8B),
         dict(batch=1, tokens=24, past=0, **LLAMA_SMALL), opset=23),
    Case("llama8b_layer_prefill_T2048", llama_layer, dict(batch=1, tokens=2048, past=0, **LLAMA_8B),
         dict(batch=1, tokens=40, past=0, **LLAMA_SMALL), opset=23),
    _decode(1), _decode(16),
    Case("llama8b_layer_decode_B1_ctx511_cache", llama_layer, dict(batch=1, tokens=1, past=511, cache=True, **LLAMA_8B),
         dict(batch=1, tokens=1, past=31, cache=True, **LLAMA_SMALL), opset=23, weights="initializers"),
    _bert(8, 512), _bert(1, 128),
    Case("qwen_image_block_I4096_T256", qwen_image_block, dict(image=4096, text=256, width=3072, heads=24),
         dict(image=48, text=16, width=128, heads=4)),
    Case("sd_unet_resblock_2x320x64x64", unet_resblock, dict(batch=2, channels=320, size=64, embedding=1280),
         dict(batch=2, channels=32, size=10, embedding=48, groups=8), opset=22, weights="initializers"),
]

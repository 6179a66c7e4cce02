"""Views, padding, concatenation, windows, gather, scatter, structure and composites against numpy."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import math
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

from oracle import check, evaluate, finish, tensor_type

np.seterr(all="ignore")
rng = np.random.default_rng(11)


def one(body, kind, inputs, **kwargs):
    return evaluate(body, [("%r", kind)], inputs, **kwargs)[0]


def views():
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    t = tensor_type(x)
    check("transpose", one(f"%r = tg.transpose %0 [2, 0, 1] : {t}", "tensor<5x3x4xf32>", [x]), x.transpose(2, 0, 1))
    check("reshape", one(f"%r = tg.reshape %0 : {t} to tensor<6x10xf32>", "tensor<6x10xf32>", [x]), x.reshape(6, 10))
    check("bitcast", one(f"%r = tg.bitcast %0 : {t} to tensor<3x4x5xi32>", "tensor<3x4x5xi32>", [x]), x.view(np.int32))
    check("slice", one(f"%r = tg.slice %0 offsets = [0, 3, 1] strides = [2, -1, 3] : {t} to tensor<2x4x2xf32>",
                       "tensor<2x4x2xf32>", [x]), x[::2, ::-1, 1::3])
    y = rng.standard_normal((3, 1)).astype(np.float32)
    check("broadcast", one("%r = tg.broadcast %0 : tensor<3x1xf32> to tensor<2x3x4xf32>", "tensor<2x3x4xf32>", [y]),
          np.broadcast_to(y, (2, 3, 4)))
    v = np.float32(7)
    got = one("%r = tg.pad %0, %1 low = [1, 0] high = [0, 2] interior = [2, 0] : tensor<3x4xf32>, tensor<f32>",
              "tensor<8x6xf32>", [x[:, :, 0], v])
    want = np.full((8, 6), 7, np.float32)
    want[1::3, :4] = x[:, :, 0]
    check("pad", got, want)
    packed = np.arange(-8, 7).astype(ml_dtypes.int4)
    check("i4 slice", one("%r = tg.slice %0 offsets = [14] strides = [-2] : tensor<15xi4> to tensor<8xi4>", "tensor<8xi4>", [packed]),
          packed[::-2])
    check("concat", one(f"%r = tg.concat %0, %1, %0 axis = 1 : {t}, tensor<3x1x5xf32>, {t}", "tensor<3x9x5xf32>",
                        [x, x[:, :1]]), np.concatenate([x, x[:, :1], x], 1))
    w = np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(1, 2))
    got = one(f"%r = tg.window %0 dims = [1, 2] sizes = [2, 2] strides = [2, 1] dilations = [1, 2] : {t}",
              "tensor<3x2x3x2x2xf32>", [x])
    check("window", got, w[:, ::2, :, :, ::2])


def indexed():
    data = rng.standard_normal((6, 3)).astype(np.float32)
    index = np.array([5, 0, -1, -6, 9, -9], dtype=np.int64)
    maps = "data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]"
    got = one(f"%r = tg.gather %0, %1 {maps} : tensor<6x3xf32>, tensor<6xi64> -> tensor<6x3xf32>", "tensor<6x3xf32>", [data, index])
    check("gather clamps", got, data[[5, 0, 5, 0, 5, 0]])
    pairs = np.array([[1, 2], [-1, 0]], dtype=np.int32)
    nd = "data_map = affine_map<(i)[s, t] -> (s, t)> index_maps = [affine_map<(i) -> (i, 0)>, affine_map<(i) -> (i, 1)>]"
    got = one(f"%r = tg.gather %0, %1 {nd} : tensor<6x3xf32>, tensor<2x2xi32> -> tensor<2xf32>", "tensor<2xf32>", [data, pairs])
    check("gather_nd", got, data[[1, 5], [2, 0]])
    updates = np.ones((6, 3), np.float32)
    index = np.array([5, 0, -1, 0, 9, -9], dtype=np.int64)
    for kind, f in [(None, None), ("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)]:
        attr = "{kind = #tg<monoid %s>}" % kind if kind else ""
        got = one(f"%r = tg.scatter %0, %1, %2 {maps} {attr} : tensor<6x3xf32>, tensor<6xi64>, tensor<6x3xf32>", "tensor<6x3xf32>",
                  [data, index, updates])
        want = data.copy()
        for i in (5, 0, 5, 0):
            want[i] = f(want[i], updates[i]) if f else updates[i]
        check(f"scatter {kind}", got, want)


def structure():
    check("iota", one("%r = tg.iota 1 : tensor<2x3xf16>", "tensor<2x3xf16>", []), np.array([[0, 1, 2]] * 2, np.float16))
    check("constant", one("%r = tg.constant dense<[true, false]> : tensor<2xi1>", "tensor<2xi1>", []), np.array([True, False]))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "w.bin").write_bytes(bytes(range(16)))
        body = """%w = tg.weight <"w.bin", 2, 4> : tensor<2xi16>
                  %p = tg.weight <"w.bin", 1, 2> : tensor<4xi4>
                  %c = tg.cast %p : tensor<4xi4> to tensor<4xi16>
                  %r = tg.concat %w, %c axis = 0 : tensor<2xi16>, tensor<4xi16>"""
        want = np.array([0x302, 0x504, 1, 0, 2, 0], np.int16)
        for options in (["--weights-dir", folder], ["--weights", f"w.bin={folder}/w.bin"]):
            check("weights", one(body, "tensor<6xi16>", [], options=options), want)
        stored = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
        stored.tofile(f"{folder}/order.bin")
        body = '%r = tg.weight <"order.bin", 0, 48> order [2, 0, 1] : tensor<4x2x3xi16>'
        check("weight with an order", one(body, "tensor<4x2x3xi16>", [], options=["--weights-dir", folder]), stored.transpose(2, 0, 1))
    check("constant splat", one("%r = tg.constant dense<-3> : tensor<2x2xi4>", "tensor<2x2xi4>", []),
          np.full((2, 2), -3).astype(ml_dtypes.int4))
    symbols = 'module attributes {tg.symbols = ["b", "s"]}'
    x = rng.standard_normal((2, 3)).astype(np.float32)
    dims = "tensor<?x?xf32, #tg.dims<()[s0, s1] -> (s0, s1)>>"
    got = one("""%r = tg.extents affine_map<()[s0, s1] -> (s0, s1 * 2, s1 floordiv 2)>
                 tg.assume_equal affine_map<()[s0, s1] -> (s0 + 1, s1)>, "b + 1 is s" """,
              "tensor<3xi64>", [x], prologue=symbols, argument_types=[dims])
    check("extents", got, np.array([2, 6, 1]))
    got = one(f"""%k = tg.kernel -> {dims} {{
                   %1 = tg.exp %0 : {dims}
                   %2 = tg.neg %1 : {dims}
                   tg.yield %2 : {dims}
                 }}
                 %r = tg.add %k, %0 : {dims}, {dims}""", dims, [x], prologue=symbols, argument_types=[dims])
    check("kernel", got, x - np.exp(x), rtol=1e-6)
    kernels = """module @k { func.func @kernel(%x: tensor<?x3xf32, #tg.dims<()[s0] -> (s0, 3)>>, %n: index)
                   -> tensor<?x3xf32, #tg.dims<()[s0] -> (s0, 3)>> {
                   %0 = tg.neg %x : tensor<?x3xf32, #tg.dims<()[s0] -> (s0, 3)>>
                   return %0 : tensor<?x3xf32, #tg.dims<()[s0] -> (s0, 3)>> } }\n"""
    kind = "tensor<?x3xf32, #tg.dims<()[s0, s1] -> (s1, 3)>>"
    got = one(f"%r = tg.dispatch @k::@kernel(%0) symbols = affine_map<()[s0, s1] -> (s1)> : ({kind}) -> {kind}", kind, [x],
              prologue=symbols, argument_types=[kind], inner=kernels, options=["--symbol", "b=9"])
    check("dispatch", got, -x)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def composites():
    x = rng.standard_normal((2, 6, 5)).astype(np.float32)
    t, wide = tensor_type(x), x.astype(np.float64)
    erf = np.vectorize(math.erf)
    close = {"rtol": 1e-6, "atol": 1e-7}
    check("gelu", one(f"%r = tg.gelu %0 : {t}", t, [x]), (wide / 2 * (1 + erf(wide / math.sqrt(2)))).astype(np.float32), **close)
    bell = np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
    check("gelu tanh", one(f"%r = tg.gelu %0 {{tanh}} : {t}", t, [x]), (wide / 2 * (1 + bell)).astype(np.float32), **close)
    check("softmax", one(f"%r = tg.softmax %0 axis = 1 : {t}", t, [x]), softmax(wide, 1).astype(np.float32), **close)
    check("log_softmax", one(f"%r = tg.softmax %0 axis = 1 {{log}} : {t}", t, [x]), np.log(softmax(wide, 1)).astype(np.float32), **close)
    scale, bias = (rng.standard_normal((6, 5)).astype(np.float32) for _ in range(2))
    got = evaluate(f"%r, %m, %v = tg.layer_norm %0, %1, %2 axis = 1 epsilon = 1.0e-3 stash = f32 : {t}, tensor<6x5xf32>, tensor<6x5xf32>",
                   [("%r", t), ("%m", "tensor<2x1x1xf32>"), ("%v", "tensor<2x1x1xf32>")], [x, scale, bias])
    mean, inv = wide.mean((1, 2), keepdims=True), 1 / np.sqrt(wide.var((1, 2), keepdims=True) + 1e-3)
    for what, value, want in zip(["layer_norm", "mean", "inv_std"], got, [(wide - mean) * inv * scale + bias, mean, inv]):
        check(what, value, want.astype(np.float32), rtol=1e-5, atol=1e-6)
    check("rms_norm", one(f"%r = tg.rms_norm %0, %1 axis = 2 epsilon = 1.0e-3 stash = f32 : {t}, tensor<1x5xf32>", t, [x, scale[:1]]),
          (wide / np.sqrt((wide**2).mean(2, keepdims=True) + 1e-3) * scale[:1]).astype(np.float32), rtol=1e-5, atol=1e-6)
    c, b = scale[:, 0].copy(), bias[:, 0].copy()
    for groups in (1, 2, 6):
        grouped = wide.reshape(2, groups, -1)
        normal = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-3)
        got = one(f"%r = tg.group_norm %0, %1, %2 groups = {groups} epsilon = 1.0e-3 stash = f32 : {t}, tensor<6xf32>, tensor<6xf32>",
                  t, [x, c, b])
        check(f"group_norm {groups}", got, (normal.reshape(x.shape) * c[:, None] + b[:, None]).astype(np.float32), rtol=1e-5, atol=1e-6)


def attention():
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in [(2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 7)])
    keep = rng.random((3, 6)) > 0.4
    keep[1] = False
    kinds = [tensor_type(a) for a in (q, k, v)]
    k4, v4 = (np.repeat(a.astype(np.float64), 2, 1) for a in (k, v))
    s = 0.5 * np.einsum("bhsd,bhtd->bhst", q.astype(np.float64), k4)
    stages = [s, 3 * np.tanh(s / 3)]
    causal = np.arange(6) <= np.arange(3)[:, None] + 2
    stages.append(np.where(keep & causal, stages[1], -np.inf))
    p = softmax(stages[2], -1)
    stages.append(np.where(np.isnan(p), 0.0, p))
    for stage, want in enumerate(stages):
        body = f"""%r, %s = tg.attention %0, %1, %2 mask %3 scale = 0.5 softmax = f32
            {{softcap = 3.0, causal_offset = 2 : i64, zero_masked_rows, scores_stage = {stage} : i64}} : {', '.join(kinds)}, tensor<3x6xi1>"""
        r, scores = evaluate(body, [("%r", "tensor<2x4x3x7xf32>"), ("%s", "tensor<2x4x3x6xf32>")], [q, k, v, keep])
        check(f"attention scores {stage}", scores, want.astype(np.float32), rtol=1e-5, atol=1e-6)
        check("attention", r, np.einsum("bhst,bhte->bhse", stages[3], v4).astype(np.float32), rtol=1e-5, atol=1e-6)
    bias = rng.standard_normal((4, 1, 6)).astype(np.float32)
    r, _ = evaluate(f"%r, %s = tg.attention %0, %1, %2 mask %3 scale = 0.5 softmax = f32 : {', '.join(kinds)}, tensor<4x1x6xf32>",
                    [("%r", "tensor<2x4x3x7xf32>"), ("%s", "tensor<2x4x3x6xf32>")], [q, k, v, bias])
    check("attention bias", r, np.einsum("bhst,bhte->bhse", softmax(s + bias, -1), v4).astype(np.float32), rtol=1e-5, atol=1e-6)


views()
indexed()
structure()
composites()
attention()
finish("data")

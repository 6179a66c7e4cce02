"""reduce, arg_reduce, scan, top_k and contract against numpy."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ml_dtypes
import numpy as np

from oracle import MLIR_NAMES, check, evaluate, finish, tensor_type

np.seterr(all="ignore")
rng = np.random.default_rng(7)
REDUCERS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def array(shape, name):
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def of(shape, name):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{MLIR_NAMES[name]}>"


def reduce_cases():
    tolerance = {"float64": 1e-14, "float32": 2e-7, "float16": 1e-3, "bfloat16": 1e-2}
    for name in ["float64", "float32", "float16", "bfloat16", "int8", "int64", "uint8", "uint32"]:
        x = array((3, 4, 5), name)
        body, results, wants = [], [], []
        for op, f in REDUCERS.items():
            for axes, keep in [((1,), False), ((0, 2), True), ((0, 1, 2), False), ((), False)]:
                wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x
                kwargs = {} if x.dtype.kind not in "iu" else {"dtype": x.dtype}
                want = f.reduce(wide, axis=axes, keepdims=keep, **({} if op in ("max", "min") else kwargs)).astype(x.dtype)
                r = f"%r{len(results)}"
                body.append(f"{r} = tg.reduce {op} %0 axes = [{', '.join(map(str, axes))}] {'keep_dims' if keep else ''} : {tensor_type(x)}")
                results.append((r, of(want.shape, name)))
                wants.append(want)
        for text, got, want in zip(body, evaluate("\n".join(body), results, [x]), wants):
            check(text, got, want, rtol=tolerance.get(name, 0), atol=tolerance.get(name, 0))
    flags = array((6, 7), "int8") > 0
    body = """%a = tg.reduce and %0 axes = [1] : tensor<6x7xi1>
              %o = tg.reduce or %0 axes = [0] : tensor<6x7xi1>
              %m = tg.reduce max %0 axes = [0] : tensor<6x7xi1>"""
    got = evaluate(body, [("%a", "tensor<6xi1>"), ("%o", "tensor<7xi1>"), ("%m", "tensor<7xi1>")], [flags])
    check("and", got[0], flags.all(1))
    check("or", got[1], flags.any(0))
    check("max bool", got[2], flags.any(0))
    # Identities, and NaN through max.
    x = np.array([[1, np.nan], [2, 3]], dtype=np.float32)
    got = evaluate("%r = tg.reduce max %0 axes = [1] : tensor<2x2xf32>", [("%r", "tensor<2xf32>")], [x])
    check("max NaN", got[0], np.array([np.nan, 3], np.float32))
    empty = np.zeros((2, 0), np.float32)
    names = ["add", "mul", "max", "min"]
    body = "\n".join(f"%r{i} = tg.reduce {op} %0 axes = [1] : tensor<2x0xf32>" for i, op in enumerate(names))
    for op, got, want in zip(names, evaluate(body, [(f"%r{i}", "tensor<2xf32>") for i in range(4)], [empty]),
                             [0, 1, -np.inf, np.inf]):
        check(f"identity {op}", got, np.full(2, want, np.float32))


def order_cases():
    x = np.array([[3, 1, 3, 2, 1], [5, 5, 0, 0, 2], [np.nan, 9, np.nan, -1, 7]], dtype=np.float32)
    for kind, last, want in [("max", "", [0, 0, 0]), ("max", "{select_last}", [2, 1, 2]), ("min", "", [1, 2, 0]),
                             ("min", "{select_last}", [4, 3, 2])]:
        got = evaluate(f"%r = tg.arg_reduce {kind} %0 axis = 1 {last} : tensor<3x5xf32>", [("%r", "tensor<3xi64>")], [x])
        check(f"arg_{kind} {last}", got[0], np.array(want))
    y = rng.permutation(60).reshape(3, 4, 5).astype(np.uint8)
    got = evaluate("%r = tg.arg_reduce max %0 axis = 1 keep_dims : tensor<3x4x5xui8>", [("%r", "tensor<3x1x5xi64>")], [y])
    check("arg_max keep", got[0], np.argmax(y, 1)[:, None])
    for largest in (True, False):
        flag = "{largest}" if largest else ""
        got = evaluate(f"%v, %i = tg.top_k %0 axis = 1 k = 3 {flag} : tensor<3x5xf32>",
                       [("%v", "tensor<3x3xf32>"), ("%i", "tensor<3x3xi64>")], [x])
        key = np.where(np.isnan(x), np.inf, x)
        index = np.argsort(-key if largest else key, axis=1, kind="stable")[:, :3]
        check("top_k indices", got[1], index)
        check("top_k values", got[0], np.take_along_axis(x, index, 1))
    signed = array((2, 9, 3), "int8")
    got = evaluate("%v, %i = tg.top_k %0 axis = 1 k = 9 : tensor<2x9x3xi8>",
                   [("%v", "tensor<2x9x3xi8>"), ("%i", "tensor<2x9x3xi64>")], [signed])
    check("sort", got[0], np.sort(signed, 1))
    check("argsort", got[1], np.argsort(signed, 1, kind="stable"))


def scan_cases():
    x = array((3, 4, 2), "float32")
    wide = x.astype(np.float64)
    for flags, want in [("", np.cumsum(wide, 1)), ("{reverse}", np.cumsum(wide[:, ::-1], 1)[:, ::-1]),
                        ("{exclusive}", np.cumsum(wide, 1) - wide), ("{exclusive, reverse}", np.cumsum(wide[:, ::-1], 1)[:, ::-1] - wide)]:
        got = evaluate(f"%r = tg.scan add %0 axis = 1 {flags} : tensor<3x4x2xf32>", [("%r", tensor_type(x))], [x])
        check(f"scan {flags}", got[0], want.astype(np.float32), rtol=1e-6, atol=1e-6)
    n = array((5,), "int8")
    got = evaluate("%r = tg.scan mul %0 axis = 0 : tensor<5xi8>\n%m = tg.scan max %0 axis = 0 {exclusive} : tensor<5xi8>",
                   [("%r", "tensor<5xi8>"), ("%m", "tensor<5xi8>")], [n])
    check("scan mul i8", got[0], np.cumprod(n, dtype=np.int8))
    check("scan max i8", got[1], np.concatenate([[-128], np.maximum.accumulate(n)[:-1]]).astype(np.int8))


def contract(maps, types, operands, result, name):
    kind = of(result, name)
    maps = ", ".join(f"affine_map<{m}>" for m in maps)
    return evaluate(f"%r = tg.contract %0, %1 [{maps}] : {', '.join(types)} -> {kind}", [("%r", kind)], operands)[0]


def contract_cases():
    mk, kn, mn = "(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"
    for name, tolerance in [("float64", 1e-14), ("float32", 1e-6), ("float16", 2e-3), ("bfloat16", 2e-2)]:
        a, b = array((4, 6), name), array((6, 3), name)
        got = contract([mk, kn, mn], [tensor_type(a), tensor_type(b)], [a, b], (4, 3), name)
        check(f"matmul {name}", got, (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype), tolerance, tolerance)
    a, b = array((4, 6), "uint8"), array((6, 3), "int8")
    got = contract([mk, kn, mn], [tensor_type(a), tensor_type(b)], [a, b], (4, 3), "int32")
    check("u8 x i8", got, a.astype(np.int32) @ b.astype(np.int32))
    a, b = array((4, 6), "int32"), array((6, 3), "int32")
    got = contract([mk, kn, mn], [tensor_type(a), tensor_type(b)], [a, b], (4, 3), "int32")
    check("i32 wraps", got, a @ b)
    q, k = array((2, 3, 4, 5), "float32"), array((2, 3, 6, 5), "float32")
    got = contract(["(b, h, s, t, d) -> (b, h, s, d)", "(b, h, s, t, d) -> (b, h, t, d)", "(b, h, s, t, d) -> (b, t, s, h)"],
                   [tensor_type(q), tensor_type(k)], [q, k], (2, 6, 4, 3), "float32")
    check("einsum", got, np.einsum("bhsd,bhtd->btsh", q, k), 1e-5, 1e-5)
    # A convolution of stride 2 and dilation 2, and one that reads through a floor division (an upsampled image).
    x, w = array((2, 3, 11, 9), "float32"), array((4, 3, 3, 2), "float32")
    got = contract(["(n, o, p, q, c, r, s) -> (n, c, p * 2 + r * 2, q + s)", "(n, o, p, q, c, r, s) -> (o, c, r, s)",
                    "(n, o, p, q, c, r, s) -> (n, o, p, q)"], [tensor_type(x), tensor_type(w)], [x, w], (2, 4, 4, 8), "float32")
    want = sum(np.einsum("ncpq,oc->nopq", x[:, :, 2 * r:2 * r + 7:2, s:s + 8], w[:, :, r, s]) for r in range(3) for s in range(2))
    check("convolution", got, want, 1e-5, 1e-5)
    x, w = array((5, 3), "float32"), array((3, 2), "float32")
    got = contract(["(m, n, k) -> (m floordiv 2, k)", kn, mn], [tensor_type(x), tensor_type(w)], [x, w], (10, 2), "float32")
    check("floordiv", got, np.repeat(x, 2, 0) @ w, 1e-5, 1e-5)
    a, b = array((4, 0), "float32"), array((0, 3), "float32")
    got = contract([mk, kn, mn], [tensor_type(a), tensor_type(b)], [a, b], (4, 3), "float32")
    check("empty reduction", got, np.zeros((4, 3), np.float32))


reduce_cases()
order_cases()
scan_cases()
contract_cases()
finish("reductions")

"""Prints tg functions of one family, over element types, shapes and symbols, for weft-lower-check.

Usage: cases.py FAMILY, one of the functions below without `cases_`.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import itertools
import sys

FLOATS = ["f32", "f16", "bf16", "f64"]
SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["ui8", "ui16", "ui32", "ui64"]
INTS = SIGNED + UNSIGNED
STORAGE = ["f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "f4E2M1FN", "i4", "ui4", "i2", "ui2"]


def tensor(dims, element):
    """Type of a tensor; an extent is a number or an expression over s0, s1, ..."""
    dims = list(dims)
    if all(isinstance(d, int) for d in dims):
        return "tensor<" + "".join(f"{d}x" for d in dims) + element + ">"
    count = 1 + max(int(c) for d in dims for c in symbols_of(d))
    names = ", ".join(f"s{i}" for i in range(count))
    exprs = ", ".join(str(d) for d in dims)
    shape = "".join(f"{d}x" if isinstance(d, int) else "?x" for d in dims)
    return f"tensor<{shape}{element}, #tg.dims<()[{names}] -> ({exprs})>>"


def symbols_of(dim):
    return [] if isinstance(dim, int) else [w[1:] for w in dim.replace("(", " ").replace(")", " ").split() if w[:1] == "s"]


class Function:
    """One function: arguments, body lines, results."""

    count = 0

    def __init__(self, label, symbols=(), runs=None, **attributes):
        Function.count += 1
        self.name = f"{label}_{Function.count}"
        self.symbols, self.runs, self.attributes = symbols, runs, attributes
        self.arguments, self.lines = [], []

    def arg(self, dims, element, values=""):
        name = f"%a{len(self.arguments)}"
        attribute = f' {{check.values = "{values}"}}' if values else ""
        type = tensor(dims, element)
        self.arguments.append(f"{name}: {type}{attribute}")
        return name, type

    def line(self, text):
        self.lines.append(text)

    def done(self, *results):
        arguments = self.arguments + [f"%{s}: index" for s in self.symbols]
        attributes = [f"tg.num_symbols = {len(self.symbols)} : i64"]
        if self.runs:
            runs = ", ".join("array<i64: " + ", ".join(map(str, r)) + ">" for r in self.runs)
            attributes.append(f"check.symbols = [{runs}]")
        attributes += [f"check.{k} = {float(v)!r} : f64" for k, v in self.attributes.items()]
        print(f"func.func @{self.name}({', '.join(arguments)}) -> ({', '.join(t for _, t in results)})")
        print(f"    attributes {{{', '.join(attributes)}}} {{")
        for line in self.lines:
            print(f"  {line}")
        print(f"  return {', '.join(v for v, _ in results)} : {', '.join(t for _, t in results)}\n}}")


UNARY = """reciprocal ceil floor round trunc exp expm1 log log1p sqrt rsqrt erf sigmoid sin cos tan asin acos atan sinh cosh
tanh asinh acosh atanh""".split()
BINARY = "add sub mul div mod fmod max min pow".split()


def cases_unary():
    for op, e in itertools.product(["neg", "abs", "sign"], FLOATS + INTS):
        unary(op, e, e)
    for op, e in itertools.product(UNARY, FLOATS):
        unary(op, e, e)
    for e in FLOATS:
        unary("is_nan", e, "i1")
        unary("is_inf", e, "i1")
        unary("is_inf", e, "i1", "{negative = false}")
    for e in ["i1"] + INTS:
        unary("not", e, e)


def unary(op, element, result, attributes=""):
    # libm's f64 functions are good to about one unit, what surrounds them to a few more.
    f = Function(op, ["s0"], [[5], [0]])
    x, t = f.arg(["s0", 7], element, "edge")
    f.line(f"%r = tg.{op} {x} {attributes} : {t}")
    f.done(("%r", tensor(["s0", 7], result)))


SHAPES = [  # operands and result
    ((["s0", 7], ["s0", 7]), ["s0", 7]),
    ((["s0", 7], [7]), ["s0", 7]),
    ((["s0", 1], [1, 7]), ["s0", 7]),
    (([], [3, 1, 2]), [3, 1, 2]),
    (([4, 1, 2], [3, 1]), [4, 3, 2]),
    (([], []), []),
]


def binary(op, element, result, shapes, attributes=""):
    (a, b), r = shapes
    f = Function(op.replace(" ", "_"), ["s0"], [[4], [0], [1]])
    x, tx = f.arg(a, element, "edge")
    y, ty = f.arg(b, element, "edge")
    f.line(f"%r = tg.{op} {x}, {y} {attributes} : {tx}, {ty}")
    f.done(("%r", tensor(r, result)))


def cases_binary():
    shapes = itertools.cycle(SHAPES)
    for op, e in itertools.product(BINARY, FLOATS + INTS):
        binary(op, e, e, next(shapes))
        binary(op, e, e, SHAPES[0])
    for op, e in itertools.product(["eq", "ne", "lt", "le", "gt", "ge"], FLOATS + INTS + ["i1"]):
        binary("cmp " + op, e, "i1", next(shapes))
    for op, e in itertools.product(["and", "or", "xor"], INTS + ["i1"]):
        binary(op, e, e, next(shapes))
    for op, e in itertools.product(["shl", "shr"], INTS):
        binary(op, e, e, SHAPES[0])
    for e in FLOATS + INTS + ["i1"] + STORAGE:
        f = Function("select", ["s0"], [[4], [0]])
        c, tc = f.arg(["s0", 1], "i1")
        x, tx = f.arg([6], e, "edge")
        y, ty = f.arg(["s0", 6], e, "edge")
        f.line(f"%r = tg.select {c}, {x}, {y} : {tc}, {tx}, {ty}")
        f.done(("%r", ty))


def cases_cast():
    everything = FLOATS + INTS + ["i1"] + STORAGE
    for a, b in itertools.product(everything, everything):
        f = Function(f"cast_{a}_{b}")
        # Powers of two; this format has no sign, no zero and no infinity.
        x, t = f.arg([3, 22], a, "1:300" if a == "f8E8M0FNU" else "edge")
        r = tensor([3, 22], b)
        f.line(f"%r = tg.cast {x} : {t} to {r}")
        f.done(("%r", r))
    for b in STORAGE[:6]:
        f = Function(f"cast_unsaturated_{b}")
        x, t = f.arg([3, 21], "f32", "edge")
        r = tensor([3, 21], b)
        f.line(f"%r = tg.cast {x} {{saturate = false}} : {t} to {r}")
        f.done(("%r", r))
    for a, b in [("f32", "i32"), ("f32", "ui32"), ("f16", "i16"), ("bf16", "ui16"), ("i64", "f64"), ("i8", "ui8"),
                 ("f8E5M2", "i8"), ("ui4", "i4")]:
        f = Function("bitcast", ["s0"], [[3], [0]])
        x, t = f.arg(["s0", 8], a, "edge")
        r = tensor(["s0", 8], b)
        f.line(f"%r = tg.bitcast {x} : {t} to {r}")
        f.done(("%r", r))


KINDS = {"add": FLOATS + INTS, "mul": FLOATS + INTS, "max": FLOATS + INTS, "min": FLOATS + INTS,
         "and": INTS + ["i1"], "or": INTS + ["i1"]}


def reduced(dims, axes, keep):
    return [(1 if keep else None) if d in axes else e for d, e in enumerate(dims) if keep or d not in axes]


def cases_reduce():
    axes = itertools.cycle([[1], [0], [0, 1], [2], [0, 1, 2], [1, 2], []])
    keep = itertools.cycle([True, False, False])
    for kind in KINDS:
        for e in KINDS[kind]:
            for _ in range(2):
                ax, k = next(axes), next(keep)
                values = "-1:1" if kind in ("mul", "add") and e in FLOATS else "edge"
                # The order of additions is free: errors scale with the terms, not with the sum.
                f = Function(f"reduce_{kind}", ["s0"], [[5], [0]], floor=40)
                x, t = f.arg(["s0", 3, 4], e, values if e not in UNSIGNED or values == "edge" else "")
                f.line(f"%r = tg.reduce {kind} {x} axes = {ax} {'keep_dims' if k else ''} : {t}")
                f.done(("%r", tensor(reduced(["s0", 3, 4], ax, k), e)))
    # Sums of 16-bit floats are kept in f32: of so many terms each is less than a unit of the sum.
    for e in ("f16", "bf16"):
        f = Function("reduce_long", ["s0"], [[2]])
        x, t = f.arg(["s0", 3000], e, "1:2")
        f.line(f"%r = tg.reduce add {x} axes = [1] : {t}")
        f.done(("%r", tensor(["s0"], e)))
    # Through views: window (pooling), transpose, broadcast.
    for kind, e in itertools.product(["max", "add"], ["f32", "f16", "i8"]):
        f = Function("pool", ["s0"], [[2], [0]], floor=40)
        x, t = f.arg(["s0", 9, 11], e)
        w = tensor(["s0", 4, 9, 3, 2], e)
        f.line(f"%w = tg.window {x} dims = [1, 2] sizes = [3, 2] strides = [2, 1] dilations = [1, 2] : {t}")
        f.line(f"%r = tg.reduce {kind} %w axes = [3, 4] : {w}")
        f.done(("%r", tensor(["s0", 4, 9], e)))
    f = Function("reduce_views", ["s0"], [[3], [0]], floor=40)
    x, t = f.arg([5, "s0"], "f32")
    f.line(f"%t = tg.transpose {x} [1, 0] : {t}")
    f.line(f"%b = tg.broadcast %t : {tensor(['s0', 5], 'f32')} to {tensor([4, 's0', 5], 'f32')}")
    f.line(f"%r = tg.reduce add %b axes = [0, 2] keep_dims : {tensor([4, 's0', 5], 'f32')}")
    f.done(("%r", tensor([1, "s0", 1], "f32")))
    for kind, e, last, k in itertools.product(["max", "min"], FLOATS + INTS, ["", "{select_last}"], ["", "keep_dims"]):
        f = Function("arg_reduce", ["s0"], [[6], [1]])
        x, t = f.arg([3, "s0", 4], e, "edge" if k else "ties")
        f.line(f"%r = tg.arg_reduce {kind} {x} axis = 1 {k} {last} : {t}")
        f.done(("%r", tensor([3, 1, 4] if k else [3, 4], "i64")))


def contract(label, operands, maps, result, elements, runs=None, views=()):
    f = Function(label, ["s0", "s1"] if runs else [], runs, floor=64)
    (a, b), (ea, eb, er) = operands, elements
    x, tx = f.arg(a, ea)
    y, ty = f.arg(b, eb)
    for line in views:
        f.line(line)
    maps = ", ".join(f"affine_map<{m}>" for m in maps)
    r = tensor(result, er)
    f.line(f"%r = tg.contract {x}, {y} [{maps}] : {tx}, {ty} -> {r}")
    f.done(("%r", r))


def cases_contract():
    matmul = ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"]
    floats = [("f32", "f32", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "bf16"), ("f64", "f64", "f64"), ("f16", "f16", "f32")]
    ints = [("i8", "i8", "i32"), ("ui8", "i8", "i32"), ("i8", "ui8", "i32"), ("i32", "i32", "i32"), ("ui8", "ui8", "ui32"),
            ("i64", "i64", "i64"), ("i16", "i16", "i16")]
    for e in floats + ints:
        contract("matmul", ([5, 6], [6, 7]), matmul, [5, 7], e)
        contract("matmul", (["s0", "s1"], ["s1", 7]), matmul, ["s0", 7], e, [[3, 4], [0, 4], [3, 0]])
        contract("batch", (["s0", 2, 3, "s1"], ["s0", 2, "s1", 5]),
                 ["(b, h, m, n, k) -> (b, h, m, k)", "(b, h, m, n, k) -> (b, h, k, n)", "(b, h, m, n, k) -> (b, m, h, n)"],
                 ["s0", 3, 2, 5], e, [[2, 4]])
        contract("conv", ([2, 3, 9, 9], [4, 3, 3, 2]),
                 ["(n, o, h, w, c, p, q) -> (n, c, h * 2 + p, w + q * 3)", "(n, o, h, w, c, p, q) -> (o, c, p, q)",
                  "(n, o, h, w, c, p, q) -> (n, o, h, w)"], [2, 4, 4, 6], e)
        contract("depthwise", (["s0", 3, 9], [3, 4]), ["(n, c, w, k) -> (n, c, w + k)", "(n, c, w, k) -> (c, k)",
                                                       "(n, c, w, k) -> (n, c, w)"], ["s0", 3, 6], e, [[2, 1], [0, 1]])
        contract("dot", ([6], [6]), ["(k) -> (k)", "(k) -> (k)", "(k) -> ()"], [], e)
        contract("outer", ([3], [4]), ["(m, n) -> (m)", "(m, n) -> (n)", "(m, n) -> (n, m)"], [4, 3], e)
    f = Function("transposed", ["s0"], [[3], [0]], floor=64)
    x, tx = f.arg(["s0", 5], "f32")
    y, ty = f.arg([4, 5], "f32")
    f.line(f"%t = tg.transpose {y} [1, 0] : {ty}")
    maps = ", ".join(f"affine_map<{m}>" for m in matmul)
    f.line(f"%r = tg.contract {x}, %t [{maps}] : {tx}, {tensor([5, 4], 'f32')} -> {tensor(['s0', 4], 'f32')}")
    f.done(("%r", tensor(["s0", 4], "f32")))


def view(op, dims, element, text, result, runs=((3, 2), (0, 2), (1, 0)), to=False):
    f = Function(op, ["s0", "s1"], runs)
    x, t = f.arg(dims, element, "edge")
    r = tensor(result, element)
    f.line(f"%r = tg.{op} {x} {text} : {t}" + (f" to {r}" if to else ""))
    f.done(("%r", r))


RESHAPES = [
    (["s0", 6], ["s0", 2, 3]), (["s0", 2, 3], ["s0", 6]), (["s0", "s1", 4], ["s0 * s1", 4]), (["s0", 4, "s1"], ["s0 * 4", "s1"]),
    (["s0 * s1", 4], ["s0", "s1", 4]), (["s0", 6, 5], ["s0", 3, 10]), (["s0", "s1"], ["s1", "s0"]), ([2, 3], [3, 2]), ([6], [1, 6, 1]),
    ([1, 1], []), ([], [1, 1, 1]), ([1, 6, 1], [6]), (["s0", 1, 4], ["s0", 4]), (["s0", 4], ["s0", 1, 2, 2]), ([4, 3, 2], [24]),
    (["s0", 0], [0]), ([0, 4], [4, 0]), (["s0", 8, "s1", 16], ["s0", "s1", 128]), (["s0"], ["s0"]), ([4, "s0"], ["s0 * 2", 2]),
]


def cases_view():
    elements = itertools.cycle(["f32", "i64", "i1", "f16", "ui8", "i4", "ui2", "f8E5M2", "f4E2M1FN", "f64", "bf16"])
    for _ in range(4):
        view("transpose", ["s0", 3, "s1", 4], next(elements), "[2, 0, 3, 1]", ["s1", "s0", 4, 3])
        view("transpose", [2, 3], next(elements), "[1, 0]", [3, 2])
        view("broadcast", [1, "s0", 1], next(elements), "", [4, 2, "s0", 3], to=True)
        view("broadcast", [], next(elements), "", ["s0", 2], to=True)
        view("slice", ["s0", 9], next(elements), "offsets = [0, 2] strides = [1, 3]", ["s0", 2], to=True)
        view("slice", ["s0 + 2", 9], next(elements), "offsets = [2, 8] strides = [1, -1]", ["s0", 9], to=True)
        view("slice", [7, 9], next(elements), "offsets = [6, 8] strides = [-2, -3]", [4, 3], to=True)
        view("window", ["s0", 8, 5], next(elements), "dims = [1] sizes = [3] strides = [2] dilations = [2]", ["s0", 2, 5, 3])
        view("window", [6, 7], next(elements), "dims = [0, 1] sizes = [2, 3] strides = [1, 2] dilations = [1, 1]", [5, 3, 2, 3])
    for (a, b), _ in itertools.product(RESHAPES, range(2)):
        view("reshape", a, next(elements), "", b, to=True)
    # Chains: views read through views, and results that are views.
    f = Function("chain", ["s0"], [[3], [0]])
    x, t = f.arg(["s0", 4, 5], "f32")
    f.line(f"%t = tg.transpose {x} [2, 0, 1] : {t}")
    f.line(f"%s = tg.slice %t offsets = [1, 0, 3] strides = [2, 1, -1] : {tensor([5, 's0', 4], 'f32')} to {tensor([2, 's0', 4], 'f32')}")
    f.line(f"%r = tg.reshape %s : {tensor([2, 's0', 4], 'f32')} to {tensor([2, 1, 's0', 2, 2], 'f32')}")
    f.line(f"%b = tg.broadcast %r : {tensor([2, 1, 's0', 2, 2], 'f32')} to {tensor([2, 3, 's0', 2, 2], 'f32')}")
    f.line(f"%e = tg.neg %b : {tensor([2, 3, 's0', 2, 2], 'f32')}")
    f.done(("%e", tensor([2, 3, "s0", 2, 2], "f32")), ("%t", tensor([5, "s0", 4], "f32")))


def cases_assembly():
    elements = itertools.cycle(["f32", "i64", "i1", "f16", "ui8", "i4", "f8E5M2", "f64"])
    for low, high, interior in [([1, 0], [1, 2], [0, 0]), ([0, 0], [0, 0], [0, 0]), ([2, 1], [0, 1], [0, 2]), ([0, 0], [0, 0], [0, 1])]:
        for _ in range(3):
            e = next(elements)
            f = Function("pad", ["s0"], [[3], [0], [1]])
            x, t = f.arg(["s0", 4], e, "edge")
            v, tv = f.arg([], e)
            d = ["s0 + %d" % (low[0] + high[0]) if low[0] + high[0] else "s0", 4 + low[1] + high[1] + 3 * interior[1]]
            f.line(f"%r = tg.pad {x}, {v} low = {low} high = {high} interior = {interior} : {t}, {tv}")
            f.done(("%r", tensor(d, e)))
    for _ in range(8):
        e = next(elements)
        f = Function("concat", ["s0", "s1"], [[3, 2], [0, 2], [2, 0]])
        x, tx = f.arg(["s0", 4], e, "edge")
        y, ty = f.arg(["s1", 4], e, "edge")
        z, tz = f.arg([0, 4], e)
        f.line(f"%r = tg.concat {x}, {y}, {z}, {x} axis = 0 : {tx}, {ty}, {tz}, {tx}")
        f.done(("%r", tensor(["s0 * 2 + s1", 4], e)))
    f = Function("concat", ["s0"], [[3], [0]])
    x, tx = f.arg(["s0", 4], "f32")
    f.line(f"%n = tg.neg {x} : {tx}")
    f.line(f"%r = tg.concat %n, {x} axis = 1 : {tx}, {tx}")
    f.done(("%r", tensor(["s0", 8], "f32")))


def cases_gather_scatter():
    for e, i in itertools.product(["f32", "i64", "i1", "f16", "ui8", "i4", "f8E5M2"], ["i32", "i64"]):
        f = Function("take", ["s0"], [[3], [0]])
        d, td = f.arg([9, 5], e, "edge")
        x, tx = f.arg(["s0"], i, "-12:12")
        f.line(f"%r = tg.gather {d}, {x} data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]"
               f" : {td}, {tx} -> {tensor(['s0', 5], e)}")
        f.done(("%r", tensor(["s0", 5], e)))
        f = Function("gather_elements", ["s0"], [[3], [1]])
        d, td = f.arg([4, "s0"], e, "edge")
        x, tx = f.arg([4, 6], i, "-5:5")
        f.line(f"%r = tg.gather {d}, {x} data_map = affine_map<(i, j)[s] -> (i, s)> index_maps = [affine_map<(i, j) -> (i, j)>]"
               f" : {td}, {tx} -> {tensor([4, 6], e)}")
        f.done(("%r", tensor([4, 6], e)))
        f = Function("gather_nd")
        d, td = f.arg([4, 5, 7], e, "edge")
        x, tx = f.arg([6, 2], i, "-6:6")
        f.line(f"%r = tg.gather {d}, {x} data_map = affine_map<(i, j)[s, t] -> (s, t, j * 2 + 1)>"
               f" index_maps = [affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, 1)>] : {td}, {tx} -> {tensor([6, 3], e)}")
        f.done(("%r", tensor([6, 3], e)))
        for kind in [None] + ([k for k in KINDS if e in KINDS[k]]):
            kinds = f"{{kind = #tg<monoid {kind}>}}" if kind else ""
            values = "-2:2" if e in FLOATS else ""
            f = Function("scatter", ["s0"], [[6], [0]], floor=64)
            d, td = f.arg([4, 5], e, values)
            x, tx = f.arg(["s0"], i, "-6:6")
            u, tu = f.arg(["s0", 5], e, values)
            f.line(f"%r = tg.scatter {d}, {x}, {u} data_map = affine_map<(i, j)[s] -> (s, j)>"
                   f" index_maps = [affine_map<(i, j) -> (i)>] {kinds} : {td}, {tx}, {tu}")
            f.done(("%r", td))


def cases_order():
    for kind, e in itertools.product(["add", "mul", "max", "min"], FLOATS + INTS):
        for axis, flags in zip([0, 1, 2, 1], ["", "{exclusive}", "{reverse}", "{exclusive, reverse}"]):
            f = Function(f"scan_{kind}", ["s0"], [[4], [0]], floor=64)
            x, t = f.arg([2, "s0", 3], e, "-2:2" if e not in UNSIGNED else "0:3")
            f.line(f"%r = tg.scan {kind} {x} axis = {axis} {flags} : {t}")
            f.done(("%r", t))
    for e, k, largest in itertools.product(FLOATS + INTS, [0, 1, 3, 6, 17, 40], ["{largest}", ""]):
        n = max(k, 7)
        f = Function("top_k", ["s0"], [[n - 3], [n + 9]])
        x, t = f.arg([2, "s0 + 3", 2], e, "edge" if k % 2 else "ties")
        f.line(f"%v, %i = tg.top_k {x} axis = 1 k = {k} {largest} : {t}")
        f.done(("%v", tensor([2, k, 2], e)), ("%i", tensor([2, k, 2], "i64")))


def cases_structure():
    for e in FLOATS + INTS:
        f = Function("iota", ["s0"], [[4], [0]])
        f.line(f"%r = tg.iota 1 : {tensor([2, 's0', 3], e)}")
        f.done(("%r", tensor([2, "s0", 3], e)))
    f = Function("extents", ["s0", "s1"], [[3, 4], [0, 5]])
    f.line("%r = tg.extents affine_map<()[s0, s1] -> (s0, 12, s1 * 2, s0 * s1 + 1, s1 floordiv 2, s0 mod 2)>")
    f.done(("%r", "tensor<6xi64>"))
    constants = [("f32", "[1.5, -2.0, 0.0]"), ("f16", "[1.5, -2.0, 0.0]"), ("i1", "[true, false, true]"), ("ui8", "[1, 255, 3]"),
                 ("i4", "[-8, 7, -1]"), ("ui4", "[15, 0, 1]"), ("f8E5M2", "[1.5, -2.0, 0.0]"), ("i64", "[-1, 2, 3]"),
                 ("bf16", "1.5"), ("i1", "true"), ("ui16", "65535"), ("i4", "-3")]
    for e, text in constants:
        f = Function("constant")
        f.line(f"%r = tg.constant dense<{text}> : tensor<3x{e}>")
        f.done(("%r", f"tensor<3x{e}>"))


def cases_math():
    """Dense sweeps and random bit patterns of what --weft-expand-math expands, at its stated accuracy."""
    ranges = {"exp": "-105..90", "expm1": "-20..90", "log": "0..3", "log1p": "-1..3", "tanh": "-10..10", "erf": "-5..5"}
    for op, values in ranges.items():
        for v in [values, "-1..1", "bits"]:
            f = Function(op, tolerance=2)
            x, t = f.arg([100_000], "f32", v)
            f.line(f"%r = tg.{op} {x} : {t}")
            f.done(("%r", t))
    for v, w in [("0..10", "-5..5"), ("-9:9", "-9:9"), ("bits", "bits"), ("edge", "edge"), ("0.9..1.1", "-1000..1000")]:
        f = Function("pow", tolerance=1)
        x, t = f.arg([100_000], "f32", v)
        y, _ = f.arg([100_000], "f32", w)
        f.line(f"%r = tg.pow {x}, {y} : {t}, {t}")
        f.done(("%r", t))
    for a, b in [("f32", "bf16"), ("f64", "bf16"), ("f64", "f16"), ("f64", "f32")]:
        for v in ["bits", "-70000..70000", "-1e-4..1e-4", "edge"]:
            f = Function(f"cast_{a}_{b}", tolerance=0)
            x, t = f.arg([50_000], a, v)
            r = tensor([50_000], b)
            f.line(f"%r = tg.cast {x} : {t} to {r}")
            f.done(("%r", r))


if __name__ == "__main__":
    globals()["cases_" + sys.argv[1]]()

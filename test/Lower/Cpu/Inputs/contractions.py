"""Compiled contractions against numpy in f64, for each CPU level that the machine has: the register tiles of MicroKernel.cpp
(tails of rows and columns, several blocks of K, results that are not contiguous) and every form that StreamContraction.cpp knows
(vectors along N, K or a batch, steps of two, tails, several rows), static and symbolic extents."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

RNG = np.random.default_rng(7)
DEVICE_REFUSED = 4
# Bytes whose products, added in pairs, do not fit in 16 bits.
BYTES = {np.uint8: lambda s: RNG.integers(200, 256, s), np.int8: lambda s: RNG.choice(np.array([-128, -127, 127]), s)}
MATMUL = "(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"
TRANSPOSED = "(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)", "(m, n, k) -> (m, n)"


def windows(x, kernel, stride, dilation=1):
    """x (c, h, w) as (c, oh, ow, kh, kw)."""
    span = (kernel - 1) * dilation + 1
    w = np.lib.stride_tricks.sliding_window_view(x, (span, span), axis=(1, 2))
    return w[:, ::stride, ::stride, ::dilation, ::dilation]


class Case:
    def __init__(self, lhs, rhs, maps, want, element="f32", symbol=None, residual=False):
        """`symbol`: index of the extent of lhs and of rhs, (a, b) or None in either place, that is symbolic. `residual`: added to the result."""
        self.elements = element if isinstance(element, tuple) else (element, element)
        element = self.elements[0]
        kinds = [{"f32": np.float32, "f16": np.float16, "f64": np.float64, "i32": np.int32, "i8": np.int8, "ui8": np.uint8}[e] for e in self.elements]
        draw = (lambda s: RNG.integers(-8, 8, s)) if element[0] == "i" else RNG.standard_normal
        self.lhs, self.rhs = ((BYTES[kind](shape) if len(set(kinds)) > 1 else draw(shape)).astype(kind) for kind, shape in zip(kinds, (lhs, rhs)))
        self.maps, self.element, self.symbol = maps, element, symbol or (None, None)
        self.want = want(self.lhs.astype(np.float64), self.rhs.astype(np.float64))
        self.result = {"f16": "f32", "i8": "i32", "ui8": "i32"}.get(element, element)
        self.residual = draw(self.want.shape).astype(np.int32 if self.result == "i32" else self.lhs.dtype) if residual else None
        if residual:
            self.want = self.want + self.residual

    def types(self, symbol: str):
        def text(shape, at, element):
            if at is None:
                return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"
            dims = "".join("?x" if i == at else f"{n}x" for i, n in enumerate(shape))
            extents = ", ".join("s0" if i == at else str(n) for i, n in enumerate(shape))
            names = ", ".join(f"s{i}" for i in range(int(symbol[1:]) + 1))
            return f"tensor<{dims}{element}, #tg.dims<()[{names}] -> ({extents.replace('s0', symbol)})>>"
        a, b = self.symbol
        # The symbolic extent reappears in the result if it is not summed: such cases put it at the result's end.
        kept = self.want.ndim - 1 if (a is None) != (b is None) else None
        return text(self.lhs.shape, a, self.elements[0]), text(self.rhs.shape, b, self.elements[1]), text(self.want.shape, kept, self.result)


def few_rows():
    for rows in (1, 3, 6):
        for columns in (5, 16, 97, 300):
            for depth in (4, 33):
                yield Case((rows, depth), (depth, columns), MATMUL, lambda a, b: a @ b)
                yield Case((rows, depth), (columns, depth), TRANSPOSED, lambda a, b: a @ b.T)
    for element in ("f16", "f64", "i32", "i8"):
        yield Case((1, 40), (40, 77), MATMUL, lambda a, b: a @ b, element)
        yield Case((2, 75), (19, 75), TRANSPOSED, lambda a, b: a @ b.T, element)
    for columns in (1, 15, 16, 200):
        yield Case((2, 24), (24, columns), MATMUL, lambda a, b: a @ b, symbol=(None, 1))
    for depth in (1, 16, 130):
        yield Case((1, depth), (21, depth), TRANSPOSED, lambda a, b: a @ b.T, symbol=(1, 1))
    for stride in (1, 2):
        for size, kernel, dilation in ((9, 3, 1), (18, 3, 1), (35, 5, 1), (37, 3, 2)):
            h = f"h * {stride} + p * {dilation}", f"w * {stride} + q * {dilation}"
            maps = (f"(c, h, w, p, q) -> (c, {h[0]}, {h[1]})", "(c, h, w, p, q) -> (c, p, q)", "(c, h, w, p, q) -> (c, h, w)")
            yield Case((5, size, size), (5, kernel, kernel), maps,
                       lambda a, b, k=kernel, s=stride, d=dilation: np.einsum("chwpq,cpq->chw", windows(a, k, s, d), b))
            maps = (f"(o, h, w, c, p, q) -> (c, {h[0]}, {h[1]})", "(o, h, w, c, p, q) -> (o, c, p, q)", "(o, h, w, c, p, q) -> (o, h, w)")
            yield Case((3, size, size), (4, 3, kernel, kernel), maps,
                       lambda a, b, k=kernel, s=stride, d=dilation: np.einsum("chwpq,ocpq->ohw", windows(a, k, s, d), b))
    # Channels innermost: vectors along the batch, whose tails have masks; `m` results of a channel share its image.
    for channels, height, width, kernel, stride, m in ((3, 9, 8, 3, 1, 1), (5, 4, 11, 3, 2, 1), (17, 11, 19, 5, 1, 1), (37, 23, 24, 9, 2, 1), (20, 7, 13, 3, 1, 3)):
        maps = (f"(c, h, w, m, p, q) -> (h * {stride} + p, w * {stride} + q, c)", "(c, h, w, m, p, q) -> (m, p, q, c)", "(c, h, w, m, p, q) -> (m, h, w, c)")
        yield Case((height, width, channels), (m, kernel, kernel, channels), maps,
                   lambda a, b, k=kernel, s=stride: np.einsum("chwpq,mpqc->mhwc", windows(np.moveaxis(a, 2, 0), k, s), b), residual=stride == 1)


def tiled_cases():
    for rows in (7, 40, 131):
        for columns in (5, 96, 97):
            for depth in (5, 300, 515):
                yield Case((rows, depth), (depth, columns), MATMUL, lambda a, b: a @ b)
            yield Case((rows, 70), (columns, 70), TRANSPOSED, lambda a, b: a @ b.T)
            # The result's neighbours are rows of the left factor; then neither factor's.
            maps = "(m, n, k) -> (k, m)", "(m, n, k) -> (n, k)", "(m, n, k) -> (n, m)"
            yield Case((70, rows), (columns, 70), maps, lambda a, b: b @ a)
            yield Case((3, rows, 20), (20, columns, 3), ("(h, m, n, k) -> (h, m, k)", "(h, m, n, k) -> (k, n, h)", "(h, m, n, k) -> (m, n, h)"),
                       lambda a, b: np.einsum("hmk,knh->mnh", a, b))
    for element in ("f16", "f64", "i32", "i8"):
        yield Case((33, 280), (280, 50), MATMUL, lambda a, b: a @ b, element)
    for columns in (1, 64, 200):
        yield Case((20, 24), (24, columns), MATMUL, lambda a, b: a @ b, symbol=(None, 1))
    for stride in (1, 2):
        maps = (f"(o, h, w, c, p, q) -> (c, h * {stride} + p, w * {stride} + q)", "(o, h, w, c, p, q) -> (o, c, p, q)",
                "(o, h, w, c, p, q) -> (o, h, w)")
        yield Case((3, 20, 20), (10, 3, 3, 3), maps, lambda a, b, s=stride: np.einsum("chwpq,ocpq->ohw", windows(a, 3, s), b))
        # Windows with many channels: tiles are transposed as they are stored, after one block of K or several.
        shapes = ((40, 13, 11, 50, "f32"), (7, 5, 4, 64, "i32")) if stride == 1 else ((3, 9, 7, 33, "f64"), (3, 30, 3, 96, "f32"))
        for channels, height, width, outputs, element in shapes:
            yield Case((channels, height, width), (outputs, channels, 3, 3), maps,
                       lambda a, b, s=stride: np.einsum("chwpq,ocpq->ohw", windows(a, 3, s), b), element, residual=height != 13)
    maps = "(o, h, w, c, q) -> (c, h, w + q)", "(o, h, w, c, q) -> (o, c, q)", "(o, h, w, c, q) -> (o, h, w)"
    for size in (1, 13):  # What is read of a window is its rows; their number is not known.
        yield Case((size, 6, 11), (48, size, 3), maps, lambda a, b: np.einsum("chwq,ocq->ohw", np.lib.stride_tricks.sliding_window_view(a, 3, 2), b),
                   symbol=(0, 1))


def panels():
    """Columns in panels as wide as a register tile of some level, multiplied where they lie: several side by side where rows are few."""
    maps = "(m, n, p, k) -> (m, k)", "(m, n, p, k) -> (n, k, p)", "(m, n, p, k) -> (m, n, p)"
    for width, count, depth, rows in ((16, 1, 33, 1), (16, 13, 300, 1), (16, 9, 70, 2), (32, 5, 40, 1), (8, 21, 33, 5), (16, 3, 515, 6),
                                      (16, 11, 300, 7), (32, 3, 140, 33), (8, 5, 600, 16), (16, 37, 70, 131)):
        yield Case((rows, depth), (count, depth, width), maps, lambda a, b: np.einsum("mk,nkp->mnp", a, b), residual=rows != 7)


def quads():
    """Four neighbouring bytes of both factors, one unsigned, one signed: one element of the register tile."""
    maps = "(m, n, k, q) -> (m, k, q)", "(m, n, k, q) -> (k, n, q)", "(m, n, k, q) -> (m, n)"
    for rows, columns, depth, element in ((3, 40, 5, ("ui8", "i8")), (37, 64, 300, ("i8", "ui8")), (20, 33, 17, ("ui8", "i8"))):
        yield Case((rows, depth, 4), (depth, columns, 4), maps, lambda a, b: np.einsum("mkq,knq->mn", a, b), element)
    # Few rows: words are streamed, along the columns or along the sum, or multiplied where they lie.
    along = "(m, n, k, q) -> (m, k, q)", "(m, n, k, q) -> (n, k, q)", "(m, n, k, q) -> (m, n)"
    for rows, columns, depth, element in ((1, 301, 13, ("ui8", "i8")), (2, 64, 290, ("i8", "ui8")), (6, 19, 5, ("ui8", "i8")), (11, 50, 270, ("ui8", "i8")),
                                          (16, 96, 31, ("i8", "ui8"))):
        yield Case((rows, depth, 4), (depth, columns, 4), maps, lambda a, b: np.einsum("mkq,knq->mn", a, b), element)
        yield Case((rows, depth, 4), (columns, depth, 4), along, lambda a, b: np.einsum("mkq,nkq->mn", a, b), element)
    maps = "(o, h, w, c, p, r, q) -> (c, h + p, w + r, q)", "(o, h, w, c, p, r, q) -> (c, p, r, o, q)", "(o, h, w, c, p, r, q) -> (o, h, w)"
    for channels, outputs in ((3, 48), (2, 9)):
        yield Case((channels, 9, 8, 4), (channels, 3, 3, outputs, 4), maps,
                   lambda a, b: np.einsum("chwqpr,cproq->ohw", np.lib.stride_tricks.sliding_window_view(a, (3, 3), (1, 2)), b), ("ui8", "i8"))


def module(all_cases) -> str:
    arguments, lines, results, symbols = [], [], [], []
    for i, case in enumerate(all_cases):
        if case.symbol != (None, None):
            symbols.append(f"n{i}")
        x, y, r = case.types(f"s{len(symbols) - 1}")
        arguments += [f'%x{i}: {x} {{tg.name = "x{i}"}}', f'%y{i}: {y} {{tg.name = "y{i}"}}']
        maps = ", ".join(f"affine_map<{m}>" for m in case.maps)
        lines.append(f"%r{i} = tg.contract %x{i}, %y{i} [{maps}] : {x}, {y} -> {r}")
        if case.residual is not None:
            arguments.append(f'%z{i}: {r} {{tg.name = "z{i}"}}')
            lines.append(f"%s{i} = tg.add %r{i}, %z{i} : {r}, {r}")
        results.append((f"%r{i}" if case.residual is None else f"%s{i}", r))
    names = ", ".join(f'"{s}"' for s in symbols)
    types = ", ".join(f'{t} {{tg.name = "r{i}"}}' for i, (_, t) in enumerate(results))
    body = "\n".join(lines)
    return (f"module attributes {{tg.symbols = [{names}]}} {{\nfunc.func @main({', '.join(arguments)}) -> ({types}) {{\n{body}\n"
            f"return {', '.join(v for v, _ in results)} : {', '.join(t for _, t in results)}\n}}\n}}\n")


def main() -> int:
    all_cases, failures, levels = [*few_rows(), *tiled_cases(), *panels(), *quads()], 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.mlir").write_text(module(all_cases))
        flags = []
        for i, case in enumerate(all_cases):
            np.save(folder / f"x{i}.npy", case.lhs)
            np.save(folder / f"y{i}.npy", case.rhs)
            if case.residual is not None:
                np.save(folder / f"z{i}.npy", case.residual)
                flags.append(f"--input=z{i}=@{folder}/z{i}.npy")
            flags += [f"--input=x{i}=@{folder}/x{i}.npy", f"--input=y{i}=@{folder}/y{i}.npy", f"--output=r{i}=@{folder}/r{i}.npy"]
        for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni"):
            subprocess.run(["weft-compile", folder / "m.mlir", "-o", folder / "m.weft", "--quiet", f"--cpu={level}"], check=True)
            done = subprocess.run(["weft-run", folder / "m.weft", *flags], stdout=subprocess.DEVNULL)
            if done.returncode == DEVICE_REFUSED:
                continue
            done.check_returncode()
            levels += 1
            for i, case in enumerate(all_cases):
                got = np.load(folder / f"r{i}.npy").astype(np.float64)
                tolerance = 0 if case.result[0] == "i" else 1e-12 if case.element == "f64" else 1e-5
                error = np.abs(got - case.want).max(initial=0) / max(np.abs(case.want).max(initial=0), 1)
                if got.shape != case.want.shape or not error <= tolerance:
                    failures += 1
                    print(f"FAIL {level} case {i}: {case.maps[:2]} {case.lhs.shape} {case.rhs.shape} {case.elements}: error {error}")
    print(f"{len(all_cases)} cases, {'some' if levels else 'no'} levels, {failures} failures")
    return int(failures != 0)


sys.exit(main())

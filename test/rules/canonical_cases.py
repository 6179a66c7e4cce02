"""Cases of canonical rules that are code: views, casts, choices, weights. The others have theirs made from their patterns (cases.py).

A case is a function. Of each rule the positive ones must fire and keep every bit, and the first is the one that its FLOP formula is about
(m, n = 3, 5); each near miss violates the guard it is under, and nothing else.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import re

import numpy as np

import emit

WEIGHTS = "weights.bin"  # 15 numbers of f32, or the bytes of any other type.
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0]


@dataclasses.dataclass
class Function:
    arguments: str  # "%x: tensor<3x5xf32>, ..."
    body: str  # Lines; the last value is %r.
    result: str

    def module(self) -> str:
        lines = "\n".join("  " + line.strip() for line in self.body.strip().splitlines())
        return f"func.func @main({self.arguments}) -> {self.result} {{\n{lines}\n  return %r : {self.result}\n}}\n"

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random numbers and edges, those that are no numbers included."""
        found = []
        for extents, element in re.findall(r"%\w+: tensor<((?:\d+x)*)(\w+)>", self.arguments):
            shape = tuple(int(extent) for extent in extents.split("x")[:-1])
            if element == "i1":
                found.append(rng.random(shape) < 0.5)
                continue
            values = emit.contents(shape, element, rng, nonzero=False)
            if element.startswith("f") and values.size >= len(SPECIAL):
                values.ravel()[: len(SPECIAL)] = SPECIAL
            found.append(values)
        return found


def weights() -> bytes:
    return np.arange(1, 16, dtype=np.float32).tobytes()


@dataclasses.dataclass
class Cases:
    positives: list[Function]
    near_misses: dict[str, Function] = dataclasses.field(default_factory=dict)


X, PAIR = "%x: tensor<3x5xf32>", "%x: tensor<3x5xf32>, %y: tensor<3x5xf32>"
FULL = "tensor<3x5xf32>"


def divided(by: str) -> Function:
    return Function("%x: tensor<3x5xf64>", f"%c = tg.constant dense<{by}> : tensor<f64>\n%r = tg.div %x, %c : tensor<3x5xf64>, tensor<f64>", "tensor<3x5xf64>")


def chosen(condition: str, shape: str) -> Function:
    return Function(PAIR, f"%c = tg.constant dense<{condition}> : tensor<{shape}>\n%r = tg.select %c, %x, %y : tensor<{shape}>, {FULL}, {FULL}", FULL)


def casts(first: str, second: str, third: str) -> Function:
    a, b, c = (f"tensor<3x5x{element}>" for element in (first, second, third))
    return Function(f"%x: {a}", f"%1 = tg.cast %x : {a} to {b}\n%r = tg.cast %1 : {b} to {c}", c)


def transposed(shape: str, permutation: str, result: str) -> Function:
    return Function(f"%x: tensor<{shape}xf32>", f"%r = tg.transpose %x {permutation} : tensor<{shape}xf32>", f"tensor<{result}xf32>")


def reduced(kind: str, shape: str, keep: str, result: str, element: str = "f32") -> Function:
    return Function(f"%x: tensor<{shape}x{element}>", f"%r = tg.reduce {kind} %x axes = [1]{keep} : tensor<{shape}x{element}>", f"tensor<{result}x{element}>")


def weight(order: str, stored: str, line: str, result: str) -> Function:
    return Function("", f'%w = tg.weight <"{WEIGHTS}", 0, 60>{order} : tensor<{stored}>\n{line}', f"tensor<{result}>")


RESHAPED = "%r = tg.reshape %w : tensor<5x3xf32> to tensor<3x5xf32>"
BITCAST = "%r = tg.bitcast %w : tensor<5x3xf32> to tensor<5x3xi32>"
HALF = "offsets = [0, 5] strides = [1, 1] : tensor<3x10xf32> to tensor<3x5xf32>"
WIDE, PRODUCT = "%x: tensor<3x10xf32>", "affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>"
FACTORS = "%a: tensor<3x7xf32>, %b: tensor<7x10xf32>"
MULTIPLIED = f"%m = tg.contract %a, %b [{PRODUCT}] : tensor<3x7xf32>, tensor<7x10xf32> -> tensor<3x10xf32>\n"


LATER = "[affine_map<(d0, d1, d2) -> (d0 + 3, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]"
LATER_RHS = "[affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1 + 3, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]"
EVERY_OTHER = (f"%s = tg.slice %m offsets = [0, 0] strides = [1, 2] : tensor<3x10xf32> to {FULL}\n"
               f"%t = tg.slice %m offsets = [0, 1] strides = [1, 2] : tensor<3x10xf32> to {FULL}\n%r = tg.mul %s, %t : {FULL}, {FULL}")


def read_twice(make: str, arguments: str) -> Function:
    """A slice of what is read whole, too."""
    return Function(arguments, f"{make}%s = tg.slice %m {HALF}\n%n = tg.reduce max %m axes = [1] keep_dims : tensor<3x10xf32>\n"
                    f"%r = tg.concat %s, %n axis = 1 : {FULL}, tensor<3x1xf32>", "tensor<3x6xf32>")


MERGED = "%t = tg.transpose %x [1, 0, 2] : tensor<3x2x5xf32>\n"

CASES = {
    "divisor-power-of-two": Cases([divided("8.0"), divided("-0.25")], {"power-of-two(c)": divided("3.0")}),
    "choice-of-same": Cases([Function(X + ", %c: tensor<3x5xi1>", f"%r = tg.select %c, %x, %x : tensor<3x5xi1>, {FULL}, {FULL}", FULL)]),
    "choice-known": Cases([chosen("true", "3x5xi1"), chosen("false", "i1")], {"known(c)": chosen("[true, false, true, false, true]", "5xi1")}),
    "cast-of-cast": Cases([casts("f16", "f32", "bf16"), casts("i8", "f32", "i8"), casts("ui8", "i32", "f32")],
                          {"lossless(a)": casts("f32", "f16", "f32"), "no-wrap(a)": casts("i8", "f32", "ui8")}),
    "operand-stretched": Cases([
        Function("%x: tensor<3x1xf32>, %y: tensor<3x5xf32>",
                 f"%b = tg.broadcast %x : tensor<3x1xf32> to {FULL}\n%r = tg.add %b, %y : {FULL}, {FULL}", FULL),
        Function("%x: tensor<5xi1>, %y: tensor<3x1xf32>",
                 f"%b = tg.broadcast %y : tensor<3x1xf32> to {FULL}\n%r = tg.select %x, %y, %b : tensor<5xi1>, tensor<3x1xf32>, {FULL}", FULL),
    ], {"stretched-by-others": Function("%x: tensor<3x1xf32>, %y: tensor<f32>",
                                        f"%b = tg.broadcast %x : tensor<3x1xf32> to {FULL}\n%r = tg.add %b, %y : {FULL}, tensor<f32>", FULL)}),
    "broadcast-of-broadcast": Cases([Function("%x: tensor<5xf32>", "%b = tg.broadcast %x : tensor<5xf32> to tensor<1x5xf32>\n"
                                              f"%r = tg.broadcast %b : tensor<1x5xf32> to {FULL}", FULL)]),
    "broadcast-in-place": Cases([Function(X, f"%r = tg.broadcast %x : {FULL} to tensor<1x3x5xf32>", "tensor<1x3x5xf32>")],
                                {"moves-nothing(a)": Function("%x: tensor<3x1xf32>", f"%r = tg.broadcast %x : tensor<3x1xf32> to {FULL}", FULL)}),
    "slice-of-slice": Cases([Function("%x: tensor<9x12xf32>", "%s = tg.slice %x offsets = [1, 0] strides = [2, 1] : tensor<9x12xf32> to tensor<4x12xf32>\n"
                                      f"%r = tg.slice %s offsets = [1, 2] strides = [1, 2] : tensor<4x12xf32> to {FULL}", FULL)],
                            {"place-limit": Function("%x: tensor<3x5xf32>", "%s = tg.slice %x offsets = [1, 1] strides = [1073741824, 1] : tensor<3x5xf32> to tensor<1x4xf32>\n"
                                                     "%r = tg.slice %s offsets = [0, 0] strides = [1073741824, 1] : tensor<1x4xf32> to tensor<1x3xf32>", "tensor<1x3xf32>")}),
    "transpose-in-place": Cases([transposed("3x1x5", "[1, 0, 2]", "1x3x5")], {"moves-nothing(a)": transposed("3x5", "[1, 0]", "5x3")}),
    "reduce-of-one": Cases([reduced("max", "3x1x5", "", "3x5"), reduced("add", "3x1x5", " keep_dims", "3x1x5", "i32"), reduced("mul", "3x1", "", "3")],
                           {"no-sum": reduced("add", "3x1x5", "", "3x5"), "single(a)": reduced("max", "3x5", "", "3")}),
    "concat-of-nothing": Cases([
        Function(X + ", %e: tensor<0x5xf32>", f"%r = tg.concat %x, %e, %x axis = 0 : {FULL}, tensor<0x5xf32>, {FULL}", "tensor<6x5xf32>"),
        Function("%e: tensor<0x5xf32>", "%r = tg.concat %e, %e axis = 0 : tensor<0x5xf32>, tensor<0x5xf32>", "tensor<0x5xf32>"),
    ]),
    "concat-of-concat": Cases(
        [Function(PAIR, f"%c = tg.concat %x, %y axis = 1 : {FULL}, {FULL}\n%r = tg.concat %y, %c axis = 1 : {FULL}, tensor<3x10xf32>", "tensor<3x15xf32>")],
        {"same-axis": Function(PAIR + ", %z: tensor<6x5xf32>",
                               f"%c = tg.concat %x, %y axis = 0 : {FULL}, {FULL}\n%r = tg.concat %c, %z axis = 1 : tensor<6x5xf32>, tensor<6x5xf32>", "tensor<6x10xf32>"),
         "one-reader": Function(PAIR, f"%c = tg.concat %x, %y axis = 1 : {FULL}, {FULL}\n%r = tg.concat %c, %c axis = 1 : tensor<3x10xf32>, tensor<3x10xf32>", "tensor<3x20xf32>")}),
    "weight-reshaped": Cases([weight("", "5x3xf32", RESHAPED, "3x5xf32")], {"row-major": weight(" order [1, 0]", "5x3xf32", RESHAPED, "3x5xf32")}),
    "weight-bitcast": Cases([weight("", "5x3xf32", BITCAST, "5x3xi32")], {"row-major": weight(" order [1, 0]", "5x3xf32", BITCAST, "5x3xi32")}),
    "movement-behind-arithmetic": Cases([
        Function(X + ", %c: tensor<f32>", f"%t = tg.transpose %x [1, 0] : {FULL}\n%r = tg.mul %c, %t : tensor<f32>, tensor<5x3xf32>", "tensor<5x3xf32>"),
        Function(X, f"%t = tg.reshape %x : {FULL} to tensor<15xf32>\n%r = tg.cast %t : tensor<15xf32> to tensor<15xf16>", "tensor<15xf16>"),
    ], {
        "others-scalar": Function("%x: tensor<4x4xf32>, %y: tensor<4x4xf32>",
                                  "%t = tg.transpose %x [1, 0] : tensor<4x4xf32>\n%r = tg.add %t, %y : tensor<4x4xf32>, tensor<4x4xf32>", "tensor<4x4xf32>"),
        "one-reader": Function(X, f"%t = tg.transpose %x [1, 0] : {FULL}\n%n = tg.neg %t : tensor<5x3xf32>\n%s = tg.reduce add %t axes = [0, 1] : tensor<5x3xf32>\n"
                               "%r = tg.concat %n, %n axis = 0 : tensor<5x3xf32>, tensor<5x3xf32>", "tensor<10x3xf32>"),
        "no-wider": Function("%x: tensor<3x5xf16>", "%t = tg.transpose %x [1, 0] : tensor<3x5xf16>\n%r = tg.cast %t : tensor<5x3xf16> to tensor<5x3xf32>", "tensor<5x3xf32>"),
    }),
    "transpose-before-merge": Cases(
        [Function("%x: tensor<3x2x5xf32>", MERGED + "%m = tg.reshape %t : tensor<2x3x5xf32> to tensor<6x5xf32>\n%r = tg.transpose %m [1, 0] : tensor<6x5xf32>", "tensor<5x6xf32>")],
        {"one-reader": Function("%x: tensor<3x2x5xf32>", MERGED + "%m = tg.reshape %t : tensor<2x3x5xf32> to tensor<6x5xf32>\n%q = tg.transpose %m [1, 0] : tensor<6x5xf32>\n"
                                "%n = tg.reduce max %m axes = [0] : tensor<6x5xf32>\n%o = tg.reshape %n : tensor<5xf32> to tensor<5x1xf32>\n"
                                "%r = tg.concat %q, %o axis = 1 : tensor<5x6xf32>, tensor<5x1xf32>", "tensor<5x7xf32>"),
         "merges": Function(X, f"%t = tg.transpose %x [1, 0] : {FULL}\n%m = tg.reshape %t : tensor<5x3xf32> to tensor<5x1x3xf32>\n"
                            "%r = tg.transpose %m [2, 0, 1] : tensor<5x1x3xf32>", "tensor<3x5x1xf32>")}),
    "slice-before-arithmetic": Cases([
        Function(WIDE, f"%m = tg.neg %x : tensor<3x10xf32>\n%r = tg.slice %m {HALF}", FULL),
        Function(WIDE + ", %y: tensor<3x1xf32>, %z: tensor<10xf32>",
                 "%1 = tg.sub %x, %y : tensor<3x10xf32>, tensor<3x1xf32>\n%m = tg.mul %1, %z : tensor<3x10xf32>, tensor<10xf32>\n"
                 "%r = tg.slice %m offsets = [1, 8] strides = [1, -2] : tensor<3x10xf32> to tensor<2x4xf32>", "tensor<2x4xf32>"),
        Function(WIDE, "%m = tg.exp %x : tensor<3x10xf32>\n%s = tg.slice %m offsets = [0, 0] strides = [1, 1] : tensor<3x10xf32> to tensor<3x5xf32>\n"
                 f"%t = tg.slice %m {HALF}\n%g = tg.neg %s : {FULL}\n%r = tg.mul %g, %t : {FULL}, {FULL}", FULL),
    ], {
        "smaller(a)": Function(WIDE, "%m = tg.neg %x : tensor<3x10xf32>\n%r = tg.slice %m offsets = [0, 9] strides = [1, -1] : tensor<3x10xf32> to tensor<3x10xf32>",
                               "tensor<3x10xf32>"),
        "read-in-parts": read_twice("%m = tg.neg %x : tensor<3x10xf32>\n", WIDE),
        "no-product(a)": Function("%a: tensor<3x7xf32>, %b: tensor<7x2x5xf32>",
                                  "%c = tg.contract %a, %b [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, "
                                  "affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : tensor<3x7xf32>, tensor<7x2x5xf32> -> tensor<3x2x5xf32>\n"
                                  "%f = tg.reshape %c : tensor<3x2x5xf32> to tensor<3x10xf32>\n%m = tg.neg %f : tensor<3x10xf32>\n"
                                  f"%r = tg.slice %m {HALF}", FULL),
    }),
    "slice-before-reduction": Cases([
        Function("%x: tensor<6x5xf32>", "%m = tg.reduce max %x axes = [1] : tensor<6x5xf32>\n"
                 "%r = tg.slice %m offsets = [3] strides = [1] : tensor<6xf32> to tensor<3xf32>", "tensor<3xf32>"),
        Function("%x: tensor<4x6x5xf32>", "%m = tg.reduce add %x axes = [1] keep_dims : tensor<4x6x5xf32>\n"
                 "%r = tg.slice %m offsets = [1, 0, 2] strides = [2, 1, 1] : tensor<4x1x5xf32> to tensor<2x1x3xf32>", "tensor<2x1x3xf32>"),
    ], {
        "smaller(a)": Function("%x: tensor<6x5xf32>", "%m = tg.reduce max %x axes = [1] : tensor<6x5xf32>\n"
                               "%r = tg.slice %m offsets = [5] strides = [-1] : tensor<6xf32> to tensor<6xf32>", "tensor<6xf32>"),
        "read-in-parts": read_twice("%m = tg.reduce max %x axes = [0] : tensor<2x3x10xf32>\n", "%x: tensor<2x3x10xf32>"),
    }),
    "part-before-contraction-lhs": Cases([
        Function("%x: tensor<6x5xf32>, %b: tensor<5x4xf32>", f"%m = tg.neg %x : tensor<6x5xf32>\n%r = tg.contract %m, %b {LATER} : tensor<6x5xf32>, tensor<5x4xf32> -> "
                 "tensor<3x4xf32>", "tensor<3x4xf32>"),
        Function("%x: tensor<2x9x7xf32>, %y: tensor<9x1xf32>, %b: tensor<7x4xf32>",
                 "%m = tg.sub %x, %y : tensor<2x9x7xf32>, tensor<9x1xf32>\n%r = tg.contract %m, %b [affine_map<(d0, d1, d2) -> (d0, 8, d2)>, "
                 "affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] : tensor<2x9x7xf32>, tensor<7x4xf32> -> tensor<2x4xf32>", "tensor<2x4xf32>"),
    ], {
        "one-reader": Function("%x: tensor<6x5xf32>, %b: tensor<5x5xf32>",
                               f"%m = tg.neg %x : tensor<6x5xf32>\n%c = tg.contract %m, %b {LATER} : tensor<6x5xf32>, tensor<5x5xf32> -> {FULL}\n"
                               f"%r = tg.concat %c, %m axis = 0 : {FULL}, tensor<6x5xf32>", "tensor<9x5xf32>"),
        "no-product(a)": Function("%a: tensor<6x7xf32>, %f: tensor<7x5xf32>, %b: tensor<5x4xf32>",
                                  f"%c = tg.contract %a, %f [{PRODUCT}] : tensor<6x7xf32>, tensor<7x5xf32> -> tensor<6x5xf32>\n"
                                  "%t = tg.reshape %c : tensor<6x5xf32> to tensor<5x6xf32>\n%u = tg.transpose %t [1, 0] : tensor<5x6xf32>\n"
                                  f"%m = tg.neg %u : tensor<6x5xf32>\n%r = tg.contract %m, %b {LATER} : tensor<6x5xf32>, tensor<5x4xf32> -> tensor<3x4xf32>", "tensor<3x4xf32>"),
    }),
    "part-before-contraction-rhs": Cases([
        Function("%x: tensor<6x5xf32>, %a: tensor<4x5xf32>", f"%m = tg.neg %x : tensor<6x5xf32>\n%r = tg.contract %a, %m {LATER_RHS} : tensor<4x5xf32>, tensor<6x5xf32> -> "
                 "tensor<4x3xf32>", "tensor<4x3xf32>"),
    ], {
        "one-reader": Function("%x: tensor<6x5xf32>, %a: tensor<5x5xf32>",
                               f"%m = tg.neg %x : tensor<6x5xf32>\n%c = tg.contract %a, %m {LATER_RHS} : tensor<5x5xf32>, tensor<6x5xf32> -> tensor<5x3xf32>\n"
                               f"%t = tg.reshape %c : tensor<5x3xf32> to {FULL}\n%r = tg.concat %t, %m axis = 0 : {FULL}, tensor<6x5xf32>", "tensor<9x5xf32>"),
        "no-product(a)": Function("%a: tensor<6x7xf32>, %f: tensor<7x5xf32>, %b: tensor<4x5xf32>",
                                  f"%c = tg.contract %a, %f [{PRODUCT}] : tensor<6x7xf32>, tensor<7x5xf32> -> tensor<6x5xf32>\n"
                                  "%t = tg.reshape %c : tensor<6x5xf32> to tensor<5x6xf32>\n%u = tg.transpose %t [1, 0] : tensor<5x6xf32>\n"
                                  f"%m = tg.neg %u : tensor<6x5xf32>\n%r = tg.contract %b, %m {LATER_RHS} : tensor<4x5xf32>, tensor<6x5xf32> -> tensor<4x3xf32>", "tensor<4x3xf32>"),
    }),
    "slice-before-reshape": Cases([
        Function(WIDE, "%m = tg.reshape %x : tensor<3x10xf32> to tensor<3x5x2xf32>\n"
                 "%r = tg.slice %m offsets = [0, 0, 1] strides = [1, 1, 1] : tensor<3x5x2xf32> to tensor<3x5x1xf32>", "tensor<3x5x1xf32>"),
        Function("%x: tensor<3x30xf32>", "%m = tg.reshape %x : tensor<3x30xf32> to tensor<3x2x3x5xf32>\n"
                 "%r = tg.slice %m offsets = [2, 1, 0, 0] strides = [-2, 1, 1, 1] : tensor<3x2x3x5xf32> to tensor<2x1x3x5xf32>", "tensor<2x1x3x5xf32>"),
        Function("%x: tensor<30xf32>", "%m = tg.reshape %x : tensor<30xf32> to tensor<3x5x2xf32>\n"
                 "%r = tg.slice %m offsets = [2, 4, 1] strides = [-1, -1, 1] : tensor<3x5x2xf32> to tensor<3x5x1xf32>", "tensor<3x5x1xf32>"),
        Function(WIDE, "%m = tg.reshape %x : tensor<3x10xf32> to tensor<3x5x2xf32>\n"
                 "%s = tg.slice %m offsets = [0, 0, 0] strides = [1, 1, 1] : tensor<3x5x2xf32> to tensor<3x5x1xf32>\n"
                 "%t = tg.slice %m offsets = [0, 0, 1] strides = [1, 1, 1] : tensor<3x5x2xf32> to tensor<3x5x1xf32>\n"
                 f"%f = tg.reshape %s : tensor<3x5x1xf32> to {FULL}\n%g = tg.reshape %t : tensor<3x5x1xf32> to {FULL}\n%r = tg.mul %f, %g : {FULL}, {FULL}", FULL),
    ], {
        "smaller(a)": Function(WIDE, "%m = tg.reshape %x : tensor<3x10xf32> to tensor<3x2x5xf32>\n"
                               "%r = tg.slice %m offsets = [0, 1, 4] strides = [1, -1, -1] : tensor<3x2x5xf32> to tensor<3x2x5xf32>", "tensor<3x2x5xf32>"),
        "read-in-parts": read_twice("%m = tg.reshape %x : tensor<1x3x10xf32> to tensor<3x10xf32>\n", "%x: tensor<1x3x10xf32>"),
        "progression(a)": Function("%x: tensor<30xf32>", f"%m = tg.reshape %x : tensor<30xf32> to tensor<3x10xf32>\n%r = tg.slice %m {HALF}", FULL),
    }),
    "slice-before-contraction": Cases([
        Function(FACTORS.replace("7", "4"), MULTIPLIED.replace("7", "4") + f"%r = tg.slice %m {HALF}", FULL),
        Function("%a: tensor<2x3x7xf32>, %b: tensor<2x7x10xf32>",
                 "%m = tg.contract %a, %b [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, "
                 "affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>] : tensor<2x3x7xf32>, tensor<2x7x10xf32> -> tensor<3x2x10xf32>\n"
                 "%r = tg.slice %m offsets = [1, 1, 9] strides = [1, 1, -3] : tensor<3x2x10xf32> to tensor<2x1x4xf32>", "tensor<2x1x4xf32>"),
        Function(FACTORS, MULTIPLIED + f"%s = tg.slice %m offsets = [0, 0] strides = [1, 1] : tensor<3x10xf32> to tensor<3x5xf32>\n"
                 f"%t = tg.slice %m {HALF}\n%g = tg.exp %s : {FULL}\n%h = tg.mul %g, %s : {FULL}, {FULL}\n%r = tg.mul %h, %t : {FULL}, {FULL}", FULL),
        Function("%a: tensor<5x3xf32>", f'%w = tg.weight <"{WEIGHTS}", 0, 48> : tensor<3x4xf32>\n'
                 f"%m = tg.contract %a, %w [{PRODUCT}] : tensor<5x3xf32>, tensor<3x4xf32> -> tensor<5x4xf32>\n"
                 "%s = tg.slice %m offsets = [0, 0] strides = [1, 2] : tensor<5x4xf32> to tensor<5x2xf32>\n"
                 "%t = tg.slice %m offsets = [0, 1] strides = [1, 2] : tensor<5x4xf32> to tensor<5x2xf32>\n"
                 "%r = tg.sub %s, %t : tensor<5x2xf32>, tensor<5x2xf32>", "tensor<5x2xf32>"),
    ], {
        "smaller(a)": Function(FACTORS, MULTIPLIED + "%r = tg.slice %m offsets = [2, 0] strides = [-1, 1] : tensor<3x10xf32> to tensor<3x10xf32>", "tensor<3x10xf32>"),
        "read-in-parts": read_twice(MULTIPLIED, FACTORS),
        "plain-places(a)": Function("%a: tensor<12xf32>, %b: tensor<3x4xf32>",
                                    "%m = tg.contract %a, %b [affine_map<(d0, d1, d2) -> (d1 + d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, "
                                    "affine_map<(d0, d1, d2) -> (d0, d1)>] : tensor<12xf32>, tensor<3x4xf32> -> tensor<3x9xf32>\n"
                                    "%r = tg.slice %m offsets = [0, 4] strides = [1, 1] : tensor<3x9xf32> to tensor<3x5xf32>", FULL),
        "as-stored(a)": Function(FACTORS, MULTIPLIED + EVERY_OTHER, FULL),
    }),
}

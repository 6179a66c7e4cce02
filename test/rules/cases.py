"""Cases of rewrite rules: positive ones, which must fire and keep their values, and near misses, each of which violates one guard.

A case is an expression of the rule's own pattern language with a shape for each variable. Most are made from the pattern that the rule
itself states; contractions and casts say more (einsum strings, types), and have their specifications here.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import math
import random
import re

FLOAT_ONLY = {"reciprocal", "sqrt", "rsqrt", "exp", "log", "expm1", "log1p", "erf", "sigmoid", "tanh", "atan", "ceil", "floor", "round", "trunc",
              "div", "pow", "sin"}
INT_ONLY = {"shl", "and", "or", "xor", "not", "reduce.and", "reduce.or"}
COMMUTATIVE = {"add", "mul", "max", "min", "and", "or", "xor"}
DIVIDING = {"reciprocal", "div", "rsqrt", "log"}

# Einsum strings in the order of the contractions in the pattern, and the shapes of the variables.
M, K, N, L = 3, 4, 5, 6
CONTRACTIONS = {
    "delayed-scale-lhs": (["mk,kn->mn"], {"a": (M, K), "s": (M, 1), "w": (K, N)}),
    "delayed-scale-rhs": (["mk,kn->mn"], {"a": (K, N), "s": (N,), "w": (M, K)}),
    "delayed-normalisation-lhs": (["mk,kn->mn"], {"a": (M, K), "s": (M, 1), "w": (K, N)}),
    "delayed-normalisation-rhs": (["mk,nk->mn"], {"a": (N, K), "s": (N, 1), "w": (M, K)}),
    "scale-into-lhs": (["mk,kn->mn"], {"a": (M, K), "s": (M, 1), "w": (K, N)}),
    "scale-into-rhs": (["mk,kn->mn"], {"a": (K, N), "s": (N,), "w": (M, K)}),
    "affine-norm-into-rhs": (["mk,kn->mn"], {"x": (M, K), "w": (K, N), "b": (N,), "s": (1, N)}),
    "scale-across-to-rhs": (["mk,kn->mn"], {"a": (M, K), "s": (K,), "w": (K, N)}),
    "scale-across-to-lhs": (["mk,nk->mn"], {"a": (N, K), "s": (1, K), "w": (M, K)}),
    "associate-lhs-rhs": (["ml,ln->mn", "mk,kl->ml"], {"a": (M, K), "b": (K, L), "c": (L, N)}),
    "associate-lhs-lhs": (["ml,mn->ln", "mk,kl->ml"], {"a": (M, K), "b": (K, L), "c": (M, N)}),
    "associate-rhs-lhs": (["mk,kn->mn", "kl,ln->kn"], {"c": (M, K), "a": (K, L), "b": (L, N)}),
    "associate-rhs-rhs": (["mn,kn->mk", "kl,ln->kn"], {"c": (M, N), "a": (K, L), "b": (L, N)}),
    "add-of-contractions-rhs": (["mk,kn->mn"] * 2, {"x": (M, K), "a": (K, N), "b": (K, N)}),
    "sub-of-contractions-rhs": (["mk,kn->mn"] * 2, {"x": (M, K), "a": (K, N), "b": (K, N)}),
    "add-of-contractions-lhs": (["bmk,bkn->bmn"] * 2, {"x": (2, K, N), "a": (2, M, K), "b": (2, M, K)}),
    "sub-of-contractions-lhs": (["mk,kn->mn"] * 2, {"x": (K, N), "a": (M, K), "b": (M, K)}),
    "integer-contraction": (["mk,kn->mn"], {"a": (M, K), "b": (K, N)}),
    "integer-contraction-wide": (["mk,nk->mn"], {"a": (M, K), "b": (N, K)}),
    "integer-contraction-of-difference": (["mk,kn->mn"], {"a": (M, K), "z": (), "b": (K, N)}),
}
# Variables that are constants of one number.
NUMBERS = {"integer-contraction-of-difference": {"z": 3.0}, "zero-added": {"z": -0.0}}
# Places whose sums of products of 8-bit integers need more than 24 and than 31 bits.
LONG, LONGER = 1100, 131100
# Shapes that violate `uniform(s)` or `carried(s)`: the scale varies along a dimension that the move loses.
BAD_SCALES = {
    "delayed-scale-lhs": (M, K), "delayed-scale-rhs": (K, 1), "delayed-normalisation-lhs": (K,), "delayed-normalisation-rhs": (1, K),
    "scale-into-lhs": (M, N), "scale-into-rhs": (M, 1), "affine-norm-into-rhs": (M, 1), "scale-across-to-rhs": (M, 1), "scale-across-to-lhs": (N, 1),
}
# Extents of the letters in the rules' FLOP formulas, where the plain case has others than (m, n) = (3, 5), or another formula for its shapes.
DIMS = {"add-of-contractions-lhs": {"m": 2 * M}, **{f"reduce-{kind}-twice": {"n": 1, "k": 5} for kind in ("add", "mul", "max", "min", "and", "or")}}
FORMULAS = {"square-of-common": "3mn -> 2mn + m", "square-minus-product": "3mn -> 2mn"}


@dataclasses.dataclass
class Case:
    rule: str
    what: str  # "positive", or the guard that a near miss violates.
    expression: str
    shapes: dict[str, tuple[int, ...]]
    element: str = "f64"
    licence: str = "reassociating"
    wrapped: frozenset[str] = frozenset()  # Variables made non-negative by an abs in front.
    constants: frozenset[str] = frozenset()  # Variables that are constants.
    axes: tuple[int, ...] = (-1,)
    keep: bool = True
    einsums: tuple[str, ...] = ()
    cast: tuple[str, str] = ("f32", "f64")
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)
    result: str | None = None  # Element type of the outermost contraction, where it is another.
    nonzero: bool = False
    powers: frozenset[str] = frozenset()  # Constants that are powers of two.
    magnify: float = 1  # Of the numbers of constants.
    number_shape: tuple[int, ...] = ()  # Of the constants that are numbers in the expression.
    swap: bool = False  # Operands of commutative ops the other way round.


def words(expression: str) -> list[str]:
    return re.findall(r"\(([a-z0-9.]+)", expression)


def variables(expression: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\?([a-z]+)", expression)))


def arguments_of(rule: dict, kind: str) -> frozenset[str]:
    """Variables x of the guards kind(x)."""
    return frozenset(m[1] for m in (re.fullmatch(kind + r"\((\w+)\)", guard) for guard in rule["guards"]) if m)


def base(rule: dict) -> Case:
    """The plain positive case of a rule."""
    ops, names = words(rule["before"]), variables(rule["before"])
    element = "i32" if INT_ONLY & set(ops) else "f64"
    case = Case(rule["name"], "positive", rule["before"], {name: (3, 5) for name in names}, element, rule["contract"],
                arguments_of(rule, "non-negative"), arguments_of(rule, "constant"), nonzero=bool(DIVIDING & set(ops)))
    for name in arguments_of(rule, "uniform"):
        case.shapes[name] = (3, 1)
    if (name := rule["name"].removesuffix("-rounded")) in CONTRACTIONS:
        einsums, case.shapes = CONTRACTIONS[name]
        case.shapes, case.einsums = dict(case.shapes), tuple(einsums)
    if rule["name"].endswith("-rounded"):
        case.element = "f16"
    if "broadcast" in ops:
        case.shapes["a"] = (3, 1)
    if "cast" in ops:
        case.cast = ("i8", "f32") if case.einsums else case.cast
        case.element = case.cast[1]
    case.numbers = dict(NUMBERS.get(rule["name"], {}))
    case.shapes.update({name: () for name in case.numbers})
    return case


def counted(rule: dict) -> tuple[Case, int, int]:
    """The case that a rule's FLOP formula is about, and what the formula says before and after."""
    case = base(rule)
    case.shapes = dict(case.shapes)
    for names in re.findall(r"for ([A-Z], [A-Z]) of n", rule["gain"]):
        case.shapes.update({name.strip().lower(): (5,) for name in names.split(",")})
    if rule["name"] == "square-of-common":
        case.shapes["s"] = (3, 1)
    return case, *formula(rule)


def formula(rule: dict) -> tuple[int, int]:
    """FLOPs before and after by the rule's formula, for the extents of the plain case."""
    text = re.split(r"[,;(]| for ", FORMULAS.get(rule["name"], rule["gain"]))[0]
    dims = {"m": M, "n": N, "k": K, "l": L, **DIMS.get(rule["name"], {})}

    def total(side: str) -> int:
        terms = [re.fullmatch(r"(\d*)([mnkl]*)", term.strip()) for term in side.split("+")]
        return sum(int(term[1] or 1) * math.prod(dims[letter] for letter in term[2]) for term in terms)

    before, after = text.split("->")
    return total(before), total(after)


def positives(rule: dict, rng: random.Random) -> list[Case]:
    """Variants of the plain case: other shapes, axes, types, operand orders."""
    plain = base(rule)
    ops = set(words(plain.expression))
    found = [plain, dataclasses.replace(plain, swap=True)]
    reduces = any(op.startswith("reduce.") for op in ops)
    uniform = arguments_of(rule, "uniform")
    if reduces:
        rank = 3 if rule["name"].endswith("-twice") else rng.choice((2, 3))
        shape = tuple(rng.randint(2, 4) for _ in range(rank))
        axis = rng.randrange(1, rank)
        small = tuple(1 if d == axis else extent for d, extent in enumerate(shape))
        is_small = uniform | ({"a"} if "broadcast" in ops else set())
        found.append(dataclasses.replace(plain, axes=(axis - rank,), keep=rule["name"].endswith("-twice") or not "broadcast" in ops and rng.random() < 0.5,
                                         shapes={name: small if name in is_small else shape for name in plain.shapes}))
    elif not plain.einsums:
        names = [name for name in plain.shapes if name not in plain.numbers]
        for stretched in ((1, 5), (5,), (3, 1)):
            full = rng.choice(names)
            found.append(dataclasses.replace(plain, shapes={**plain.shapes, **{name: (3, 5) if name == full else stretched for name in names}}))
    if rule["name"].startswith("delayed-"):
        found.append(dataclasses.replace(plain, element="f16"))
    if "exact-scale(a)" in rule["guards"]:
        found.append(dataclasses.replace(plain, element="f16", powers=frozenset("s")))
    if rule["family"] == "quantised":
        found.append(dataclasses.replace(plain, cast=("ui8", "f32")))
    is_float = plain.element == "f64"
    if is_float and "cast" not in ops:
        found.append(dataclasses.replace(plain, element="f32"))
    takes_integers = "float" not in rule["guards"] and not ops & FLOAT_ONLY and not {"wrapped"} & ops and not plain.wrapped
    if takes_integers and is_float and "cast" not in ops and "0.5" not in plain.expression:
        found += [dataclasses.replace(plain, element=element, licence="exact") for element in ("i8", "i64", "ui16") if
                  not (element == "ui16" and {"sign", "abs", "neg"} & ops)]
    return found


def near_misses(rule: dict) -> list[Case]:
    """For each guard a case that violates it and nothing else."""
    found = []
    if rule["after"] == "?a" and re.search(r" [01]\)", rule["before"]):  # A neutral element that makes the result larger.
        found.append(dataclasses.replace(base(rule), what="type", number_shape=(2, 1, 1)))
    for guard in rule["guards"]:
        case = dataclasses.replace(base(rule), what=guard)
        case.shapes = dict(case.shapes)
        kind, _, name = guard.rstrip(")").partition("(")
        if kind == "licence":
            case.licence = "exact"
        elif kind == "float" and rule["family"] == "quantised":
            case.cast, case.element = ("i8", "i32"), "i32"
        elif kind == "bytes":
            case.cast = ("i16", "f32")
        elif kind == "integer":
            case.numbers = {name: 0.5}
        elif kind in ("sum-exact", "sum-fits"):
            places = LONG if kind == "sum-exact" else LONGER
            case.shapes = {key: tuple(places if extent == K else extent for extent in shape) for key, shape in case.shapes.items()}
        elif kind == "float":
            case.element, case.wrapped = "i8", frozenset()
            if case.rule.endswith("-of-scaled"):  # Integers that are known not to be negative.
                case.constants, case.wrapped = frozenset({name for name in ("s",)}), frozenset()
        elif kind == "signed":
            case.element = "ui16"
        elif kind == "no-addend":
            case.numbers = {name: 0.0}
        elif kind == "non-negative":
            case.wrapped = case.wrapped - {name}
        elif kind == "constant":
            case.constants = case.constants - {name}
        elif kind in ("uniform", "carried"):
            case.shapes[name] = BAD_SCALES.get(case.rule.removesuffix("-rounded"), (3, 5))
            if case.rule.removesuffix("-rounded") not in CONTRACTIONS:
                case.keep = False
                if "broadcast" in words(case.expression):
                    case.shapes[name] = (5, 5)  # Stretches nothing.
        elif kind == "non-empty":
            case.shapes = {key: tuple(0 if extent == 5 else extent for extent in shape) for key, shape in case.shapes.items()}
            if "broadcast" in words(case.expression):
                case.axes = (-1,)
        elif kind == "monotone-cast":
            case.cast, case.element = ("i32", "i8"), "i8"
        elif kind == "exact-scale":
            case.element = "f16"
        elif kind == "narrow":
            case.element = "f64"
        elif kind == "in-range":
            case.magnify = 3e3
        elif kind == "same-ring":
            case.element, case.result, case.licence = "i8", "i32", "reassociating"
        elif kind == "same-maps":
            case.einsums = (case.einsums[0], {"mk,kn->mn": "km,kn->mn", "bmk,bkn->bmn": "bmk,bnk->bmn"}[case.einsums[1]])
            square = {"mk,kn->mn": (4, 4), "bmk,bkn->bmn": (4, 4, 4)}[case.einsums[0]]
            case.shapes = {key: square for key in case.shapes}
        else:
            raise ValueError(f"rule {rule['name']}: no near miss for guard {guard}")
        found.append(case)
    return found

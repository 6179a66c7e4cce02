"""tg.cast between every pair of element types against numpy and ml_dtypes."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import fractions

import ml_dtypes
import numpy as np

from oracle import DTYPES, MLIR_NAMES, check, evaluate, finish, tensor_type

np.seterr(all="ignore")
NARROW = {"f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E5M2": 57344.0, "f8E5M2FNUZ": 57344.0, "f4E2M1FN": 6.0}
FLOATS = ["f64", "f32", "f16", "bf16"]
INTS = ["i64", "i32", "i16", "i8", "i4", "i2", "ui64", "ui32", "ui16", "ui8", "ui4", "ui2"]
INTEGER_NAMES = {DTYPES[name].name for name in INTS}


def all_values(name):
    """Every value of a type of at most 16 bits, a spread of the others; integers at the edges of all widths."""
    dtype = DTYPES[name]
    if name in INTS:
        bits = int("".join(c for c in name if c.isdigit()))
        low, high = (0, 2**bits) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        if bits <= 8:
            return np.arange(low, high).astype(dtype)
        edges = {s * 2**k + d for k in range(bits) for d in (-3, -2, -1, 0, 1, 2, 3) for s in (-1, 1)}
        # Ties and near-ties of f32, f16 and bf16.
        edges |= {s * (2**k + 2 ** (k - m) + d) for k in range(12, bits) for m in (8, 9, 11, 12, 24, 25) for d in (-1, 0, 1)
                  for s in (-1, 1) if k >= m}
        return np.array(sorted(e for e in edges if low <= e < high), dtype=dtype)
    if dtype.itemsize == 1:
        codes = np.arange(16 if name == "f4E2M1FN" else 256, dtype=np.uint8)
        return codes.view(dtype)
    if dtype.itemsize == 2:
        return np.arange(65536, dtype=np.uint16).view(dtype)
    rng = np.random.default_rng(1)
    spread = np.concatenate([rng.standard_normal(4000) * 10.0 ** rng.integers(-44, 20, 4000), np.arange(-600, 600) / 8.0])
    edges = np.array([s * (2.0**k + d) for k in range(0, 65) for d in (-1.0, -0.5, 0.0, 0.5, 1.0) for s in (1, -1)])
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return np.concatenate([spread, edges, special]).astype(dtype)


def to_integer(x, name):
    bits = int("".join(c for c in name if c.isdigit()))
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    out = []
    for v in x.astype(np.float64):
        out.append(0 if np.isnan(v) else low if v <= low else high if v >= high else int(v))
    return np.array(out, dtype=object).astype(np.int64 if name[0] == "i" else np.uint64).astype(DTYPES[name])


def round_integer(value, name):
    """An integer rounded once, ties to even, to a float type of at most f64's precision."""
    mantissa = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8E4M3FN": 4, "f8E4M3FNUZ": 4, "f8E5M2": 3, "f8E5M2FNUZ": 3}[name]
    shift = max(abs(value).bit_length() - mantissa, 0)
    return float(round(fractions.Fraction(abs(value), 2**shift)) * 2**shift) * (-1 if value < 0 else 1)


def want_of(x, source, target, saturate=True):
    dtype = DTYPES[target]
    if target == "i1":
        return x.astype(np.float64) != 0 if source not in INTS else x.astype(object) != 0
    if target in INTS and source not in INTS and source != "i1":
        return to_integer(x, target)
    if target in INTS:
        bits = int("".join(c for c in target if c.isdigit()))
        wrapped = [int(v) % 2**bits for v in x.astype(object)]
        values = [v - 2**bits if target[0] == "i" and v >= 2 ** (bits - 1) else v for v in wrapped]
        return np.array(values, dtype=np.int64 if target[0] == "i" else np.uint64).astype(dtype)
    wide = x.astype(np.float64) if source not in INTS else np.array([round_integer(int(v), "f64" if target in ("f4E2M1FN", "f8E8M0FNU") else target) for v in x.astype(object)])
    if target in NARROW:
        limit = NARROW[target]
        rounded = wide.astype(dtype).astype(np.float64)
        nan = 0.0 if target == "f4E2M1FN" else np.nan
        over = (np.abs(wide) > limit) & ~((np.abs(rounded) <= limit) & ~np.isnan(rounded))
        ends = np.copysign(limit, wide) if saturate or target == "f4E2M1FN" else (
            np.copysign(np.inf, wide) if target == "f8E5M2" else np.full_like(wide, np.nan))
        return np.where(np.isnan(wide), nan, np.where(over, ends, rounded)).astype(dtype)
    return wide.astype(dtype)


def power_of_two(x, up, saturate):
    """f8E8M0FNU by its definition."""
    out = []
    for v in (x.astype(np.float64) if x.dtype.name not in INTEGER_NAMES else x.astype(object)):
        if np.isnan(float(v)) or v < 0:
            out.append(np.nan)
        elif v < 2.0**-127 or v > 2.0**127:
            out.append((2.0**-127 if v < 1 else 2.0**127) if saturate else np.nan)
        else:
            exact = fractions.Fraction(v if isinstance(v, int) else float(v))
            exponent = np.frexp(float(v))[1] - 1
            exponent -= int(fractions.Fraction(2) ** int(exponent) > exact)  # A large integer may have rounded up.
            ratio = exact / fractions.Fraction(2) ** int(exponent)  # In [1, 2).
            out.append(2.0 ** (exponent + int(ratio > 1 if up else ratio >= fractions.Fraction(3, 2))))
    return np.array(out).astype(ml_dtypes.float8_e8m0fnu)


def run(source, targets):
    x = all_values(source)
    body, results, wants = [], [], []
    for target in targets:
        variants = ["", "{saturate = false}"] if target in NARROW else [""]
        if target == "f8E8M0FNU":
            variants = ["", "{round_up = true}", "{saturate = false}"]
        for variant in variants:
            name, kind = f"%r{len(results)}", f"tensor<{x.size}x{target}>"
            body.append(f"{name} = tg.cast %0 {variant} : {tensor_type(x)} to {kind}")
            results.append((name, kind))
            if target == "f8E8M0FNU":
                wants.append(power_of_two(x, "up" in variant, "saturate" not in variant))
            else:
                wants.append(want_of(x, source, target, "saturate" not in variant))
    for text, got, want in zip(body, evaluate("\n".join(body), results, [x]), wants):
        check(text, got, want)


for source in FLOATS + list(NARROW) + ["f8E8M0FNU"] + INTS:
    run(source, [t for t in FLOATS + list(NARROW) + ["f8E8M0FNU"] + INTS + ["i1"] if t != source])
flags = np.array([False, True])
for target in FLOATS + list(NARROW) + INTS:
    kind = f"tensor<2x{target}>"
    check(f"i1 to {target}", *evaluate(f"%r = tg.cast %0 : tensor<2xi1> to {kind}", [("%r", kind)], [flags]),
          flags.astype(np.float32).astype(DTYPES[target]))
assert set(DTYPES) == set(FLOATS + list(NARROW) + ["f8E8M0FNU", "i1"] + INTS)
finish("cast")

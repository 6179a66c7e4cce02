"""Compiled kernels convert every code of the 8-bit float formats, and every value (with its neighbours and ties) to a code, as
ml_dtypes does. f8E8M0FNU's code 255 is NaN, f8E4M3FNUZ's and f8E5M2FNUZ's is 128."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

np.seterr(all="ignore")
FORMATS = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2": ml_dtypes.float8_e5m2,
           "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu}
WIDE = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
CODES = np.arange(256, dtype=np.uint8)


def values_of(dtype) -> np.ndarray:
    """Each finite value, both neighbours in f32, and the middles between values."""
    exact = CODES.view(dtype).astype(np.float64)
    exact = np.unique(exact[np.isfinite(exact)])
    points = np.concatenate([exact, (exact[1:] + exact[:-1]) / 2]).astype(np.float32)
    near = np.concatenate([points, np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(-np.inf))])
    # ml_dtypes takes what lies between 2^-127 and 2^-126, subnormal in f32, for the greater; test/Reference covers it by definition.
    least = 2.0**-126 if exact.min() > 0 else exact.min()
    inside = near[(near >= least) & (near <= exact.max())]
    return np.concatenate([inside, np.float32([np.nan])])


def module(name: str, count: int) -> str:
    codes, narrow, wide = "tensor<256xui8>", f"tensor<256x{name}>", f"tensor<{count}xf32>"
    lines = [f"%f = tg.bitcast %codes : {codes} to {narrow}"]
    results = []
    for target in WIDE:
        lines.append(f"%{target} = tg.cast %f : {narrow} to tensor<256x{target}>")
        results.append((f"%{target}", f"tensor<256x{target}>"))
    lines += [f"%n = tg.cast %values : {wide} to tensor<{count}x{name}>", f"%c = tg.bitcast %n : tensor<{count}x{name}> to tensor<{count}xui8>"]
    results.append(("%c", f"tensor<{count}xui8>"))
    types = ", ".join(f'{t} {{tg.name = "{v[1:]}"}}' for v, t in results)
    body = "\n".join(lines)
    return (f'func.func @main(%codes: {codes} {{tg.name = "codes"}}, %values: {wide} {{tg.name = "values"}}) -> ({types}) {{\n{body}\n'
            f"return {', '.join(v for v, _ in results)} : {', '.join(t for _, t in results)}\n}}\n")


def run(folder: pathlib.Path, name: str) -> dict[str, np.ndarray]:
    values = values_of(FORMATS[name])
    (folder / "m.mlir").write_text(module(name, values.size))
    np.save(folder / "codes.npy", CODES)
    np.save(folder / "values.npy", values)
    subprocess.run(["weft-compile", folder / "m.mlir", "-o", folder / "m.weft", "--quiet"], check=True)
    outputs = [*WIDE, "c"]
    subprocess.run(["weft-run", folder / "m.weft", f"--input=codes=@{folder}/codes.npy", f"--input=values=@{folder}/values.npy"]
                   + [f"--output={o}=@{folder}/{o}.npy" for o in outputs], check=True)
    return {"values": values, **{o: np.load(folder / f"{o}.npy") for o in outputs}}


def main() -> int:
    bad = 0
    for name, dtype in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            got = run(pathlib.Path(folder), name)
        for target, wide in WIDE.items():
            want = CODES.view(dtype).astype(wide)
            same = (got[target] == want) | (np.isnan(got[target]) & np.isnan(want))
            bad += np.count_nonzero(~same)
            print(f"{name} to {target}: {np.count_nonzero(same)} of 256, NaN: {[int(c) for c in CODES[np.isnan(got[target])]]}")
        want = got["values"].astype(dtype)
        same = (got["c"] == want.view(np.uint8)) | (np.isnan(got["c"].view(dtype)) & np.isnan(want))
        bad += np.count_nonzero(~same)
        print(f"f32 to {name}: {np.count_nonzero(same)} of {same.size}")
        if not same.all():
            print(got["values"][~same][:5], got["c"][~same][:5], want.view(np.uint8)[~same][:5])
    print(f"{bad} differ")
    return int(bad != 0)


sys.exit(main())

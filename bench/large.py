#!/usr/bin/env python3
"""Tensors of more than 2^31 elements and 2^32 bytes on a GPU: offsets that do not fit 32 bits.

    bench/large.py --prepare [--bundles=build/large] [--target=sm_90a] [--build=build]      where the compiler is
    bench/large.py [--bundles=build/large]                                                where the GPU is (40 GB of memory, PyTorch)

Every graph has static extents, and one has symbolic ones. The result is compared with PyTorch's over the first, the last and some rows between
them, which lie on both sides of 2^31 elements and of 2^32 and 2^33 bytes.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "kernels-runtime" / "python")]

from measure import bundles  # noqa: E402

ROWS, COLUMNS, WIDE = 70_000, 70_001, 2_200_000

# name: (inputs, output's shape, nodes, the same in PyTorch over chosen rows `r` of the output)
GRAPHS = {
    "add": (f"float16[{ROWS},{COLUMNS}] a, float16[{COLUMNS}] b", (ROWS, COLUMNS), "y = Add(a, b)", lambda a, b, r: a[r] + b),
    "add_dynamic": ("float16[N,M] a, float16[M] b", (ROWS, COLUMNS), "y = Add(a, b)", lambda a, b, r: a[r] + b),
    "transpose": (f"float16[{ROWS},{COLUMNS}] a", (COLUMNS, ROWS), "y = Transpose(a)", lambda a, r: a.T[r]),
    "sum_columns": (f"float16[{COLUMNS},{ROWS}] a", (COLUMNS,), "i = Constant<value_ints=[1]>() y = ReduceSum<keepdims=0>(a, i)",
                    lambda a, r: a[r].float().sum(1).half()),
    "softmax": (f"float16[{WIDE},1024] a", (WIDE, 1024), "y = Softmax(a)", lambda a, r: a[r].float().softmax(1).half()),
    "matmul": (f"float16[{WIDE},1024] a, float16[1024,1024] b", (WIDE, 1024), "y = MatMul(a, b)", lambda a, b, r: a[r] @ b),
    "gather": (f"float16[{WIDE},1024] a, int64[64] i", (64, 1024), "y = Gather(a, i)", lambda a, i, r: a[i][r]),
}


def prepare(args: argparse.Namespace) -> int:
    import onnx
    from harness import backends
    args.bundles.mkdir(parents=True, exist_ok=True)
    weft = backends.WeftBackend(args.build, target=args.target)
    for name, (inputs, shape, nodes, _) in GRAPHS.items():
        dims = "N,M" if "N," in inputs else ",".join(map(str, shape))
        text = f'<ir_version: 10, opset_import: ["" : 22]> {name} ({inputs}) => (float16[{dims}] y) {{ {nodes} }}'
        onnx.save(onnx.parser.parse_model(text), args.bundles / "model.onnx")
        outcome = weft.compile(args.bundles / "model.onnx", args.bundles / f"{name}.weft")
        (args.bundles / "model.onnx").unlink()
        if outcome.code:
            print(f"large: {name}: {outcome.stderr.strip()[:400]}", file=sys.stderr)
            return 1
    print(f"{args.bundles}: {len(GRAPHS)} bundles, {bundles.finish(args)}")
    return 0


def _inputs(session, name: str) -> dict:
    """Random values by the graph's ports; extents of symbols are those of `add`."""
    import torch
    torch.manual_seed(1)
    feeds = {}
    for port in session.inputs:
        shape = {"add_dynamic": {"a": (ROWS, COLUMNS), "b": (COLUMNS,)}}.get(name, {}).get(port.name) or tuple(port.dims)
        if port.name == "i":
            feeds["i"] = torch.linspace(0, WIDE - 1, 64, dtype=torch.float64, device="cuda").long()
        else:
            feeds[port.name] = torch.randn(shape, dtype=torch.float16, device="cuda") * (0.03 if port.name == "b" else 1)
    return feeds


def run(args: argparse.Namespace) -> int:
    import torch
    import weft
    weft.load_library(args.bundles / bundles.LIBRARY)
    failed = 0
    for name, (_, shape, _, reference) in GRAPHS.items():
        session = weft.Session(str(args.bundles / f"{name}.weft"), device="cuda")
        feeds = _inputs(session, name)
        out = torch.full(shape, float("nan"), dtype=torch.float16, device="cuda")
        session.run(feeds, out={"y": out})
        torch.cuda.synchronize()
        rows = torch.linspace(0, shape[0] - 1, 301, dtype=torch.float64, device="cuda").long()
        want, got = reference(*feeds.values(), rows).double(), out[rows].double()
        error = float((got - want).norm() / want.norm())
        missing = int(out.view(-1)[:: 9_973].isnan().sum())
        good = error <= 5e-3 and missing == 0
        failed += not good
        print(f"{name:12} {max(f.numel() for f in feeds.values()) / 2**31:5.2f} x 2^31 elements   error {error:.1e}   {'ok' if good else 'WRONG'}", flush=True)
        del session, feeds, out, want, got
        torch.cuda.empty_cache()
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundles.add_arguments(parser, "large", target=True)
    args = parser.parse_args()
    return prepare(args) if args.prepare else run(args)


if __name__ == "__main__":
    sys.exit(main())

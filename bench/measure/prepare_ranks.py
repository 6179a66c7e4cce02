"""Bundles of decoders: the program of one rank, and that of several, with collectives in turn and beside kernels."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper

from . import bundles, ranks


def bundle_name(case: ranks.Case, kind: str) -> str:
    return f"{case.name}.{kind}.weft"


def compile_flags(case: ranks.Case, net: ranks.Net, kind: str, args: argparse.Namespace) -> list[str]:
    """`kind`: one, off, on."""
    flags = [str(args.bundles / f"{case.net}.{case.capacity}.onnx"), f"--target={args.target}", "--weights=external", "-o", str(args.bundles / bundle_name(case, kind)),
             f"--dim=batch={case.batch}", f"--dim=sequence={case.tokens}", f"--dim=total={case.total}", "--quiet"]
    if kind != "one":
        flags += [f"--mesh=tp:{args.ranks}", f"--shard={','.join(ranks.shards(net, args.ranks))}", f"--overlap={args.overlap if kind == 'on' else 'off'}"]
    return flags


def write_model(net: ranks.Net, capacity: int, path: pathlib.Path, dtype) -> dict:
    """The graph, and beside it a file without bytes; what is to be filled in where it runs."""
    import decoder
    decoder.group_query(path, capacity, decoder.Shape(**dataclasses.asdict(net), dtype=dtype), sparse=True)
    model, external, inline = onnx.load(path, load_external_data=False), [], {}
    for tensor in model.graph.initializer:
        where = {entry.key: entry.value for entry in tensor.external_data}
        if where:
            external.append({"name": tensor.name, "shape": list(tensor.dims), "offset": int(where["offset"]), "bytes": int(where["length"])})
        else:
            inline[tensor.name] = numpy_helper.to_array(tensor)
    np.savez(path.with_suffix(".npz"), **{name: value for name, value in inline.items() if name.endswith(("weight", "_table"))})
    data = pathlib.Path(f"{path}.data")
    size = data.stat().st_size if data.exists() else 0
    data.unlink(missing_ok=True)  # Filled where it runs; tables are made anew there.
    return {"data": data.name, "size": size, "tensors": external}


def prepare(args: argparse.Namespace) -> int:
    args.bundles.mkdir(parents=True, exist_ok=True)
    dtype = np.float32 if args.target == "cpu" else np.float16
    manifest = {"commit": bundles.commit(), "target": args.target, "ranks": args.ranks, "models": {}, "cases": {}}
    for case in args.cases:
        net, model = args.nets[case.net], args.bundles / f"{case.net}.{case.capacity}.onnx"
        if model.name not in manifest["models"]:
            manifest["models"][model.name] = write_model(net, case.capacity, model, dtype)
        with open(f"{model}.data", "wb") as file:
            file.truncate(manifest["models"][model.name]["size"])
        for kind in ("one", "off", "on"):
            subprocess.run([str(args.build / "bin" / "weft-compile"), *compile_flags(case, net, kind, args)], check=True)
        pathlib.Path(f"{model}.data").unlink()
        manifest["cases"][case.name] = {"model": model.name}
        print(f"{case.name}: {', '.join(kind for kind in ('one', 'off', 'on'))}", flush=True)
        (args.bundles / ranks.MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{args.bundles}: {bundles.finish(args)}")
    return 0

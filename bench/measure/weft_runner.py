"""A bundle on PyTorch's current stream and its tensors, without copies."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import sys
from typing import Mapping

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "kernels-runtime" / "python"))

import weft  # noqa: E402


class WeftRunner:
    """A session whose inputs and outputs are fixed tensors of the current GPU; `run` starts it on the current stream.

    Outputs hold NaN until the first run: what a kernel does not write shows. From the second run on the session replays a CUDA graph.
    """

    def __init__(self, library: pathlib.Path, bundle: pathlib.Path, tensors: Mapping[str, torch.Tensor], outputs: Mapping[str, tuple],
                 weights_folder: pathlib.Path | None):
        weft.load_library(library)
        self.session = weft.Session(weft.Bundle(str(bundle), weights_folder=weights_folder), device=f"cuda:{torch.cuda.current_device()}")
        self.feeds = {port.name: tensors[port.name] for port in self.session.inputs}
        dtype = next(iter(tensors.values())).dtype
        self.outputs = {name: torch.full(shape, float("nan"), dtype=dtype, device="cuda") for name, shape in outputs.items()}

        self.bound = {}  # by stream: tensors are looked at once

    def run(self) -> None:
        stream = torch.cuda.current_stream()
        if stream.cuda_stream not in self.bound:
            self.bound[stream.cuda_stream] = self.session.bind(self.feeds, stream=stream, out=self.outputs)
        self.bound[stream.cuda_stream]()

    @property
    def kernels(self) -> int:
        """Kernel starts of one run."""
        return len(self.session.dispatches())

    @property
    def on_host(self) -> list[str]:
        """Kernels that do not run on the GPU."""
        return [dispatch.kernel for dispatch in self.session.dispatches() if dispatch.device == "cpu"]

    @property
    def replayed(self) -> bool:
        """Whether runs were replays of a CUDA graph, or one launch, which is not recorded."""
        return self.session.statistics()["graphs_run"] > 0 or self.kernels == 1

"""What a case is, its data, and what it costs at least."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import functools
import math
import pathlib
import zlib
from typing import Callable, Mapping

import ml_dtypes
import numpy as np
import onnx

from .numpy_ops import NumpyOps
from .onnx_ops import OnnxOps, Spec

DTYPES = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}

# Relative L2 error allowed against the reference: bf16 has three bits less than f16.
TOLERANCE = {"f32": 1e-4, "f16": 5e-3, "bf16": 2e-2}

# What nvcc-level code has been seen to reach on one H100.
FLOPS_PER_MS, BYTES_PER_MS = 800e9, 3.0e9

# Elements of the table that random tensors are cut from. Prime, so that rows of a matrix do not repeat one another, and far more than a
# tile: to a kernel the values are random, yet a gigabyte is drawn at the speed of memory.
_PERIOD = 8_388_593


@functools.lru_cache(maxsize=1)
def normals() -> np.ndarray:
    """The table."""
    return np.random.Generator(np.random.Philox(key=20260121)).standard_normal(_PERIOD, np.float32)


@functools.lru_cache(maxsize=4)
def _scaled(std: float, mean: float, dtype: np.dtype) -> np.ndarray:
    return (normals() * np.float32(std) + np.float32(mean)).astype(dtype)


def _angles(shape: tuple[int, ...]) -> np.ndarray:
    """Rotary angles [position, feature]: the second half of the features repeats the first."""
    positions, features = shape
    rates = 10000.0 ** (-np.arange(features // 2) / (features // 2))
    return np.tile(np.arange(positions)[:, None] * rates[None], (1, 2))


def draw(name: str, spec: Spec, dtype: np.dtype) -> np.ndarray:
    """The values of the tensor of that name: the same on every machine."""
    if spec.kind in ("cos", "sin"):
        return getattr(np, spec.kind)(_angles(spec.shape)).astype(dtype)
    count = math.prod(spec.shape)
    start = zlib.crc32(name.encode()) % _PERIOD
    if count <= _PERIOD // 8:  # Without the whole table in that type.
        values = normals()[np.arange(start, start + count) % _PERIOD] * np.float32(spec.std) + np.float32(spec.mean)
        return values.astype(dtype).reshape(spec.shape)
    return np.resize(np.roll(_scaled(spec.std, spec.mean, dtype), -start), spec.shape)


@dataclasses.dataclass(frozen=True)
class Case:
    """`build(ops, **sizes)` declares inputs and weights, computes, and declares outputs.

    opset    what the graph is written in: from 22 on, convolutions and normalisations may be bf16; from 23 on, exporters have operators
             for attention and RMS normalisation
    weights  how the graph holds its weights for the GPU: "inputs" (the peers' own device memory serves Weft too), or "initializers"
             (convolutions, and matrices as exporters write them: a compiler lays them out anew)
    """

    name: str
    build: Callable
    sizes: Mapping[str, object]
    small_sizes: Mapping[str, object]
    opset: int = 20
    weights: str = "inputs"

    @functools.cached_property
    def _trace(self) -> OnnxOps:
        ops = OnnxOps(self.name, self.opset, "bf16")
        self.forward(ops)
        return ops

    @property
    def small(self) -> Case:
        """The same graph at a size for a CPU."""
        return dataclasses.replace(self, name=f"{self.name}_small", sizes=self.small_sizes)

    def forward(self, ops):
        """Runs the definition; returns what `ops` made of the outputs, by name."""
        self.build(ops, **self.sizes)
        return ops.outputs

    @property
    def inputs(self) -> dict[str, Spec]:
        return self._trace.input_specs

    @property
    def weight_specs(self) -> dict[str, Spec]:
        return self._trace.weight_specs

    @property
    def output_shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: value.shape for name, value in self._trace.outputs.items()}

    @property
    def flops(self) -> int:
        """Of contractions, convolutions and attention; a causal mask halves the latter."""
        return self._trace.flops

    @property
    def written(self) -> int:
        """Every output once, in a 16-bit type."""
        return 2 * sum(math.prod(shape) for shape in self.output_shapes.values())

    @property
    def bytes(self) -> int:
        """Every input, weight and output once, in a 16-bit type."""
        return self.written + 2 * sum(math.prod(s.shape) for s in (*self.inputs.values(), *self.weight_specs.values()))

    @property
    def floor_ms(self) -> float:
        return max(self.flops / FLOPS_PER_MS, self.bytes / BYTES_PER_MS)

    def draw(self, dtype: str) -> dict[str, np.ndarray]:
        """Inputs and weights by name."""
        return {name: draw(name, spec, DTYPES[dtype]) for name, spec in (*self.inputs.items(), *self.weight_specs.items())}

    def model(self, dtype: str, weights: str | None = None, tensors: Mapping[str, np.ndarray] | None = None) -> onnx.ModelProto:
        """The ONNX graph. `weights`: "inputs", "embedded" (of `tensors`, or drawn) or "external" (NAME.weights.bin, see write_weights);
        default: inputs, or external where the case wants initializers."""
        weights = weights or {"inputs": "inputs", "initializers": "external"}[self.weights]
        ops = OnnxOps(self.name, self.opset, dtype)
        self.forward(ops)
        if weights == "inputs":
            return ops.model(())
        if weights == "embedded":
            given = tensors or {name: draw(name, spec, DTYPES[dtype]) for name, spec in self.weight_specs.items()}
            return ops.model([onnx.numpy_helper.from_array(given[name], name) for name in self.weight_specs])
        return ops.model([self._external(name, dtype, offset, size) for name, (offset, size) in self._offsets(dtype).items()])

    def _offsets(self, dtype: str) -> dict[str, tuple[int, int]]:
        """Place and bytes of each weight in the external file, at multiples of 64."""
        places, offset = {}, 0
        for name, spec in self.weight_specs.items():
            size = math.prod(spec.shape) * DTYPES[dtype].itemsize
            places[name] = (offset, size)
            offset += size + -size % 64
        return places

    def _external(self, name: str, dtype: str, offset: int, size: int) -> onnx.TensorProto:
        tensor = onnx.TensorProto(name=name, data_type=onnx.helper.np_dtype_to_tensor_dtype(DTYPES[dtype]),
                                  dims=self.weight_specs[name].shape, data_location=onnx.TensorProto.EXTERNAL)
        for key, value in (("location", f"{self.name}.{dtype}.weights.bin"), ("offset", offset), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    def write_weights(self, dtype: str, folder: pathlib.Path) -> pathlib.Path:
        """The file that external initializers refer to."""
        path = folder / f"{self.name}.{dtype}.weights.bin"
        with open(path, "wb") as file:
            for name, (offset, _) in self._offsets(dtype).items():
                file.write(b"\0" * (offset - file.tell()))
                file.write(np.ascontiguousarray(draw(name, self.weight_specs[name], DTYPES[dtype])).view(np.uint8))
        return path

    def reference(self, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs in f64, for the given (rounded) inputs and weights."""
        return self.forward(NumpyOps({name: value.astype(np.float64) for name, value in tensors.items()}))

"""The ONNX backend node cases of the installed onnx package, as plain data."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import fnmatch
import re
import warnings

import numpy as np
import onnx
from onnx import numpy_helper


@dataclasses.dataclass
class Case:
    """One node case. `data` holds (inputs, outputs) pairs; an input that the model omits is absent from its graph as well."""

    name: str
    model: onnx.ModelProto
    data: list[tuple[list, list]]
    rtol: float
    atol: float
    operator: str  # the operator under test; for an `_expanded` form the one whose function body it is


def first_operator(model: onnx.ModelProto) -> str:
    node = model.graph.node[0]
    return f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def to_array(value):
    """Arrays stay, scalars become 0-d arrays, TensorProtos become arrays (ml_dtypes for types numpy lacks), lists are sequences."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SequenceProto):
        return [to_array(v) for v in numpy_helper.to_list(value)]
    if isinstance(value, onnx.OptionalProto):
        return numpy_helper.to_optional(value)
    if value is None or isinstance(value, np.ndarray):
        return value
    if isinstance(value, (list, tuple)):
        return [to_array(v) for v in value]
    return np.asarray(value)


def load(pattern: str | None = None) -> list[Case]:
    """All node cases whose name matches the glob (or comma-separated globs)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The cases' own generators overflow and divide by zero on purpose.
        from onnx.backend.test.loader import load_model_tests
        raw = load_model_tests(kind="node")
    globs = pattern.split(",") if pattern else ["*"]
    operators = {case.name: first_operator(case.model) for case in raw}
    cases = []
    for case in raw:
        if any(fnmatch.fnmatchcase(case.name, g) or fnmatch.fnmatchcase(case.name, f"test_{g}") for g in globs):
            cases.append(Case(case.name, case.model, case.data_sets, case.rtol, case.atol,
                              operators.get(re.sub(r"_expanded.*$", "", case.name), operators[case.name])))
    return sorted(cases, key=lambda c: c.name)

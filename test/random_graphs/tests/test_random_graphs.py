"""The random graph suite itself: graphs are valid and repeat, and what is wrong is found and made small."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import dataclasses
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import attention  # noqa: E402
import indices  # noqa: E402
import products  # noqa: E402
import run_extents  # noqa: E402
import run_random  # noqa: E402
import run_symbolic  # noqa: E402
import windows  # noqa: E402
from case import BF16, F16, F32, Case, Node, difference, feeds_of, model_of  # noqa: E402
from check import check, shrink  # noqa: E402
from generate import generate  # noqa: E402
from harness import backends  # noqa: E402
from variants import InOrt  # noqa: E402

BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", "build"))


class Attention(unittest.TestCase):
    def test_large_draws_are_cut_to_what_a_graph_may_hold(self):
        for seed in (47, 67, 374, 409):  # Repeated heads of 2^20 elements and more.
            self.assertTrue(attention.generate(seed).nodes)


class Mutant(InOrt):
    """onnxruntime with every `before` computed as `after`."""

    def __init__(self, before: str, after: str):
        super().__init__("ort", BUILD, loose=True)
        self.before, self.after = before, after

    def run(self, model, feeds):
        proto = onnx.load(model)
        for node in proto.graph.node:
            node.op_type = self.after if node.op_type == self.before else node.op_type
        onnx.save(proto, model)
        return backends.OrtBackend().run(model, feeds)


class Apart(InOrt):
    """(x + y) * z as x * z + y * z."""

    def __init__(self, distributes: bool):
        super().__init__("apart", BUILD)
        self.distributes = distributes

    def skips(self, case):
        return False

    def run(self, model, feeds):
        x, y, z = feeds.values()
        with np.errstate(all="ignore"):
            return [x * z + y * z]


def chain() -> Case:
    x = np.linspace(-2, 2, 12).astype(F32).reshape(3, 4)
    nodes = [Node("Exp", ["x"], ["a"], [F32], lambda p: [np.exp(p)], {}, 2), Node("Sub", ["a", "x"], ["b"], [F32], lambda p, q: [p - q], {}),
             Node("Abs", ["b"], ["c"], [F32], lambda p: [np.abs(p)], {}, 0), Node("Neg", ["x"], ["d"], [F32], lambda p: [-p], {}, 0)]
    return Case(7, {"x": x}, {}, nodes, ["c", "d"])


class Graphs(unittest.TestCase):
    def test_a_seed_is_a_graph(self):
        for seed in (0, 17, 2**41):
            one, other = generate(seed), generate(seed)
            self.assertEqual(model_of([one]).SerializeToString(), model_of([other]).SerializeToString())
            for name, value in one.inputs.items():
                self.assertEqual(value.tobytes(), other.inputs[name].tobytes())

    def test_graphs_are_valid(self):
        ops, types = set(), set()
        for seed in range(300):
            case = generate(seed)
            if case.nodes:
                onnx.checker.check_model(model_of([case]), full_check=True)
                ops |= {node.op for node in case.nodes}
                types |= {dtype for node in case.nodes for dtype in node.dtypes}
        self.assertGreater(len(ops), 80)
        self.assertTrue({F32, F16, BF16} <= types)

    def test_rounding_gets_room_and_errors_do_not(self):
        case = chain()
        want, room = case.expected()["c"]
        self.assertIsNone(difference(want * F32.type(1 + 2e-7), want, room))
        self.assertIn("differ", difference(want * F32.type(1 + 1e-4), want, room))
        self.assertIn("expected float32", difference(want.astype(F16), want, room))

    def test_a_step_gets_room_where_a_rounding_decides(self):
        x = np.asarray([0.1, 0.2, 0.7], F32)
        nodes = [Node("Div", ["x", "x"], ["a"], [F32], lambda p, q: [p / q], {}), Node("Floor", ["a"], ["b"], [F32], lambda p: [np.floor(p)], {}, 0),
                 Node("Floor", ["x"], ["c"], [F32], lambda p: [np.floor(p)], {}, 0)]
        expected = Case(1, {"x": x}, {}, nodes, ["b", "c"]).expected(loose=True)
        self.assertGreaterEqual(expected["b"][1].min(), 1)
        self.assertLess(expected["c"][1].max(), 1e-6)

    def test_special_values_must_agree(self):
        want, room = np.asarray([np.nan, np.inf, 1], F32), np.asarray([0, 0, 1e-6])
        self.assertIsNone(difference(want.copy(), want, room))
        self.assertIn("at [0]", difference(np.asarray([0, np.inf, 1], F32), want, room))
        self.assertIn("at [1]", difference(np.asarray([np.nan, -np.inf, 1], F32), want, room))


class Windows(unittest.TestCase):
    def test_windows_are_valid_and_of_all_kinds(self):
        nodes = []
        for seed in range(120):
            case = windows.generate(seed)
            self.assertEqual(model_of([case]).SerializeToString(), model_of([windows.generate(seed)]).SerializeToString())
            onnx.checker.check_model(model_of([case]), full_check=True)
            nodes += case.nodes
        self.assertTrue({"Conv", "ConvTranspose", "MaxPool", "AveragePool", "ReduceMean", "Concat", "Pad"} <= {node.op for node in nodes})
        sliding = [node.attributes for node in nodes if "pads" in node.attributes]
        self.assertTrue(any(one["pads"] != one["pads"][::-1] for one in sliding))
        self.assertTrue(any(max(one.get("dilations", [1])) > 1 for one in sliding))
        self.assertTrue(any(one.get("group", 1) > 1 for one in sliding))
        self.assertEqual({1, 2, 3}, {len(one["strides"]) for one in sliding})

    def test_their_meaning_is_that_of_onnxruntime(self):
        cases = [windows.generate(seed) for seed in range(60)]
        with tempfile.TemporaryDirectory() as folder:
            findings, ran = check(cases, [InOrt("ort", BUILD, loose=True)], pathlib.Path(folder))
        self.assertEqual([], findings)
        self.assertGreater(ran["ort"], 40)

    def test_rotations_share_no_seed(self):
        def seeds(rotation: int) -> set[int]:
            return set(run_random.seeds_of(argparse.Namespace(fresh=0, seeds=None, rotation=rotation, count=5)))

        run_random._state["draw"] = run_random.DRAWS["windows"]
        self.assertEqual(set(range(16)), seeds(7) & seeds(8))
        self.assertEqual([21, 21], [len(seeds(7)), len(seeds(8))])


class Drawn(unittest.TestCase):
    KINDS = {products: {"MatMul", "Gemm", "Softmax", "LayerNormalization", "RMSNormalization", "ReduceSum", "Slice", "Split"},
             indices: {"GatherND", "ScatterND", "ScatterElements", "CumSum", "Resize", "Einsum", "ReverseSequence", "ReduceMax", "Mod"}}

    def test_they_are_valid_and_of_all_kinds(self):
        for module, kinds in self.KINDS.items():
            cases = [module.generate(seed) for seed in range(36)]
            self.assertEqual(model_of(cases[:9]).SerializeToString(), model_of([module.generate(seed) for seed in range(9)]).SerializeToString())
            onnx.checker.check_model(model_of(cases), full_check=True)
            self.assertLessEqual(kinds, {node.op for case in cases for node in case.nodes})

    def test_their_meaning_is_that_of_onnxruntime(self):
        cases = [module.generate(seed) for module in self.KINDS for seed in range(7)]
        missing = ("Resize", "ScatterND")  # It lacks some of their modes and types.
        cases = [dataclasses.replace(case, runs=6) for case in cases if not any(node.op in missing for node in case.nodes)]
        with tempfile.TemporaryDirectory() as folder:
            findings, ran = check(cases, [InOrt("ort", BUILD, loose=True)], pathlib.Path(folder))
        self.assertEqual([], findings)
        self.assertGreater(ran["ort"], 3)

    def test_what_is_wrong_at_some_extents_is_found(self):
        graph = run_extents.draw(3, run_symbolic.SymbolicGraph)
        made = run_symbolic.Model(graph, 3)
        onnx.checker.check_model(made.model(graph.dtype), full_check=True)
        self.assertEqual(run_symbolic.RUNS, len(made.runs()))
        want, near = np.ones((3, 4), F32), [np.full((3, 4), 1 + 2**-11, F32)]
        self.assertEqual("", run_symbolic.difference(near[0], want, near, 1e-4))
        self.assertIn("error", run_symbolic.difference(want * np.float32(1.01), want, near, 1e-4))
        self.assertIn("shape", run_symbolic.difference(want.T, want, near, 1e-4))


class Findings(unittest.TestCase):
    def test_what_is_right_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            findings, ran = check([chain(), chain()], [InOrt("ort", BUILD, loose=True)], pathlib.Path(folder))
        self.assertEqual(([], {"ort": 2}), (findings, ran))

    def test_a_wrong_op_is_found_and_left_alone_with_its_operands(self):
        with tempfile.TemporaryDirectory() as folder:
            variants = [Mutant("Sub", "Add")]
            findings, _ = check([chain()], variants, pathlib.Path(folder))
            self.assertEqual(["c"], [finding.output for finding in findings])
            case, small = shrink(chain(), findings[0], variants, pathlib.Path(folder))
        self.assertEqual(["Sub"], [node.op for node in case.nodes])
        self.assertIn("differ", small.text)

    def test_what_hangs_on_infinities_is_told_apart(self):
        inputs = {name: np.asarray(values, F32) for name, values in {"x": [2, 1], "y": [-1, 1], "z": [np.inf, 3]}.items()}
        nodes = [Node("Add", ["x", "y"], ["a"], [F32], lambda p, q: [p + q], {}), Node("Mul", ["a", "z"], ["b"], [F32], lambda p, q: [p * q], {})]
        case = Case(1, inputs, {}, nodes, ["b"], ordinary=False)
        kinds = []
        with tempfile.TemporaryDirectory() as folder:
            for distributes in (True, False):
                findings, _ = check([case], [Apart(distributes)], pathlib.Path(folder))
                kinds.append([finding.kind for finding in findings])
        self.assertEqual([["infinite operands"], ["differs"]], kinds)

    def test_a_failure_of_one_graph_is_its_own(self):
        broken = chain()
        broken.nodes[0] = Node("NoSuchOp", ["x"], ["a"], [F32], lambda p: [np.exp(p)], {})
        with tempfile.TemporaryDirectory() as folder:
            findings, ran = check([chain(), broken], [InOrt("ort", BUILD, loose=True)], pathlib.Path(folder))
        self.assertEqual((1, 2), (len(findings), ran["ort"]))
        self.assertIn("NoSuchOp", findings[0].text)

    def test_names_stay_apart_in_one_model(self):
        feeds = feeds_of([chain(), chain()])
        self.assertEqual({"c0_x", "c1_x"}, set(feeds))


if __name__ == "__main__":
    unittest.main()

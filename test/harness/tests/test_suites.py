"""The node suite's verdicts and its two-way check, with backends that misbehave on purpose; the model suite's graph rewrites."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import dataclasses
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

TEST = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TEST), str(TEST / "onnx"), str(TEST / "models")]

import generate  # noqa: E402
import gpu  # noqa: E402
import run_models  # noqa: E402
import run_node_suite  # noqa: E402
import transform  # noqa: E402
from node_cases import Case  # noqa: E402
from harness import backends, expected, limits, prepared  # noqa: E402
from runner import Result, Runner, reason_of, within_l2  # noqa: E402


def reshape_case() -> Case:
    node = helper.make_node("Reshape", ["data", "shape"], ["out"])
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, [6]), helper.make_tensor_value_info("shape", TensorProto.INT64, [2])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)])
    data = np.arange(6, dtype=np.float32)
    return Case("reshape", helper.make_model(graph), [([data, np.array([2, 3])], [data.reshape(2, 3)])], 1e-3, 1e-7, "Reshape")


class Fake:
    """A backend whose compile answers are scripted and whose run is a function."""

    def __init__(self, answers, run=None):
        self.answers, self.run_function, self.binds, self.extra = list(answers), run, [], []

    def compile(self, model, bundle, binds=None, extra=(), timeout=60, memory_mb=None):
        self.binds.append(sorted(binds))
        self.extra = list(extra)
        code, text = self.answers.pop(0)
        return limits.Outcome(code, False, "", text, 0.1, 1)

    def run(self, bundle, feeds):
        return self.run_function(feeds)


ASK = (3, "model.onnx: error: node `` (Reshape): input 1 `shape` (shape) is not known at compile time; operands: f32[6], i64[2]; "
       "if it comes from a graph input, fix that with --bind")


COUNT = (3, "model.onnx: error: input `x` has sequence type; expected the number of its elements; give it with --elements=x=COUNT")


class Sequences(unittest.TestCase):
    """A sequence among the inputs: the run counts its elements for the compiler, and gives each as an input of its own."""

    def verdict(self, backend, shape) -> Result:
        kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, shape))
        x, y = helper.make_value_info("x", kind), helper.make_value_info("y", kind)
        model = helper.make_model(helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y]))
        data = [np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)]
        with tempfile.TemporaryDirectory() as folder:
            return Runner(backend, pathlib.Path(folder), timeout=5, memory_mb=0)(Case("s", model, [([data], [data])], 1e-4, 0, "Identity"))

    def test_elements_are_counted(self):
        backend = Fake([COUNT, (0, "")], lambda f: [f["x[0]"], f["x[1]"]])
        self.assertEqual(self.verdict(backend, ["n", 3]).verdict, "pass-sized")
        self.assertEqual(backend.extra, ["--elements=x=2"])

    def test_rank_is_given_where_none_is_declared(self):
        backend = Fake([COUNT, (0, "")], lambda f: [f["x[0]"], f["x[1]"]])
        self.assertEqual(self.verdict(backend, None).verdict, "pass-sized")
        self.assertEqual(backend.extra, ["--elements=x=2:?x?"])

    def test_wrong_is_wrong(self):
        self.assertEqual(self.verdict(Fake([COUNT, (0, "")], lambda f: [f["x[1]"], f["x[0]"]]), None).verdict, "wrong")

    def test_asking_again_is_a_refusal(self):
        self.assertEqual(self.verdict(Fake([COUNT, COUNT]), None).verdict, "refused")


class Verdicts(unittest.TestCase):
    def verdict(self, backend) -> Result:
        with tempfile.TemporaryDirectory() as folder:
            return Runner(backend, pathlib.Path(folder), timeout=2, memory_mb=0)(reshape_case())

    def test_pass(self):
        self.assertEqual(self.verdict(Fake([(0, "")], lambda f: [f["data"].reshape(f["shape"])])).verdict, "pass")

    def test_pass_with_bound_operand(self):
        backend = Fake([ASK, (0, "")], lambda f: [f["data"].reshape(2, 3)] if set(f) == {"data"} else [])
        self.assertEqual(self.verdict(backend).verdict, "pass-bound")
        self.assertEqual(backend.binds, [[], ["shape"]])

    def test_binding_that_does_not_help_is_a_refusal(self):
        result = self.verdict(Fake([ASK, ASK]))
        self.assertEqual((result.verdict, result.reason), ("refused", "needs-bound-operand"))

    def test_bugs(self):
        ok = [(0, "")]
        self.assertEqual(self.verdict(Fake(ok, lambda f: [f["data"]])).verdict, "wrong")
        self.assertEqual(self.verdict(Fake(ok, lambda f: 1 // 0)).verdict, "run-error")
        self.assertEqual(self.verdict(Fake(ok, lambda f: os.kill(os.getpid(), signal.SIGSEGV))).verdict, "crash")
        self.assertEqual(self.verdict(Fake(ok, lambda f: time.sleep(60))).verdict, "hang")
        self.assertEqual(self.verdict(Fake([(-11, "")])).verdict, "crash")
        self.assertEqual(self.verdict(Fake([(1, "Reshape")])).verdict, "crash")
        self.assertEqual(self.verdict(Fake([(3, "something is not supported")])).verdict, "vague")

    def test_reasons(self):
        self.assertEqual(reason_of("node `a` (Foo): operator is not supported"), "unsupported-operator")
        self.assertEqual(reason_of("element type string is not supported"), "string-type")


class ExactValues(unittest.TestCase):
    """x / 3 in f16, with data that are one ulp too large: only a listed case may differ, and only towards the exact value."""

    def verdict(self, got: float, listed: bool) -> Result:
        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, [1]) for name in "xy"]
        three = onnx.numpy_helper.from_array(np.float16([3]))
        nodes = [helper.make_node("Constant", [], ["c"], value=three), helper.make_node("Div", ["x", "c"], ["y"])]
        model = helper.make_model(helper.make_graph(nodes, "g", value[:1], value[1:]), opset_imports=[helper.make_opsetid("", 20)])
        case = Case("third", model, [([np.float16([1])], [np.float16([0.3335])])], 1e-4, 0, "Div")
        with tempfile.TemporaryDirectory() as folder:
            backend = Fake([(0, "")], lambda feeds: [np.float16([got])])
            return Runner(backend, pathlib.Path(folder), timeout=5, memory_mb=0, deviations=["third"] if listed else [])(case)

    def test_nearer_if_listed(self):
        self.assertEqual(self.verdict(0.3333, True).verdict, "nearer")
        self.assertIn("ours at most 8.14e-05 away, the data 1.63e-04", self.verdict(0.3333, True).message)
        self.assertEqual(self.verdict(0.3333, False).verdict, "wrong")

    def test_farther_is_wrong(self):
        self.assertEqual(self.verdict(0.333, True).verdict, "wrong")
        self.assertEqual(self.verdict(np.nan, True).verdict, "wrong")


class BothDirections(unittest.TestCase):
    expected = {"refused": {"a": {"reason": "r", "message": ""}}, "bound": ["b"], "sized": ["s"], "deviations": {"d": {"why": "rounding"}}}

    def lines(self, *results):
        return run_node_suite.disagreements(list(results), self.expected)

    def test_agreement(self):
        self.assertEqual(self.lines(Result("a", "A", "refused", reason="r"), Result("b", "B", "pass-bound", bound=True), Result("c", "C", "pass"),
                                    Result("s", "S", "pass-sized", sized=True)), [])

    def test_deviation(self):
        self.assertEqual(self.lines(Result("d", "D", "nearer")), [])
        for result in (Result("d", "D", "wrong"), Result("d", "D", "refused", reason="r"), Result("d", "D", "pass")):
            self.assertEqual(len(self.lines(result)), 1, result)

    def test_each_disagreement(self):
        for result in (Result("a", "A", "pass"), Result("a", "A", "refused", reason="other"), Result("c", "C", "refused", reason="r"),
                       Result("b", "B", "pass"), Result("c", "C", "pass-bound", bound=True), Result("a", "A", "wrong"), Result("a", "A", "crash"),
                       Result("s", "S", "pass"), Result("c", "C", "pass-sized", sized=True)):
            self.assertEqual(len(self.lines(result)), 1, result)


class Resumed(unittest.TestCase):
    """--resume: each result is written as it comes, and a run that was cut off goes on behind the whole lines of its file."""

    def test_known_cases_are_not_run_again(self):
        cases = [dataclasses.replace(reshape_case(), name=name) for name in "abc"]

        def run(case):
            return Result(case.name, case.operator, "pass")

        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "results.jsonl"
            known = json.dumps(dataclasses.asdict(Result("b", "Reshape", "wrong", "at 3")))
            other = json.dumps(dataclasses.asdict(Result("z", "Reshape", "pass")))
            file.write_text(f"{known}\n{other}\n" + known.replace('"b"', '"c"')[:20])
            results = run_node_suite.run_all(cases, run, 1, file)
            self.assertEqual([(r.name, r.verdict) for r in results], [("a", "pass"), ("b", "wrong"), ("c", "pass")])
            again = run_node_suite.run_all(cases, None, 1, file)
            self.assertEqual(again, results)


class GpuLists(unittest.TestCase):
    """What is expected of a GPU target: the CPU's list and more, written by --update and broken both ways."""

    cpu = {"refused": {"a": {"reason": "r", "message": ""}}, "bound": [], "sized": [], "deviations": {"d": {"why": "rounding"}}}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "expected.json"

    def lines(self, target, *results):
        return run_node_suite.disagreements(list(results), gpu.expected(target, self.cpu, self.path))

    def test_written_and_read(self):
        refused = [Result("a", "A", "refused", reason="r"), Result("b", "B", "refused", "no sm_80 code", reason="no-gpu-lowering")]
        wrong = Result("c", "C", "wrong", "at 0x12")
        gpu.write("sm_80", [*refused, wrong], self.cpu, self.path)
        self.assertEqual(self.lines("sm_80", *refused, wrong), [])
        self.assertEqual(len(self.lines("sm_90a", refused[1])), 1)
        gpu.write("sm_90a", [refused[0], dataclasses.replace(refused[1], message="no sm_90a code")], self.cpu, self.path)
        self.assertEqual(self.lines("sm_90a", *refused), [])
        self.assertEqual(list(json.loads(self.path.read_text())["targets"]["all"]["refused"]), ["b"])
        for result in (Result("b", "B", "pass"), Result("c", "C", "pass"), Result("c", "C", "crash"), Result("e", "E", "wrong")):
            self.assertEqual(len(self.lines("sm_80", result)), 1, result)
        gpu.write("sm_80", [Result("b", "B", "pass"), Result("c", "C", "pass")], self.cpu, self.path)
        self.assertEqual(self.lines("sm_80", Result("b", "B", "pass"), Result("c", "C", "pass"), Result("d", "D", "pass")), [])
        self.assertEqual(self.lines("sm_90a", refused[1]), [])

    def test_subset_takes_small_cases_of_each_form(self):
        base = reshape_case()
        large = [np.zeros(gpu.LARGEST, np.float32), np.array([2, 3])], [np.zeros(6, np.float32)]
        members = [dataclasses.replace(base, name=n) for n in ("e", "d", "c", "b", "a", "b_expanded", "a_expanded")]
        chosen = gpu.subset([*members, dataclasses.replace(base, name="0", data=[large])])
        self.assertEqual([c.name for c in chosen], sorted(["a_expanded", *"abcde"[:gpu.PLAIN_EACH]]))

    def test_relative_l2(self):
        want = [np.float32([1, 0]), np.int64([3])]
        self.assertTrue(within_l2([np.float32([1, 1e-5]), np.int64([3])], want, gpu.L2))
        for got in ([np.float32([1, 1e-3]), np.int64([3])], [np.float32([1, 0]), np.int64([4])], [np.float64([1, 0]), np.int64([3])],
                    [np.float32([1, np.nan]), np.int64([3])], want[:1]):
            self.assertFalse(within_l2(got, want, gpu.L2), got)

    def test_lists_of_the_other_suites(self):
        rows = [run_models.Row("a"), run_models.Row("b", "compile exit 3: more"), run_models.Row("c", "error 1e-2"), run_models.Row("d", "hang")]
        expected.write(self.path, "sm_80", rows)
        listed = expected.read(self.path, "sm_80")
        self.assertEqual(listed, {"b": "compile exit 3", "c": "error", "d": "hang"})
        self.assertEqual([len(part) for part in expected.judge(rows, listed)], [0, 3])
        rows[1].status, rows[2].status, rows[0].status = "ok", "hang", "hang"
        self.assertEqual([row.name for row in expected.judge(rows, listed)[0]], ["a", "b", "c"])
        self.assertEqual(expected.read(self.path, "sm_90a"), {})


class Archives(unittest.TestCase):
    """What was compiled in one place is found in another, by content."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / prepared.LIBRARY).write_bytes(b"a library")
        original = backends.WeftBackend.compile
        self.addCleanup(setattr, backends.WeftBackend, "compile", original)

        def compile_(backend, model, bundle, binds=None, extra=(), timeout=60, memory_mb=None):
            if binds:
                return limits.Outcome(3, False, "", "refused", 0.1, 1)
            bundle.write_bytes(b"bundle of " + model.read_bytes()[-8:])
            return limits.Outcome(0, False, "", "", 0.1, 1)

        backends.WeftBackend.compile = compile_

    def test_round_trip(self):
        model = self.folder / "model.onnx"
        onnx.save(reshape_case().model, model)
        recorder = prepared.Recorder(self.folder / "x.zip", self.folder, "sm_80")
        recorder.compile(model, self.folder / "a.weft")
        recorder.compile(model, self.folder / "b.weft", {"shape": np.array([2, 3])})
        self.assertIn("1 bundles, 1 refusals", recorder.close())

        other = onnx.load(model)
        other.producer_version = "another"
        onnx.save(other, model)
        archive = prepared.Prepared(self.folder / "x.zip", "cuda")
        self.addCleanup(archive._clean, os.getpid())
        self.assertEqual(archive.compile(model, self.folder / "c.weft").code, 0)
        self.assertEqual((self.folder / "c.weft").read_bytes(), (self.folder / "a.weft").read_bytes())
        refused = archive.compile(model, self.folder / "d.weft", {"shape": np.array([2, 3])})
        self.assertEqual((refused.code, refused.stderr), (3, "refused"))
        unknown = archive.compile(model, self.folder / "e.weft", {"shape": np.array([3, 2])})
        self.assertIn("prepare it again", unknown.stderr)
        self.assertEqual((archive.build / prepared.LIBRARY).read_bytes(), b"a library")


class Rewrites(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ort = backends.OrtBackend()

    def test_cuts_compute_what_the_whole_computes(self):
        path = generate.mobilenet_v2(self.folder, "net", size=32)
        proto = onnx.load(path, load_external_data=False)
        image = np.random.default_rng(0).standard_normal((1, 3, 32, 32), np.float32)
        for sources, targets in transform.cuts(proto):
            probe = onnx.load(path, load_external_data=False)
            known = onnx.shape_inference.infer_shapes(proto).graph.value_info
            probe.graph.output.extend(v for v in known if v.name in sources + targets)
            onnx.save(probe, self.folder / "probe.onnx")
            values = self.ort.session(self.folder / "probe.onnx").run(sources + targets, {"image": image})
            onnx.save(transform.extract(proto, sources, targets), self.folder / "part.onnx")
            got = self.ort.run(self.folder / "part.onnx", dict(zip(sources, values)))
            np.testing.assert_allclose(got[0], values[-1], rtol=1e-5, atol=1e-5)

    def test_widening_keeps_the_function(self):
        half = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [4]), helper.make_tensor_value_info("y", TensorProto.FLOAT16, [4])
        weight = onnx.numpy_helper.from_array(np.float16([1, 2, 3, 4]), "w")
        nodes = [helper.make_node("Mul", ["x", "w"], ["p"]), helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT16)]
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", half[:1], half[1:], [weight]), ir_version=9,
                                    opset_imports=[helper.make_opsetid("", 20)]), self.folder / "h.onnx")
        transform.widen(self.folder / "h.onnx", self.folder / "f.onnx")
        got = self.ort.run(self.folder / "f.onnx", {"x": np.float32([1, 1, 1, 1000.25])})[0]
        self.assertEqual(got.dtype, np.float32)
        np.testing.assert_array_equal(got, [1, 2, 3, 4001])


if __name__ == "__main__":
    unittest.main()

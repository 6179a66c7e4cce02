"""weft.explain, weft compare and weft reduce: what they find, in models that are wrong on purpose."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402
from weft.tools import compare, reduce  # noqa: E402
from weft.tools._difference import measure  # noqa: E402
from weft.tools._programs import Failed, Model  # noqa: E402

WIDTH = 37


def chain(length, *, scale=1.0, strange=None, rank=2):
    """x: n x 37 -> t0 -> ... by products and functions in turn; `scale` on the weight of the seventh node; `strange` is an op nobody has."""
    random = np.random.default_rng(3)
    nodes, weights, name = [], [], "x"
    for i in range(length):
        out = "y" if i == length - 1 else f"t{i}"
        if i % 3 == 0:
            weight = (random.standard_normal((WIDTH, WIDTH)) / 6).astype(np.float32) * np.float32(scale if i == 6 else 1)
            weights.append(numpy_helper.from_array(weight, f"w{i}"))
            nodes.append(helper.make_node("MatMul", [name, f"w{i}"], [out], f"n{i}"))
        else:
            nodes.append(helper.make_node(("Tanh", "Neg")[i % 3 - 1], [name], [out], f"n{i}"))
        if i == strange:
            nodes[-1] = helper.make_node("Strange", [name], [out], f"n{i}", domain="of.nobody")
        name = out
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, ("n", WIDTH))], [info("y", TensorProto.FLOAT, ("n", WIDTH))], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("of.nobody", 1)], ir_version=9)


class Stub:
    """A program by numbers: tensor i of a chain is i, but for those that are wrong when they are asked for alone, or together."""

    def __init__(self, model, wrong_alone=(), wrong=()):
        self.known, self.name, self.wrong_alone, self.wrong, self.asked = set(model.tensors), "stub", set(wrong_alone), set(wrong), []

    def evaluate(self, names, feeds):
        self.asked.append(len(names))
        bad = self.wrong_alone if len(names) == 1 else self.wrong
        return {name: np.full(3, 2.0 if name in bad else 1.0, np.float32) for name in names}


class ToolTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)
        weft.load_compiler(BUILD)
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def save(self, model, name):
        path = os.path.join(self.folder.name, name)
        onnx.save(model, path)
        return path

    def call(self, main, *arguments):
        """The exit code and what is printed."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = main(list(arguments))
        return code, out.getvalue() + errors.getvalue()


class DifferenceTest(unittest.TestCase):
    def test_measures(self):
        a = np.array([3.0, 4.0], np.float32)
        self.assertEqual(measure(a, a, None).relative, 0)
        found = measure(np.array([3.0, 4.5], np.float32), a, None)
        self.assertAlmostEqual(found.relative, 0.1)
        self.assertEqual((found.worst, found.is_over), ((1,), True))
        self.assertFalse(measure(a + np.float32(1e-5), a, None).is_over)

    def test_special_values(self):
        a = np.array([np.nan, np.inf, 1.0])
        self.assertEqual(measure(a, a.copy(), None).relative, 0)
        for wrong in ([0, np.inf, 1], [np.nan, -np.inf, 1], [np.nan, np.inf, np.nan]):
            self.assertTrue(measure(np.array(wrong, np.float64), a, None).is_over, wrong)
        self.assertFalse(measure(np.zeros((0, 3)), np.zeros((0, 3)), None).is_over)
        self.assertTrue(measure(np.ones(3), np.zeros(3), None).is_over)

    def test_types(self):
        self.assertTrue(measure(np.array([1, 2]), np.array([1, 3]), None).is_over)
        self.assertIn("2xint64, expected 2xint32", str(measure(np.zeros(2, np.int64), np.zeros(2, np.int32), None)))


class CompareTest(ToolTest):
    def test_finds_the_node_that_differs(self):
        paths = self.save(chain(11), "right.onnx"), self.save(chain(11, scale=1.01), "wrong.onnx")
        code, text = self.call(compare.main, *paths, "--dim=n=5", "--json")
        self.assertEqual(code, 1, text)
        data = json.loads(text)
        self.assertEqual((data["first"]["tensor"], data["first"]["by_itself"]), ("t6", False))
        self.assertLess(data["first"]["operands"]["t5"]["relative_l2"], 1e-5)
        self.assertAlmostEqual(data["first"]["difference"]["relative_l2"], 0.01, delta=0.001)

    def test_agrees_with_onnxruntime_and_another_device(self):
        path = self.save(chain(5), "chain.onnx")
        for flags in (["--all"], ["--device=emu:H100", "--other=cpu"], ["--compile-flag=--fp=fast", "--other=cpu"]):
            code, text = self.call(compare.main, path, *flags)
            self.assertEqual(code, 0, text)
            self.assertIn("agrees    result 'y'", text)

    def test_what_is_computed_together(self):
        """Together all agree; alone those behind t4 differ."""
        model = Model(self.save(chain(30), "long.onnx"))
        for first in (0, 4, 17, 29):
            mine, other = Stub(model, wrong_alone=model.tensors[first:]), Stub(model)
            finding = compare.Comparison(model, mine, other, {}).run(["y"], model.tensors).first
            self.assertEqual((finding.tensor, finding.is_alone), (model.tensors[first], True))
            self.assertEqual(finding.agrees, model.tensors[first - 1] if first else None)
            self.assertLess(len(mine.asked), 10)

    def test_what_a_program_refuses_is_left_out(self):
        model = Model(self.save(chain(9), "nine.onnx"))

        class Refusing(Stub):
            def evaluate(self, names, feeds):
                if "t3" in names:
                    raise Failed("not t3")
                return super().evaluate(names, feeds)

        outcome = compare.Comparison(model, Refusing(model), Stub(model, wrong=["t5"]), {}).run(["y"], model.tensors, all_tensors=True)
        self.assertEqual((outcome.left_out, outcome.first.tensor), (("t3",), "t5"))

    def test_bundles(self):
        paths = [os.path.join(self.folder.name, name) for name in ("a.weft", "b.weft")]
        for path, scale in zip(paths, (1, 2)):
            weft.compile(chain(8, scale=scale), output=path, target="cpu").close()
        inputs = os.path.join(self.folder.name, "x.npz")
        np.savez(inputs, x=np.ones((3, WIDTH), np.float32))
        self.assertEqual(self.call(compare.main, paths[0], paths[0], "--inputs-npz=" + inputs)[0], 0)
        code, text = self.call(compare.main, *paths, "--inputs-npz=" + inputs)
        self.assertEqual(code, 1, text)
        self.assertIn("differs   result 'y'", text)
        self.assertIn("expected inputs of two bundles", self.call(compare.main, *paths)[1])

    def test_errors(self):
        path = self.save(chain(3), "three.onnx")
        for arguments, text in ((["none.onnx"], "none.onnx"), ([path, "--compile-flag=fp"], "expected a flag of weft compile"),
                                ([path, "--input=x"], "expected NAME=@FILE.npy"), ([path, "--dim=n"], "expected NAME=NUMBER"),
                                ([path, "--device=cuda"], "--compile-flag=--target=GPU"), ([path, "--compile-flag=--fp=slow"], "--fp: expected")):
            code, said = self.call(compare.main, *arguments)
            self.assertEqual((code != 0, text in said), (True, True), said)


class ReduceTest(ToolTest):
    def reduce(self, model, *arguments):
        source, target = self.save(model, "source.onnx"), os.path.join(self.folder.name, "small.onnx")
        code, text = self.call(reduce.main, source, "-o", target, *arguments)
        self.assertEqual(code, 0, text)
        small = onnx.load(target)
        onnx.checker.check_model(small) if not any(node.domain for node in small.graph.node) else None
        return small, text

    def test_a_failure(self):
        small, text = self.reduce(chain(23, strange=13))
        self.assertEqual([node.name for node in small.graph.node], ["n13"], text)
        self.assertEqual([value.name for value in small.graph.input], ["t12"])

    def test_a_difference(self):
        """With no error allowed, the first rounding in another order is one; its inputs lie beside it."""
        small, text = self.reduce(chain(9), "--tolerance=0", "--dim=n=4")
        self.assertEqual(len(small.graph.node), 1, text)
        inputs = np.load(os.path.join(self.folder.name, "small.npz"))
        self.assertEqual(set(inputs), {value.name for value in small.graph.input})
        self.assertEqual({inputs[name].shape for name in inputs}, {(4, WIDTH)})

    def test_a_command(self):
        small, _ = self.reduce(chain(10), "--check=test $(grep -ao Tanh {} | wc -l) -ge 2")
        self.assertEqual([node.op_type for node in small.graph.node], ["Tanh"] * 2)

    def test_shapes_stay_constants(self):
        """A Reshape whose shape a node makes, which is left out."""
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Relu", ["x"], ["r"]),
                 helper.make_node("Reshape", ["r", "s"], ["q"]), helper.make_node("Strange", ["q"], ["y"], domain="of.nobody")]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, (2, 3))], [info("y", TensorProto.FLOAT, (2, 3))])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("of.nobody", 1)], ir_version=9)
        small, _ = self.reduce(model, "--check=grep -q Reshape {}")
        self.assertEqual([node.op_type for node in small.graph.node], ["Reshape"])
        self.assertEqual([numpy_helper.to_array(tensor).tolist() for tensor in small.graph.initializer], [[2, 3]])

    def test_nothing_to_reduce(self):
        source = self.save(chain(3), "good.onnx")
        code, text = self.call(reduce.main, source)
        self.assertEqual(code, 2)
        self.assertIn("it compiles, and its results agree", text)
        self.assertIn("the check does not hold for it", self.call(reduce.main, source, "--check=false")[1])

    def test_outcomes_of_processes(self):
        for code, want in (("os.abort()", ("crash", "SIGABRT")), ("os._exit(3)", ("exit", 3)), ("time.sleep(9)", ("timeout",)), ("('a', 1)", ("a", 1))):
            self.assertEqual(reduce.in_process(lambda: eval(code, {"os": os, "time": __import__("time")}), 0.4), want)
        self.assertEqual(reduce.normalize(("run", 5, "input `x1` has 3 dims")), ("run", 5, "input _ has _ dims"))


class ExplainTest(ToolTest):
    def test_explains_bundles_and_models(self):
        path = os.path.join(self.folder.name, "e.weft")
        model = chain(6)
        bundle = weft.compile(model, output=path, target="cpu,H100")
        found = weft.explain(path)
        self.assertEqual({program.target for program in found.programs}, {"cpu", "sm_90a"})
        self.assertTrue(all(program.interval for program in found.programs[2:]), "the other programs are of values of n")
        for program in found.programs:
            self.assertEqual({node for kernel in program.kernels for node in kernel.nodes}, {f"n{i}" for i in range(6)})
            self.assertGreater(program.unfused_bytes, 0)
        self.assertRegex(str(found), r"cpu: 6 nodes in \d kernels?, n = 256, ")
        self.assertEqual(str(weft.explain(bundle)), str(found))
        self.assertEqual(len(weft.explain(model, target="cpu").programs), 1)
        edge = next(edge for edge in found.programs[0].edges if edge.reason)
        self.assertIn(edge.reason, found.why_not(edge.producer_node, edge.consumer_node)[0])

    def test_notebooks_draw(self):
        picture = weft.compile(chain(6), target="cpu")._repr_html_()
        svg = xml.etree.ElementTree.fromstring(picture[picture.index("<svg"):picture.index("</svg>") + 6])
        self.assertEqual(len(svg.findall("{*}g/{*}title")), len(weft.explain(chain(6), target="cpu").programs[0].kernels))
        self.assertGreater(len(svg.findall("{*}path")), 0)

    def test_without(self):
        bundle = weft.compile(chain(3), target="cpu", explain="off")
        self.assertRaisesRegex(weft.Error, "compiled with explain=off", weft.explain, bundle)
        self.assertIsNone(bundle._repr_html_())
        self.assertRaisesRegex(weft.Error, "got a bundle", weft.explain, bundle, target="cpu")


if __name__ == "__main__":
    unittest.main()

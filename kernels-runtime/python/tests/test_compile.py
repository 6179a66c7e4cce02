"""The compiler in process: what is made, said, refused, shared and cancelled."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import sys
import tempfile
import threading
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402

WEIGHT = np.arange(35, dtype=np.float32).reshape(7, 5) / 8


def make(nodes, *, external=False, opset=18, ir=9):
    """x: n x 7 to y: n x 5 by `nodes`, which have w of 7 x 5."""
    weight = numpy_helper.from_array(WEIGHT, "w")
    if external:
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=(7, 5), data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "./memory/w"), ("offset", "8"), ("length", str(WEIGHT.nbytes))):
            weight.external_data.add(key=key, value=value)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 7))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n", 5))], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("strange", 1)], ir_version=ir)


NODES = [helper.make_node("MatMul", ["x", "w"], ["p"], "product"), helper.make_node("Relu", ["p"], ["r"], "relu"),
         helper.make_node("Neg", ["r"], ["y"], "neg")]


class CompileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)
        weft.load_compiler(BUILD)

    def setUp(self):
        self.x = np.random.default_rng(1).standard_normal((3, 7), np.float32)
        self.expected = -np.maximum(self.x @ WEIGHT, 0)

    def check(self, bundle):
        np.testing.assert_allclose(weft.Session(bundle, threads=1).run({"x": self.x})["y"], self.expected, rtol=1e-5, atol=1e-6)

    def test_models_in_memory_and_on_disk(self):
        model = make(NODES)
        self.assertRegex(weft.compiler_version(), r"^weft \d+\.\d+\.\d+ \(LLVM \d")
        self.check(weft.compile(model))
        self.check(weft.compile(bytearray(model.SerializeToString()), fp="fast", dim={"n": "1..8"}, quiet=None))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            onnx.save(model, path / "m.onnx")
            self.check(weft.compile(path / "m.onnx", output=path / "m.weft"))
            in_memory = weft.compile(path / "m.onnx")
            self.assertEqual(in_memory.data, (path / "m.weft").read_bytes())
            in_memory.save(path / "n.weft")
            self.check(weft.Bundle(path / "n.weft"))

    def test_external_data_in_memory(self):
        model = make(NODES, external=True)
        data = np.concatenate([np.zeros(2, np.float32), WEIGHT.ravel()])
        self.check(weft.compile(model, external_data={"memory/w": data}))
        with self.assertRaisesRegex(weft.Error, r"external data range \[8, \+140\) is not inside"):
            weft.compile(model, external_data={"memory/w": data[:-1]})
        with self.assertRaisesRegex(weft.Error, "external data `memory/w` of a model in memory"):
            weft.compile(model)

    def test_weights_stay_where_they_are(self):
        data = np.random.default_rng(2).standard_normal((40, 21), np.float32)
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=data.shape, data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value="./memory/w")
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 40))],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 21))], [weight])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        x = np.random.default_rng(1).standard_normal((3, 40), np.float32)

        def check(bundle, factor=1):
            np.testing.assert_allclose(weft.Session(bundle, threads=1).run({"x": x})["y"], factor * (x @ data), rtol=1e-4, atol=1e-5)

        with tempfile.TemporaryDirectory() as cache:
            bundle = weft.compile(model, external_data={"./memory/w": data}, weights="external", cache=cache)
            elsewhere = 2 * data
            again = weft.compile(model, external_data={"memory/w": data}, bound_data={"memory/w": elsewhere}, weights="external", cache=cache)
            self.assertTrue(again.was_cached)
        check(bundle)
        check(again, 2)
        self.assertFalse(data.tobytes() in bundle.data)
        check(weft.Bundle(bundle.data, weights={"memory/w": data.tobytes()}, verify_weights=True))
        with self.assertRaisesRegex(weft.Error, "memory/w"):
            weft.Bundle(bundle.data)
        with self.assertRaisesRegex(weft.Error, "hash mismatch"):
            weft.Bundle(bundle.data, weights={"memory/w": elsewhere}, verify_weights=True)

    def test_messages_say_what_is_wrong(self):
        heard = []
        bad = make([helper.make_node("Curl", ["x"], ["p"], "curl", domain="strange"), *NODES[1:]])
        with self.assertRaises(weft.Error) as caught:
            weft.compile(bad, messages=lambda *message: heard.append(message))
        self.assertEqual(caught.exception.code, 3)
        self.assertIn("curl", str(caught.exception))
        kind, text, details = heard[0]
        self.assertEqual((kind, details["node"], details["code"]), ("problem", "curl", 3))
        heard.clear()
        weft.compile(make(NODES), remarks="fusion", messages=lambda *message: heard.append(message))
        self.assertEqual({kind for kind, *_ in heard}, {"remark", "summary"})
        for options, text in (({"target": "sm_70"}, "--target: expected cpu"), ({"tarket": "cpu"}, "did you mean --target?"),
                              ({"emit": "ptx"}, "--emit: expected bundle, got `ptx`"), ({"fp": "loose"}, "--fp: expected strict or fast")):
            with self.subTest(options=options), self.assertRaisesRegex(weft.Error, text) as caught:
                weft.compile(make(NODES), **options)
            self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(weft.Error) as caught:
            weft.compile(b"no model")
        self.assertEqual(caught.exception.code, 5)

    def test_progress_and_cancellation(self):
        begun = []
        weft.compile(make(NODES), progress=begun.append)
        self.assertEqual(begun[0], "import")
        self.assertIn("native code cpu of 1 kernels", begun)
        for activity in begun:
            last = []
            with self.subTest(activity=activity), self.assertRaisesRegex(weft.Error, "cancelled") as caught:
                weft.compile(make(NODES), progress=last.append, cancelled=lambda: activity in last)
            self.assertEqual((caught.exception.code, last[-1]), (7, activity))

    def test_exceptions_of_callbacks_come_through(self):
        def stop(activity):
            if activity.startswith("native"):
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            weft.compile(make(NODES), progress=stop)

    def test_compilations_side_by_side_know_nothing_of_each_other(self):
        models = [make(NODES), make(NODES[:1] + [helper.make_node("Tanh", ["p"], ["y"], "tanh")])]
        wanted = [(models[i % 2], target) for i, target in enumerate(("cpu", "sm_80", "cpu", "sm_90a", "H100"))]
        alone = [weft.compile(model, target=target, ptxas="off").data for model, target in wanted]
        together = [None] * len(wanted)

        def work(i):
            options = {"launch_cost": 40} if i == 4 else {}
            together[i] = weft.compile(wanted[i][0], target=wanted[i][1], ptxas="off", **options).data
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(wanted))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([len(data) for data in together[:4]], [len(data) for data in alone[:4]])
        self.assertEqual(together[:4], alone[:4])

    def test_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            first = weft.compile(make(NODES), cache=folder)
            again = weft.compile(make(NODES), cache=folder)
            self.assertEqual((first.was_cached, again.was_cached), (False, True))
            self.assertEqual(first.data, again.data)
            other = make(NODES)
            other.graph.initializer[0].raw_data = bytes(140)
            self.assertFalse(weft.compile(other, cache=folder).was_cached)
            kept = pathlib.Path(folder)
            size = max(path.stat().st_size for path in kept.iterdir())
            self.assertFalse(weft.compile(make(NODES), cache=folder, cache_limit=size + 1, fp="fast").was_cached)
            self.assertEqual(len(list(kept.iterdir())), 1)
            self.assertTrue(weft.compile(make(NODES), cache=folder, fp="fast").was_cached)

    def test_capability(self):
        found = weft.inspect(make(NODES, external=True), dim={"n": 3})
        self.assertEqual([node.name for node in found.nodes], ["product", "relu", "neg"])
        self.assertEqual([node.operations for node in found.nodes], [2 * 3 * 7 * 5, 15, 15])
        self.assertEqual(found.nodes[2].bytes, 2 * 15 * 4)
        self.assertEqual((found.unfused_kernels, found.fused_kernels, found.unsupported), (3, 1, ()))
        self.assertAlmostEqual(found.unfused_bytes - found.fused_bytes, 4 * 15 * 4, delta=4)  # and the zero of the maximum
        bad = weft.inspect(make([helper.make_node("Curl", ["x"], ["p"], "curl", domain="strange"), *NODES[1:]]))
        self.assertEqual([node.name for node in bad.unsupported], ["curl"])
        self.assertIsNone(bad.operations)
        with self.assertRaises(weft.Error):
            weft.inspect(b"no model")


if __name__ == "__main__":
    unittest.main()

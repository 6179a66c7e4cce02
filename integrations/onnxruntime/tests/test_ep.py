"""The plug-in execution provider in the onnxruntime of the environment: what it claims, what it leaves, and that results are as without it."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", pathlib.Path(__file__).resolve().parents[3] / "build"))
LIBRARY = BUILD / "lib" / os.environ.get("WEFT_TEST_PROVIDER", "libonnxruntime_ep_weft.so")
NAME = "WeftExecutionProvider"
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def model(nodes, inputs, outputs, weights=None):
    """`inputs` and `outputs`: name -> (element type, dims)."""
    values = [[helper.make_tensor_value_info(name, *spec) for name, spec in each.items()] for each in (inputs, outputs)]
    initializers = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", *values, initializers)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def random(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


class ProviderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ort.register_execution_provider_library("weft", str(LIBRARY))
        cls.device = next(device for device in ort.get_ep_devices() if device.ep_name == NAME)

    def session(self, data, whole=False, weft=True, provider=None, **entries):
        """`provider`: options of the provider; `entries`: of the session's configuration, with __ for the dots."""
        options = ort.SessionOptions()
        options.log_severity_level = 3
        for name, value in entries.items():
            options.add_session_config_entry(name.replace("__", "."), str(value))
        if whole:  # An error, if a node is left to onnxruntime.
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        if weft:
            options.add_provider_for_devices([self.device], provider or {})
        return ort.InferenceSession(data, options, enable_fallback=0)

    def check(self, data, feeds, whole=False):
        expected = self.session(data, weft=False).run(None, feeds)
        session = self.session(data, whole)
        for _ in range(2):
            for got, want in zip(session.run(None, feeds), expected, strict=True):
                self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)
        return session

    def test_is_a_device_of_onnxruntime(self):
        self.assertEqual((self.device.ep_vendor, self.device.device.type), ("Weft", ort.OrtHardwareDeviceType.CPU))

    def test_takes_whole_graphs(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["q"]),
                 helper.make_node("LeakyRelu", ["q"], ["r"], alpha=0.3), helper.make_node("Transpose", ["r"], ["y"], perm=[1, 0]),
                 helper.make_node("Softmax", ["r"], ["z"], axis=-1)]
        data = model(nodes, {"x": (F, ("n", 37))}, {"y": (F, (70, "n")), "z": (F, ("n", 70))}, {"w": random(37, 70), "b": random(70)})
        session = self.check(data, {"x": random(5, 37)}, whole=True)
        for rows in (1, 13):  # other extents in the same session
            x = random(rows, 37, seed=rows)
            want = self.session(data, weft=False).run(None, {"x": x})
            np.testing.assert_allclose(session.run(None, {"x": x})[0], want[0], rtol=2e-5, atol=1e-5)

    def test_attributes_of_all_kinds_arrive(self):
        branches = [helper.make_graph([helper.make_node(op, ["x"], [out])], op, [], [helper.make_tensor_value_info(out, F, (3, 4))])
                    for op, out in (("Exp", "t"), ("Neg", "e"))]
        nodes = [helper.make_node("Einsum", ["x", "w"], ["a"], equation="ij,jk->ik"),  # a text
                 helper.make_node("ConstantOfShape", ["s"], ["c"], value=helper.make_tensor("v", F, (1,), [2.5])),  # a tensor
                 helper.make_node("If", ["flag"], ["i"], then_branch=branches[0], else_branch=branches[1]),  # graphs
                 helper.make_node("Add", ["i", "c"], ["d"]), helper.make_node("HardSigmoid", ["d"], ["h"], alpha=0.25, beta=0.4),
                 helper.make_node("ReduceSum", ["h", "axes"], ["r"], keepdims=0), helper.make_node("Identity", ["a"], ["y"]),
                 helper.make_node("Transpose", ["h"], ["g"], perm=[1, 0])]
        data = model(nodes, {"x": (F, (3, 4)), "flag": (B, (1,))}, {"y": (F, (3, 2)), "r": (F, (3,)), "g": (F, (4, 3))},
                     {"w": random(4, 2), "s": np.array([3, 4]), "axes": np.array([1])})
        for flag in (True, False):
            self.check(data, {"x": random(3, 4), "flag": np.array([flag])})
        nodes = [helper.make_node("Shape", ["x"], ["s"]),  # of symbols: onnxruntime folds what it can, and the tensor of that would not be asked for
                 helper.make_node("ConstantOfShape", ["s"], ["c"], value=helper.make_tensor("v", F, (1,), [2.5])), helper.make_node("Mul", ["x", "c"], ["y"])]
        self.check(model(nodes, {"x": (F, ("n", 3))}, {"y": (F, ("n", 3))}), {"x": random(5, 3)}, whole=True)
        gru = helper.make_node("GRU", ["x", "w", "r"], ["y", ""], hidden_size=3, activations=["HardSigmoid", "Tanh"], activation_alpha=[0.3],  # texts, numbers
                               activation_beta=[0.4], clip=2.0)
        data = model([gru], {"x": (F, (5, 2, 4))}, {"y": (F, (5, 1, 2, 3))}, {"w": random(1, 9, 4), "r": random(1, 9, 3)})
        self.check(data, {"x": random(5, 2, 4)})

    def test_leaves_what_it_cannot_take(self):
        """Around a node that only onnxruntime knows: two groups, since the second one needs it."""
        nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Sin", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["c"]),
                 helper.make_node("SampleOp", ["c"], ["d"], domain="com.microsoft"), helper.make_node("Mul", ["d", "a"], ["e"]),
                 helper.make_node("Tanh", ["e"], ["f"]), helper.make_node("Add", ["f", "b"], ["y"])]
        data = model(nodes, {"x": (F, (4, 4))}, {"y": (F, (4, 4))})
        self.check(data, {"x": random(4, 4)})
        with self.assertRaises(Exception):
            self.session(data, whole=True)

    def test_refuses_no_model(self):
        nodes = [helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["a", "bc"], values_int64s=[3, 4])]
        data = model(nodes, {"x": (TensorProto.STRING, (2,))}, {"y": (I, (2,))})
        self.assertEqual(self.session(data).run(None, {"x": np.array(["bc", "a"], object)})[0].tolist(), [4, 3])

    def test_leaves_graphs_that_it_cannot_read(self):
        """An attribute that is a type has no place in the provider's view: onnxruntime's own error ends the reading, and all stays where it was."""
        kind = helper.make_tensor_type_proto(F, (3,))
        nodes = [helper.make_node("Optional", ["x"], ["o"], type=kind), helper.make_node("OptionalGetElement", ["o"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
        self.check(model(nodes, {"x": (F, (3,))}, {"y": (F, (3,))}), {"x": random(3)})

    def test_shapes_that_cross_from_group_to_group(self):
        """One group makes a shape, onnxruntime turns it over, another group uses it."""
        through = [helper.make_node("Cast", ["s"], ["f"], to=F), helper.make_node("Reshape", ["f", "three"], ["g"]),
                   helper.make_node("SampleOp", ["g"], ["h"], domain="com.microsoft"), helper.make_node("Abs", ["h"], ["i"]),
                   helper.make_node("Round", ["i"], ["j"]), helper.make_node("Reshape", ["j", "one"], ["k"]), helper.make_node("Cast", ["k"], ["t"], to=I)]
        nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Abs", ["b"], ["c"]),
                 helper.make_node("Shape", ["c"], ["d"]), helper.make_node("Gather", ["d", "order"], ["s"]), *through,
                 helper.make_node("Reshape", ["c", "t"], ["r"]), helper.make_node("Tanh", ["r"], ["v"]), helper.make_node("Mul", ["v", "v"], ["y"])]
        weights = {"order": np.array([1, 0]), "three": np.array([2, 1, 1]), "one": np.array([2])}
        for dims in ((3, 5), ("n", "m"), ("n", 5)):
            data = model(nodes, {"x": (F, dims)}, {"y": (F, ("p", "q"))}, weights)
            with self.subTest(dims=dims), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "c.onnx"
                session = self.session(data, ep__context_enable=1, ep__context_file_path=path, ep__context_embed_mode=1)
                self.assertEqual([node.op_type for node in onnx.load(path).graph.node], ["EPContext", "SampleOp", "EPContext"])
                for rows in (3, 7) if dims[0] == "n" else (3,):
                    x = random(rows, 5)
                    np.testing.assert_allclose(session.run(None, {"x": x})[0], np.tanh(np.exp(x.reshape(5, rows))) ** 2, rtol=2e-5, atol=1e-5)

    def test_a_call_costs_little(self):
        """Beside a call of the runtime, at most 10 us."""
        least = overhead()
        self.assertLess(least["through the provider"] - least["weft.Session, bound"], 10, least)

    def test_extents_that_depend_on_data(self):
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("NonZero", ["a"], ["y"])]
        data = model(nodes, {"x": (F, ("n", 3))}, {"y": (I, (2, "m"))})
        self.check(data, {"x": random(6, 3)})

    def test_empty_tensors_and_scalars(self):
        nodes = [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0), helper.make_node("Neg", ["x"], ["y"])]
        data = model(nodes, {"x": (F, ("n", 3))}, {"s": (F, ()), "y": (F, ("n", 3))})
        for rows in (4, 0):
            self.check(data, {"x": random(rows, 3)})

    def test_broken_input_is_an_error_of_the_run(self):
        nodes = [helper.make_node("Add", ["x", "z"], ["y"])]
        session = self.session(model(nodes, {"x": (F, ("n", 3)), "z": (F, ("n", 3))}, {"y": (F, ("n", 3))}))
        with self.assertRaisesRegex(Exception, "weft: input"):
            session.run(None, {"x": random(2, 3), "z": random(4, 3)})
        self.assertEqual(session.run(None, {"x": random(2, 3), "z": random(2, 3)})[0].shape, (2, 3))


    def mixed(self):
        """Two groups around a node of onnxruntime, with weights."""
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Sin", ["a"], ["b"]), helper.make_node("SampleOp", ["b"], ["c"], domain="com.microsoft"),
                 helper.make_node("Mul", ["c", "a"], ["d"]), helper.make_node("Tanh", ["d"], ["e"]), helper.make_node("Add", ["e", "b"], ["y"])]
        return model(nodes, {"x": (F, (4, 4))}, {"y": (F, (4, 4))}, {"w": random(4, 4, seed=7)}), {"x": np.eye(4, dtype=np.float32) + random(4, 4) / 8}

    def make_contexts(self, folder, embed, name="m_ctx.onnx", **entries):
        data, feeds = self.mixed()
        path = pathlib.Path(folder) / name
        self.session(data, ep__context_enable=1, ep__context_file_path=path, ep__context_embed_mode=int(embed), **entries)
        return path, self.session(data, weft=False).run(None, feeds)[0], feeds

    def test_models_that_hold_bundles(self):
        for embed in (True, False):
            with self.subTest(embed=embed), tempfile.TemporaryDirectory() as folder:
                path, want, feeds = self.make_contexts(folder, embed, ep__context_node_name_prefix="p_")
                found = onnx.load(path)
                contexts = [node for node in found.graph.node if node.op_type == "EPContext"]
                self.assertEqual(sorted(node.op_type for node in found.graph.node), ["EPContext", "EPContext", "SampleOp"])
                self.assertEqual([tensor.name for tensor in found.graph.initializer], [])
                values = {attribute.name: helper.get_attribute_value(attribute) for attribute in contexts[0].attribute}
                self.assertEqual((values["source"], values["embed_mode"], values["main_context"]), (NAME.encode(), int(embed), 1))
                self.assertTrue(values["partition_name"].startswith(b"p_"))
                self.assertEqual(len(list(pathlib.Path(folder).glob("m_ctx_p_*.weft"))), 0 if embed else 2)
                moved = pathlib.Path(folder) / "moved"
                moved.mkdir()
                for file in [path, *pathlib.Path(folder).glob("*.weft")]:
                    file.rename(moved / file.name)
                with mock.patch.dict(os.environ, {"WEFT_CACHE": "off"}):
                    session = self.session(str(moved / path.name))
                np.testing.assert_allclose(session.run(None, feeds)[0], want, rtol=2e-5, atol=1e-5)

    def test_bundles_of_models_are_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            path, _, _ = self.make_contexts(folder, False)
            source = onnx.load(path)
            for content, said in ((b"none.weft", "cannot open"), (b"../m.weft", "below the model's folder"), (b"/etc/passwd", "below the model's folder"),
                                  (b"bad.weft", "weft")):
                (pathlib.Path(folder) / "bad.weft").write_bytes(b"no bundle")
                for node in source.graph.node:
                    for attribute in node.attribute:
                        if attribute.name == "ep_cache_context":
                            attribute.s = content
                onnx.save(source, path)
                with self.assertRaisesRegex(Exception, said):
                    self.session(str(path))

    def test_compiles_ahead(self):
        """By onnxruntime's own compiler of models."""
        data, feeds = self.mixed()
        options = ort.SessionOptions()
        options.add_provider_for_devices([self.device], {})
        made = ort.ModelCompiler(options, data, embed_compiled_data_into_model=True).compile_to_bytes()
        np.testing.assert_allclose(self.session(made).run(None, feeds)[0], self.session(data, weft=False).run(None, feeds)[0], rtol=2e-5, atol=1e-5)
        info = next(each.value for each in onnx.load_from_string(made).metadata_props if each.key.startswith("ep_compatibility_info"))
        self.assertRegex(info, r"^format=1\.\d+;target=cpu;cpu=x86-64-v[234]$")
        if not hasattr(ort, "get_model_compatibility_for_ep_devices"):
            return
        for text, want in ((info, "EP_SUPPORTED_OPTIMAL"), ("format=1.999;target=cpu", "EP_UNSUPPORTED"), ("format=7.0", "EP_UNSUPPORTED"),
                           ("format=1.0;target=cpu;cpu=x86-64-v9", "EP_UNSUPPORTED"), ("another's", "EP_NOT_APPLICABLE")):
            self.assertIn(want, str(ort.get_model_compatibility_for_ep_devices([self.device], text)), text)

    def test_options(self):
        data, feeds = self.mixed()
        want = self.session(data, weft=False).run(None, feeds)[0]
        for provider in ({"threads": "1"}, {"compile_flags": "--fp=fast --no-fuse=a,b"}, {"device": "emu:H100"}, {"device": "emu:sm_80,seed=3"}):
            np.testing.assert_allclose(self.session(data, provider=provider).run(None, feeds)[0], want, rtol=2e-4, atol=1e-4, err_msg=str(provider))
        for provider, said in (({"threads": "many"}, "threads: expected 0 to 1024"), ({"device": "tpu"}, "unknown device")):
            with self.assertRaisesRegex(Exception, said):
                self.session(data, provider=provider)


def overhead(rounds=40, calls=100):
    """Least processor time of a call of a small graph, in microseconds: by onnxruntime, through the provider, and by the runtime alone."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "kernels-runtime" / "python"))
    import weft
    weft.load_library(BUILD), weft.load_compiler(BUILD)
    data = model([helper.make_node("Add", ["x", "z"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
                 {"x": (F, (1, 64)), "z": (F, (1, 64))}, {"y": (F, (1, 64))})
    test, feeds = ProviderTest(), {"x": random(1, 64), "z": random(1, 64)}
    alone = weft.Session(weft.compile(data), threads=1)
    plain, through = test.session(data, weft=False), test.session(data, whole=True, provider={"threads": "1"})
    runs = {"onnxruntime": lambda: plain.run(None, feeds), "through the provider": lambda: through.run(None, feeds),
            "weft.Session, bound": alone.bind(feeds), "weft.Session": lambda: alone.run(feeds)}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):  # In turns: what else the machine does falls on all.
        for name, run in runs.items():
            begin = time.thread_time_ns()
            for _ in range(calls):
                run()
            least[name] = min(least[name], (time.thread_time_ns() - begin) / calls / 1000)
    return least


if __name__ == "__main__":
    if sys.argv[1:] == ["overhead"]:
        ProviderTest.setUpClass()
        print(*(f"{name:24s} {least:7.2f} us" for name, least in overhead().items()), sep="\n")
    else:
        unittest.main()

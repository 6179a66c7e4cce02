"""The backend in NVIDIA's Triton Inference Server, on the CPU, by the protocol of KServe (v2) over HTTP: configurations that are completed, batches of
requests, element types, instances, reloads, errors."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import concurrent.futures
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "kernels-runtime" / "python"))

import weft  # noqa: E402

TYPES = {"FP32": np.float32, "FP16": np.float16, "BF16": ml_dtypes.bfloat16, "INT64": np.int64}
NAMES = {np.dtype(value): name for name, value in TYPES.items()}


def make(dtype=TensorProto.FLOAT, *, scale=1.0, batch="n", width=5):
    """x: batch x 7 to y: batch x width and its sums s: batch."""
    weight = (np.arange(7 * width, dtype=np.float32).reshape(7, width) / 16 - 1) * scale
    cast = numpy_helper.from_array(weight.astype(helper.tensor_dtype_to_np_dtype(dtype)), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Tanh", ["p"], ["y"]), helper.make_node("ReduceSum", ["y", "a"], ["s"], keepdims=0)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", dtype, (batch, 7))], [info("y", dtype, (batch, width)), info("s", dtype, (batch,))],
                              [cast, numpy_helper.from_array(np.array([1]), "a")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


class TritonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD), weft.load_compiler(BUILD)
        home = BUILD / "triton"
        if subprocess.run([sys.executable, ROOT / "tools" / "dev" / "get-wheel.py", "triton", home], capture_output=True).returncode:
            raise unittest.SkipTest("the server cannot be had: PyPI is not reached")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        place = pathlib.Path(cls.folder.name)
        backend = place / "backends" / "weft"
        backend.mkdir(parents=True)
        shutil.copy(BUILD / "lib" / "libtriton_weft.so", backend)
        cls.models = place / "models"
        cls.models.mkdir()
        for name, model, config in (
                ("plain", make(), ""), ("half", make(TensorProto.FLOAT16), ""), ("brain", make(TensorProto.BFLOAT16), ""), ("fixed", make(batch=3), ""),
                ("pair", make(), 'instance_group [{ count: 2, kind: KIND_CPU }]\nparameters { key: "threads" value { string_value: "1" } }'),
                ("card", make(), 'parameters { key: "device" value { string_value: "emu:H100" } }'),
                ("joined", make(), 'max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 200000 preferred_batch_size: [8] }'),
                ("reloaded", make(), ""),
                ("wrong_type", make(), 'max_batch_size: 4\ninput [{ name: "x" data_type: TYPE_FP16 dims: [7] }]'),
                ("wrong_dims", make(), 'max_batch_size: 4\ninput [{ name: "x" data_type: TYPE_FP32 dims: [8] }]'),
                ("wrong_name", make(), 'max_batch_size: 4\noutput [{ name: "z" data_type: TYPE_FP32 dims: [5] }]'),
                ("no_batch", make(batch=3), "max_batch_size: 4")):
            cls.place(name, model, config)
        (cls.models / "broken" / "1").mkdir(parents=True)
        (cls.models / "broken" / "1" / "model.weft").write_bytes(b"no bundle")
        (cls.models / "broken" / "config.pbtxt").write_text('backend: "weft"\n')
        cls.port = free_port()
        cls.log = place / "log"
        libraries = home / "nvidia_pytriton.libs"
        with open(cls.log, "w") as log:
            cls.server = subprocess.Popen(
                [home / "pytriton/tritonserver/bin/tritonserver", f"--model-repository={cls.models}", f"--backend-directory={place / 'backends'}",
                 f"--http-port={cls.port}", "--http-address=127.0.0.1", "--allow-grpc=false", "--allow-metrics=false", "--model-control-mode=explicit", "--load-model=*",
                 "--exit-on-error=false", "--strict-readiness=false", "--backend-config=default-max-batch-size=16"],
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})
        cls.addClassCleanup(cls.stop)
        for _ in range(300):
            time.sleep(0.1)
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{cls.port}/v2/health/ready", timeout=5)
                return
            except OSError:
                if cls.server.poll() is not None:
                    break
        raise RuntimeError(cls.log.read_text()[-3000:])

    @classmethod
    def stop(cls):
        cls.server.terminate()
        cls.server.wait(60)

    @classmethod
    def place(cls, name, model, config):
        (cls.models / name / "1").mkdir(parents=True, exist_ok=True)
        weft.compile(model, output=cls.models / name / "1" / "model.weft", target="cpu,H100" if "emu" in config else "cpu").close()
        (cls.models / name / "config.pbtxt").write_text(f'backend: "weft"\n{config}\n')

    def call(self, path, body=None, headers=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v2/{path}", body, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from None

    def get(self, path):
        return json.loads(self.call(path)[1])

    def infer(self, name, x, outputs=("y", "s")):
        """By the extension for binary tensors."""
        data = np.ascontiguousarray(x).tobytes()
        head = json.dumps({"inputs": [{"name": "x", "shape": x.shape, "datatype": NAMES[x.dtype], "parameters": {"binary_data_size": len(data)}}],
                           "outputs": [{"name": each, "parameters": {"binary_data": True}} for each in outputs]}).encode()
        headers, body = self.call(f"models/{name}/infer", head + data, {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"})
        length = int(headers["Inference-Header-Content-Length"])
        found, place = {}, length
        for each in json.loads(body[:length])["outputs"]:
            size = each["parameters"]["binary_data_size"]
            found[each["name"]] = np.frombuffer(body[place:place + size], TYPES[each["datatype"]]).reshape(each["shape"])
            place += size
        return found

    def expected(self, x, **options):
        session = onnxruntime.InferenceSession(make(**options).SerializeToString())
        return dict(zip(("y", "s"), session.run(None, {"x": np.asarray(x, np.float32)})))

    def rows(self, count, seed=1):
        return np.random.default_rng(seed).standard_normal((count, 7), np.float32)

    def check(self, found, want, tolerance=1e-5):
        for name, value in found.items():
            if name == "s" and value.ndim == 2:  # The server has no tensors without dims beside the batch.
                value = value.reshape(-1)
            self.assertEqual(value.shape, want[name].shape)
            np.testing.assert_allclose(value.astype(np.float32), want[name], rtol=tolerance, atol=tolerance)

    def test_configurations_are_completed(self):
        config = self.get("models/plain/config")
        self.assertEqual((config["max_batch_size"], "dynamic_batching" in config), (16, True))
        self.assertEqual([(each["name"], each["data_type"], each["dims"]) for each in config["input"] + config["output"]],
                         [("x", "TYPE_FP32", [7]), ("y", "TYPE_FP32", [5]), ("s", "TYPE_FP32", [1])])
        self.assertEqual(config["output"][1]["reshape"], {"shape": []})
        config = self.get("models/fixed/config")
        self.assertEqual((config["max_batch_size"], config["input"][0]["dims"]), (0, [3, 7]))
        self.assertEqual(self.get("models/plain")["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 7]}])

    def test_json_tensors(self):
        x = self.rows(2)
        body = json.dumps({"inputs": [{"name": "x", "shape": [2, 7], "datatype": "FP32", "data": x.tolist()}], "outputs": [{"name": "y"}]}).encode()
        answer = json.loads(self.call("models/plain/infer", body)[1])
        self.assertEqual([each["name"] for each in answer["outputs"]], ["y"])
        np.testing.assert_allclose(np.array(answer["outputs"][0]["data"]).reshape(2, 5), self.expected(x)["y"], rtol=1e-5, atol=1e-6)

    def test_element_types_and_devices(self):
        for name, dtype, tolerance in (("plain", np.float32, 1e-5), ("half", np.float16, 4e-3), ("brain", ml_dtypes.bfloat16, 4e-2), ("card", np.float32, 1e-5)):
            for count in (1, 3, 16):
                x = self.rows(count).astype(dtype)
                self.check(self.infer(name, x), self.expected(x), tolerance)
        self.check(self.infer("fixed", self.rows(3)), self.expected(self.rows(3)))
        self.assertEqual(list(self.infer("plain", self.rows(2), ["s"])), ["s"])

    def test_requests_are_joined(self):
        """Those that wait together run together, each with its own rows; the server counts runs."""
        for name in ("joined", "pair"):
            sizes = [1, 3, 2, 1, 1, 4, 2, 2]
            with concurrent.futures.ThreadPoolExecutor(len(sizes)) as pool:
                found = list(pool.map(lambda i: self.infer(name, self.rows(sizes[i], seed=i)), range(len(sizes))))
            for i, each in enumerate(found):
                self.check(each, self.expected(self.rows(sizes[i], seed=i)))
            counts = self.get(f"models/{name}/stats")["model_stats"][0]
            self.assertEqual(counts["inference_count"], sum(sizes))
            if name == "joined":
                self.assertLess(counts["execution_count"], len(sizes))

    def test_reloads(self):
        x = self.rows(2)
        self.check(self.infer("reloaded", x), self.expected(x))
        self.place("reloaded", make(scale=0.5), "")
        self.call("repository/models/reloaded/load", b"{}")
        self.check(self.infer("reloaded", x), self.expected(x, scale=0.5))
        self.call("repository/models/reloaded/unload", b"{}")
        time.sleep(0.5)
        self.assertRaisesRegex(RuntimeError, "reloaded", self.infer, "reloaded", x)

    def test_errors(self):
        with self.assertRaisesRegex(RuntimeError, "unexpected shape|must be <="):
            self.infer("plain", self.rows(17))
        reasons = {each["name"]: each.get("reason", "") for each in json.loads(self.call("repository/index", b"{}")[1])}
        for name, said in (("broken", "weft: "), ("wrong_type", "input 'x': expected TYPE_FP32, got TYPE_FP16"), ("wrong_dims", "input 'x': its dims do not fit"),
                           ("wrong_name", "output 'z': the bundle has none"), ("no_batch", "max_batch_size: expected at most 0")):
            self.assertIn(said, reasons[name])
        self.check(self.infer("plain", self.rows(2)), self.expected(self.rows(2)))  # it goes on


if __name__ == "__main__":
    unittest.main()

"""The package against the example bundle of the runtime's own tests (no compiler needed)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


class SessionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name) / "example.weft"
        subprocess.run([BUILD / "bin" / "weft-test-bundle", cls.path], check=True)
        cls.bundle = weft.Bundle(cls.path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_describes_the_bundle(self):
        self.assertRegex(weft.version(), r"^weft \d+\.\d+\.\d+$")
        self.assertEqual(self.bundle.product_version, "weft test")
        self.assertEqual(self.bundle.metadata("model"), "example")
        self.assertIsNone(self.bundle.metadata("absent"))
        self.assertEqual(self.bundle.entries[:3], ["sum", "rows", "positions"])
        session = weft.Session(self.bundle, entry="rows", threads=1)
        self.assertEqual(session.inputs, [weft.Port("x", "f32", ("rows", "cols"))])
        self.assertEqual(session.outputs, [weft.Port("y", "f32", ("rows",))])
        self.assertEqual([symbol.name for symbol in session.symbols], ["rows", "cols"])
        self.assertIn("linux", session.code)

    def test_runs_with_changing_shapes(self):
        session = weft.Session(self.path, threads=2)
        for n in (1, 64, 0, 65, 1000):
            a, b = np.arange(n, dtype=np.float32), np.full(n, 0.5, np.float32)
            outputs = session.run({"b": b, "a": a})
            self.assertEqual(list(outputs), ["y"])
            np.testing.assert_array_equal(outputs["y"], a + b + 1)
        self.assertEqual(session.statistics()["runs"], 5)

    def test_binds_tensors_once(self):
        session = weft.Session(self.path, threads=1)
        a, b, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32), np.zeros(8, np.float32)
        given, own = session.bind({"a": a, "b": b}, out={"y": y}), session.bind({"a": a, "b": b})
        first = own()["y"]
        for value in (2, 3):
            b[:] = value  # Read in place, at each call.
            self.assertIs(given()["y"], y)
            np.testing.assert_array_equal(y, a + value + 1)
            np.testing.assert_array_equal(own()["y"], a + value + 1)
        np.testing.assert_array_equal(first, a + 2)
        self.assertEqual(session.statistics()["runs"], 5)
        with self.assertRaisesRegex(weft.Error, "expected inputs"):
            session.bind({"a": a})

    def test_closes(self):
        x = {"x": np.float32([1, -1])}
        with weft.Session(self.path, entry="positions") as session:
            bound = session.bind(x)
            self.assertEqual(bound()["y"].tolist(), [0])
        self.assertTrue(session.closed and session.bundle.closed)
        session.close()
        for use in (bound, lambda: session.run(x), session.statistics, session.dispatches, lambda: session.code):
            with self.assertRaisesRegex(weft.Error, "the session is closed"):
                use()
        with self.assertRaisesRegex(weft.Error, "the bundle is closed"):
            weft.Session(session.bundle)
        with weft.Bundle(self.path.read_bytes()) as bundle:
            session = weft.Session(bundle, entry="positions")
        self.assertEqual(session.run(x)["y"].tolist(), [0])
        kept = weft.Session(self.path).bundle
        self.assertFalse(kept.closed)
        self.assertFalse(self.bundle.closed)

    def test_opens_bytes(self):
        session = weft.Session(self.path.read_bytes(), entry="positions")
        y = session.run({"x": np.float32([1, -1, 0, 7])})["y"]
        self.assertEqual(y.dtype, np.int64)
        self.assertEqual(y.tolist(), [0, 3])

    def test_takes_strided_and_unaligned_arrays(self):
        session = weft.Session(self.bundle, entry="rows", threads=2)
        base = np.random.default_rng(0).standard_normal((12, 9)).astype(np.float32)
        for x in (base.T, base[::2, 1::3], base[1:]):
            np.testing.assert_allclose(session.run({"x": x})["y"], np.exp(x.sum(axis=1)), rtol=1e-5)

    def test_outputs_outlive_the_next_run(self):
        session = weft.Session(self.bundle, threads=1)
        one = session.run({"a": np.float32([1]), "b": np.float32([1])})["y"]
        session.run({"a": np.float32([5]), "b": np.float32([5])})
        self.assertEqual(one[0], 3)

    def test_copies_every_element_type(self):
        names = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"]
        short = {"float64": "f64", "float32": "f32", "float16": "f16"}
        for name in names:
            entry = "copy_" + short.get(name, name.replace("uint", "ui").replace("int", "i"))
            x = np.arange(100, 107).astype(name)
            np.testing.assert_array_equal(weft.Session(self.bundle, entry=entry).run({"x": x})["y"], x)
        x = np.array([True, False, True])
        y = weft.Session(self.bundle, entry="copy_i1").run({"x": x})["y"]
        self.assertEqual(y.dtype, np.bool_)
        np.testing.assert_array_equal(y, x)

    @unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
    def test_copies_narrow_types(self):
        short = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2fnuz": "f8e5m2fnuz", "int4": "i4", "uint4": "ui4",
                 "int2": "i2", "uint2": "ui2", "float4_e2m1fn": "f4e2m1fn"}
        for name, entry in short.items():
            if not hasattr(ml_dtypes, name):
                continue
            dtype = np.dtype(getattr(ml_dtypes, name))
            first, count = {"int2": (-2, 4), "uint2": (0, 4), "uint4": (0, 16)}.get(name, (-3, 7))
            for n in (0, 1, 2, 5, 8):
                values = first + np.arange(n) % count
                x = values.astype(np.float32).astype(dtype)
                y = weft.Session(self.bundle, entry="copy_" + entry).run({"x": x})["y"]
                self.assertEqual(y.dtype, dtype)
                np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32), err_msg=f"{name} {n}")

    def test_raises_errors(self):
        session = weft.Session(self.bundle)
        with self.assertRaisesRegex(weft.Error, r"expected inputs \['a', 'b'\], got \['a'\]"):
            session.run({"a": np.float32([1])})
        with self.assertRaisesRegex(weft.Error, 'input "a": expected element type f32, got f64') as caught:
            session.run({"a": np.float64([1]), "b": np.float32([1])})
        self.assertEqual(caught.exception.code, 5)
        with self.assertRaisesRegex(weft.Error, "element type complex64 is not supported"):
            session.run({"a": np.complex64([1]), "b": np.float32([1])})
        with self.assertRaisesRegex(weft.Error, 'unknown device "tpu"') as caught:
            weft.Session(self.bundle, device="tpu")
        self.assertEqual(caught.exception.code, 4)
        with self.assertRaisesRegex(weft.Error, "cannot open: No such file or directory"):
            weft.Session(self.path.with_name("absent.weft"))
        with self.assertRaisesRegex(weft.Error, "not a bundle"):
            weft.Session(b"ONNX" * 100)

    def test_runs_in_threads(self):
        session, failures = weft.Session(self.bundle, threads=2), []

        def work(seed):
            for run in range(50):
                a = np.full(100 + run, seed, np.float32)
                if not np.array_equal(session.run({"a": a, "b": a})["y"], 2 * a + 1):
                    failures.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_reports_placement_and_times(self):
        session = weft.Session(self.bundle, profile=True, threads=1)
        session.run({"a": np.float32([1] * 70), "b": np.float32([1] * 70)})
        first, second = session.dispatches()
        self.assertEqual((first.kernel, first.device, first.origins, first.last_grid, first.runs), ("add", "cpu", ("/Add",), 2, 1))
        self.assertGreater(second.total_ns, 0)

    def test_runs_gpu_code_on_the_emulator(self):
        path = self.path.with_name("gpu.weft")
        subprocess.run([BUILD / "bin" / "weft-test-bundle", path, "gpu"], check=True)
        feeds = {"a": np.arange(200, dtype=np.float32), "b": np.ones(200, np.float32)}
        session = weft.Session(path, device="emu:H100,counters=on")
        np.testing.assert_array_equal(session.run(feeds)["y"], feeds["a"] + 2)
        counted = session.counters()
        self.assertEqual([launch["kernel"] for launch in counted], ["add", "add"])
        self.assertEqual(counted[0]["counters"]["smsp__inst_executed_op_global_st.sum"], 7)
        self.assertEqual(weft.Session(self.bundle).counters(), [])


if __name__ == "__main__":
    unittest.main()

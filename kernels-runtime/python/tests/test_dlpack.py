"""Tensors of other libraries: on the CPU, and on a GPU by the fake driver of the runtime's tests, whose memory is the host's.

No library with CUDA tensors is needed: `Foreign` is one, small enough to watch what is asked of it.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402

CPU, CUDA = 1, 2
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class DLManaged(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Foreign:
    """A float32 tensor of "another library", before DLPack 1.0, on any device."""

    def __init__(self, array, device=(CUDA, 0)):
        self.array, self.device, self.streams, self.kept = np.require(array, np.float32), device, [], []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        shape = (ctypes.c_int64 * self.array.ndim)(*self.array.shape)
        strides = (ctypes.c_int64 * self.array.ndim)(*(step // 4 for step in self.array.strides))
        tensor = DLTensor(self.array.ctypes.data, *self.device, self.array.ndim, 2, 32, 1, ctypes.addressof(shape),
                          ctypes.addressof(strides), 0)
        self.kept.append((DLManaged(tensor, None, None), shape, strides))  # One tensor may be given for two inputs.
        return _new_capsule(ctypes.addressof(self.kept[-1][0]), b"dltensor", None)


class Interface:
    """A tensor with `__cuda_array_interface__` alone."""

    def __init__(self, array, **more):
        self.array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False),
                                         "version": 3, "strides": None, **more}


def aligned(values):
    """A float32 array at an address that kernels take."""
    values = np.asarray(values, np.float32)
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start:start + values.nbytes].view(np.float32).reshape(values.shape)
    array[...] = values
    return array


class DLPackTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        for name, kind in (("example", []), ("gpu", ["gpu"])):
            subprocess.run([BUILD / "bin" / "weft-test-bundle", folder / f"{name}.weft", *kind], check=True)
        cls.bundle, cls.gpu = weft.Bundle(folder / "example.weft"), weft.Bundle(folder / "gpu.weft")
        os.environ["XDG_CACHE_HOME"] = cls.folder.name

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def card_session(self, **options):
        return weft.Session(self.gpu, device="cuda", cuda_driver=BUILD / "lib" / "libweft_fake_cuda.so", **options)

    def test_outputs_on_the_cpu_are_not_copied(self):
        session = weft.Session(self.bundle, threads=1)
        feeds = {"a": np.float32([1, 2]), "b": np.float32([10, 20])}
        first = session.run(feeds, outputs="dlpack")["y"]
        self.assertEqual(repr(first), "weft.Tensor(2xf32, cpu)")
        self.assertEqual(first.__dlpack_device__(), (CPU, 0))
        array, other = np.from_dlpack(first), np.from_dlpack(first)
        self.assertEqual(array.ctypes.data, other.ctypes.data)
        feeds["a"] = feeds["a"] + 100
        second = session.run(feeds, outputs="dlpack")["y"]
        self.assertEqual(array.tolist(), [12, 23])
        self.assertEqual(second.numpy().tolist(), [112, 123])
        address = array.ctypes.data
        del first, second, session
        gc.collect()
        self.assertEqual(array.tolist(), [12, 23])  # outlives everything
        self.assertEqual(other.ctypes.data, address)

    def test_capsules_nobody_takes_are_freed(self):
        session = weft.Session(self.bundle, threads=1)
        feeds = {"a": np.zeros(1 << 16, np.float32)[:1000], "b": np.zeros(1000, np.float32)}
        addresses = set()
        for _ in range(20):
            tensor = session.run(feeds, outputs="dlpack")["y"]
            for version in (None, (1, 0)):
                tensor.__dlpack__(max_version=version)
            addresses.add(tensor._data)
            del tensor
        self.assertEqual(len(addresses), 1)

    def test_takes_foreign_tensors_on_the_host(self):
        session = weft.Session(self.bundle, threads=1)
        a, b = Foreign(aligned([1, 2, 3]), (CPU, 0)), Foreign(aligned([10, 20, 30]), (CPU, 0))
        y = session.run({"a": a, "b": b})["y"]
        self.assertIsInstance(y, np.ndarray)
        self.assertEqual(y.tolist(), [12, 23, 34])
        self.assertEqual(a.streams, [None])
        self.assertEqual(session.statistics()["staged_copies"], 0)

    def test_writes_to_arrays(self):
        session = weft.Session(self.bundle, threads=1)
        feeds, y = {"a": np.float32([1, 2]), "b": np.float32([10, 20])}, aligned([0, 0])
        self.assertIs(session.run(feeds, out={"y": y})["y"], y)
        self.assertEqual(y.tolist(), [12, 23])
        with self.assertRaisesRegex(weft.Error, "expected a dense writable array"):
            session.run(feeds, out={"y": np.zeros((2, 2), np.float32)[:, 0]})
        with self.assertRaisesRegex(weft.Error, r"expected outputs among \['y'\], got \['z'\]"):
            session.run(feeds, out={"z": y})
        with self.assertRaisesRegex(weft.Error, "expected memory for 8 bytes, got 4"):
            session.run(feeds, out={"y": aligned([0])})
        with self.assertRaisesRegex(weft.Error, 'expected outputs="numpy" or "dlpack", got \'torch\''):
            session.run(feeds, outputs="torch")

    def test_a_card_takes_and_gives_pointers(self):
        session = self.card_session()
        a, b = Foreign(aligned([1, 2, 3])), Foreign(aligned([10, 20, 30]))
        y = session.run({"a": a, "b": b})["y"]
        self.assertEqual((y.device, y.shape, y.dtype), ("cuda:0", (3,), "f32"))
        self.assertEqual(y.numpy().tolist(), [21, 42, 63])
        self.assertEqual(session.statistics()["staged_copies"], 0)
        stream = a.streams[0]
        self.assertGreater(stream, 2)  # the session's own
        self.assertEqual(y.__dlpack_device__(), (CUDA, 0))
        self.assertEqual(y.__cuda_array_interface__["data"][0], y._data)
        self.assertEqual(y.__cuda_array_interface__["stream"], None)
        # An output as the input of the next run.
        self.assertEqual(session.run({"a": y, "b": b})["y"].numpy().tolist(), [41, 82, 123])
        # Host tensors give host arrays, unless told otherwise.
        host = {"a": a.array, "b": b.array}
        self.assertIsInstance(session.run(host)["y"], np.ndarray)
        self.assertEqual(session.run(host, outputs="dlpack")["y"].device, "cuda:0")
        self.assertEqual(session.run({"a": a, "b": b}, outputs="numpy")["y"].tolist(), [21, 42, 63])

    def test_a_card_works_on_the_callers_stream(self):
        session = self.card_session()
        a, b, y = Foreign(aligned([1, 2, 3])), Foreign(aligned([10, 20, 30])), Foreign(aligned([0, 0, 0]))
        result = session.run({"a": a, "b": b}, stream=0, out={"y": y})["y"]  # the legacy default stream
        self.assertIs(result, y)
        self.assertEqual(y.array.tolist(), [21, 42, 63])
        self.assertEqual(a.streams, [1])  # as DLPack names it
        pending = session.run({"a": a, "b": b}, stream=0)["y"]
        self.assertEqual(pending.__cuda_array_interface__["stream"], 1)
        pending.__dlpack__(stream=-1)
        with self.assertRaisesRegex(BufferError, "does not copy"):
            pending.__dlpack__(copy=True)
        with self.assertRaisesRegex(BufferError, "lies on cuda:0"):
            pending.__dlpack__(dl_device=(CPU, 0))

        class Stream:
            cuda_stream = 0

        self.assertEqual(session.run({"a": a, "b": b}, stream=Stream())["y"].numpy().tolist(), [21, 42, 63])
        with self.assertRaisesRegex(weft.Error, "expected a CUDA stream, got str"):
            session.run({"a": a, "b": b}, stream="first")

    def test_who_refuses_a_tensor_says_so(self):
        session = self.card_session()
        y = session.run({"a": Foreign(aligned([1, 2, 3])), "b": Foreign(aligned([10, 20, 30]))})["y"]
        for _ in range(2):  # numpy takes the capsule and lets it die with its own exception set
            with self.assertRaisesRegex((BufferError, RuntimeError), "[Uu]nsupported device"):
                np.from_dlpack(y)
        self.assertEqual(y.numpy().tolist(), [21, 42, 63])
        del y

    def test_graphs_are_replayed_when_outputs_are_dropped(self):
        session = self.card_session()
        a, b = Foreign(aligned([1, 2, 3])), Foreign(aligned([10, 20, 30]))
        for _ in range(5):
            self.assertEqual(session.run({"a": a, "b": b})["y"].numpy().tolist(), [21, 42, 63])
        self.assertEqual([session.statistics()[name] for name in ("graphs_made", "graphs_run", "graphs_refused")], [1, 4, 0])
        session = self.card_session(cuda_graphs=False)
        for _ in range(5):
            session.run({"a": a, "b": b})
        self.assertEqual(session.statistics()["graphs_run"], 0)

    def test_takes_the_cuda_array_interface(self):
        session = self.card_session()
        a, b = aligned([1, 2, 3]), aligned([10, 20, 30])
        feeds = {"a": Interface(a), "b": Interface(b, strides=(4,))}
        self.assertEqual(session.run(feeds)["y"].numpy().tolist(), [21, 42, 63])
        feeds["a"] = Interface(a, strides=(8,))
        with self.assertRaisesRegex(weft.Error, "got one with strides"):
            session.run(feeds)
        feeds["a"] = Interface(a, stream=7)
        with self.assertRaisesRegex(weft.Error, "belongs to another stream"):
            session.run(feeds)

    def test_refuses_what_lies_elsewhere(self):
        a, far = Foreign(aligned([1, 2, 3])), Foreign(aligned([1, 2, 3]), (CUDA, 1))
        with self.assertRaisesRegex(weft.Error, "expected memory of cuda:0 or of the host, got memory of cuda:1"):
            self.card_session().run({"a": far, "b": a})
        with self.assertRaisesRegex(weft.Error, "expected host memory for the device cpu, got memory of cuda:0"):
            weft.Session(self.bundle).run({"a": a, "b": a})
        with self.assertRaisesRegex(weft.Error, 'device "cpu" has no streams'):
            weft.Session(self.bundle).run({"a": a.array, "b": a.array}, stream=0)
        with self.assertRaisesRegex(weft.Error, "got one with strides"):
            self.card_session().run({"a": Foreign(np.zeros((3, 2), np.float32)[:, 0]), "b": a})


if __name__ == "__main__":
    unittest.main()

"""Tensors of PyTorch on a GPU, in and out by DLPack alone. Needs both; elsewhere it is skipped (test_dlpack.py has the fake GPU)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402

try:
    import torch
    HAS_CARD = torch.cuda.is_available()
except ImportError:
    HAS_CARD = False


@unittest.skipUnless(HAS_CARD, "no PyTorch with a GPU")
class TorchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)
        cls.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(cls.folder.name) / "gpu.weft"
        subprocess.run([BUILD / "bin" / "weft-test-bundle", path, "gpu"], check=True)
        cls.bundle = weft.Bundle(path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.session = weft.Session(self.bundle, device="cuda")
        self.a, self.b = torch.rand(1 << 20, device="cuda"), torch.rand(1 << 20, device="cuda")

    def feeds(self):
        return {"a": self.a, "b": self.b}

    def expected(self):
        return self.a + self.b + self.b

    def test_on_the_sessions_stream(self):
        y = torch.from_dlpack(self.session.run(self.feeds())["y"])
        self.assertTrue(y.is_cuda)
        self.assertTrue(torch.equal(y, self.expected()))
        self.assertEqual(self.session.statistics()["staged_copies"], 0)

    def test_on_torch_streams(self):
        for stream in (torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()):
            stream.wait_stream(torch.cuda.default_stream())
            with torch.cuda.stream(stream):
                total, wanted = torch.zeros_like(self.a), torch.zeros_like(self.a)
                for _ in range(50):  # each run needs what was queued before it, and is needed by what comes after
                    self.a.add_(1)
                    y = torch.from_dlpack(self.session.run(self.feeds(), stream=torch.cuda.current_stream())["y"])
                    total += y
                    wanted += self.expected()
                    del y
                self.assertTrue(torch.equal(total, wanted))
        statistics = self.session.statistics()
        self.assertGreater(statistics["graphs_run"], 100)
        self.assertEqual(statistics["graphs_refused"], 0)

    def test_streams_wait_for_each_other(self):
        first, second = torch.cuda.Stream(), torch.cuda.Stream()
        torch.cuda.synchronize()
        for _ in range(20):
            with torch.cuda.stream(first):
                torch.cuda._sleep(1_000_000)
                self.a.add_(1)
                y = self.session.run(self.feeds(), stream=first)["y"]
            with torch.cuda.stream(second):
                taken = torch.from_dlpack(y)  # makes `second` wait
                wrong = (taken != self.expected()).sum()
            first.wait_stream(second)
            self.assertEqual(wrong.item(), 0)

    def test_into_torch_tensors(self):
        y = torch.empty_like(self.a)
        for _ in range(5):
            self.a.add_(1)
            result = self.session.run(self.feeds(), stream=torch.cuda.current_stream(), out={"y": y})["y"]
            self.assertIs(result, y)
            self.assertTrue(torch.equal(y, self.expected()))
        self.assertEqual(self.session.statistics()["graphs_made"], 1)

    def test_outputs_outlive_everything(self):
        y = torch.from_dlpack(self.session.run(self.feeds())["y"])
        wanted = self.expected()
        del self.session
        self.assertTrue(torch.equal(y, wanted))

    def test_host_tensors_too(self):
        host = {name: value.cpu() for name, value in self.feeds().items()}
        y = self.session.run(host)["y"]
        self.assertTrue(torch.equal(torch.from_numpy(y), self.expected().cpu()))
        with self.assertRaisesRegex(weft.Error, "got one with strides"):
            self.session.run({"a": self.a[::2], "b": self.b[::2]})


if __name__ == "__main__":
    unittest.main()

"""weft.torch: modules compiled ahead of time, and the back end of torch.compile. Needs PyTorch (tried with 2.11) with onnxscript; elsewhere it is skipped.
On the GPU, too, where there is one."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import os
import pathlib
import sys
import unittest
import unittest.mock

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402

HAS_TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("onnxscript") is not None
if HAS_TORCH:
    import torch
    import weft.torch
    from torch import nn


def make_module(device):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(40, 64), nn.GELU(), nn.Linear(64, 24)).eval().to(device)


@unittest.skipUnless(HAS_TORCH, "no PyTorch with onnxscript")
class TorchCompileTest(unittest.TestCase):
    device = "cpu"

    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)
        weft.load_compiler(BUILD)

    def setUp(self):
        torch._dynamo.reset()
        self.module = make_module(self.device)
        self.x = torch.randn(5, 40, device=self.device)

    def check(self, found, wanted):
        self.assertEqual((found.dtype, found.device), (wanted.dtype, wanted.device))
        torch.testing.assert_close(found, wanted.detach(), rtol=1e-4, atol=1e-5)

    def compile(self, module, **options):
        return torch.compile(module, backend=weft.torch.backend, options={"fallback": False, **options})

    def test_any_extent_from_one_program(self):
        fast = weft.torch.compile(self.module, (self.x,), dynamic_shapes=({0: torch.export.Dim("rows", max=64)},))
        for rows in (2, 5, 33, 64):
            x = torch.randn(rows, 40, device=self.device)
            self.check(fast(x), self.module(x))
        with self.assertRaisesRegex(weft.Error, "65"):
            fast(torch.randn(65, 40, device=self.device))

    def test_strides_are_made_dense(self):
        fast = weft.torch.compile(self.module, (self.x,))
        x = torch.randn(40, 5, device=self.device).T
        self.check(fast(x), self.module(x))

    def test_trees_of_arguments_and_results(self):
        class Module(nn.Module):
            def forward(self, pair, *, scale):
                a, b = pair
                return {"sum": a + b, "scaled": (a * scale, None)}

        a, b, scale = (torch.randn(7, 3, device=self.device) for _ in range(3))
        fast = weft.torch.compile(Module(), ((a, b),), {"scale": scale})
        found = fast((a, b), scale=scale)
        self.check(found["sum"], a + b)
        self.check(found["scaled"][0], a * scale)
        self.assertIsNone(found["scaled"][1])
        with self.assertRaisesRegex(weft.Error, r"expected keyword arguments \['scale'\], got \[\]"):
            fast((a, b))
        with self.assertRaisesRegex(weft.Error, "expected arguments as exported"):
            fast(a, scale=scale)

    def test_element_types(self):
        class Module(nn.Module):
            def forward(self, x, mask, index):
                return torch.where(mask, x, -x), index + 1, mask

        x, index = torch.randn(4, 9, device=self.device).to(torch.bfloat16), torch.arange(9, device=self.device)
        mask = x > 0
        found = weft.torch.compile(Module(), (x, mask, index))(x, mask, index)
        for each, wanted in zip(found, (torch.where(mask, x, -x), index + 1, mask)):
            self.assertTrue(torch.equal(each, wanted))

    def test_parameters_are_not_copied(self):
        """Of inputs of rank 3, either: PyTorch's exporter would fold the transposition of the weights, and the model would hold a copy."""
        for dtype, shape in ((torch.float32, (5, 256)), (torch.float16, (2, 3, 256))):
            module = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 96)).eval().to(self.device, dtype)
            x = torch.randn(shape, device=self.device, dtype=dtype)
            fast = weft.torch.compile(module, (x,))
            torch.testing.assert_close(fast(x), module(x).detach(), rtol=1e-2, atol=1e-2)
            self.assertEqual(len(fast.bundle._weights), 3, "two weights and the bias of 512")
            self.assertLess(len(fast.bundle.data), 100_000, "code: the smaller weight alone has as much")

    def test_the_exporters_functions_are_read_once(self):
        try:
            from torch.onnx._internal.exporter._registration import ONNXRegistry
            theirs = vars(ONNXRegistry)["from_torchlib"]
        except (ImportError, KeyError):
            self.skipTest("a PyTorch that keeps them in another way")
        program = torch.export.export(self.module, (self.x,))
        weft.torch._graph.convert(program)
        self.assertIs(vars(ONNXRegistry)["from_torchlib"], theirs, "others export as before")

        def fail(*args, **kwargs):
            raise AssertionError("read again")

        with unittest.mock.patch.object(ONNXRegistry, "from_torchlib", classmethod(fail)):
            again = weft.torch._graph.convert(program)
            with self.assertRaises(Exception):
                torch.onnx.export(program, dynamo=True, verbose=False)
        self.assertEqual(len(again.parameters), 2, "what a conversion takes from its copy is not missing in the next")

    def test_what_is_refused(self):
        class Writes(nn.Module):
            def forward(self, x):
                x.add_(1)
                return x * 2

        with self.assertRaisesRegex(weft.Error, "expected a function without effects, got one that writes"):
            weft.torch.compile(Writes(), (self.x,))
        program = torch.export.export(self.module, (self.x,))
        with self.assertRaisesRegex(weft.Error, "expected an exported program alone"):
            weft.torch.compile(program, (self.x,))
        self.check(weft.torch.compile(program)(self.x), self.module(self.x))

    def test_backend(self):
        with torch.no_grad():
            fast = self.compile(self.module)
            for rows in (5, 6, 17, 5):  # Static, then with a symbol
                x = torch.randn(rows, 40, device=self.device)
                self.check(fast(x), self.module(x))

    def test_backend_sees_written_parameters(self):
        with torch.no_grad():
            fast = self.compile(self.module)
            self.check(fast(self.x), self.module(self.x))
            self.module[0].weight.mul_(2)
            self.module[2].bias.add_(1)
            self.check(fast(self.x), self.module(self.x))

    def test_backend_falls_back(self):
        fast = torch.compile(self.module, backend=weft.torch.backend)
        with self.assertLogs("weft.torch", "WARNING") as logs:
            y = fast(self.x)
        self.assertIn("gradients may be asked for; call it under torch.no_grad()", logs.output[0])
        y.sum().backward()
        self.assertIsNotNone(self.module[0].weight.grad)
        with torch.no_grad(), self.assertRaisesRegex(weft.Error, "unknown target|expected"):
            self.compile(self.module, target="sm_12")(self.x)

    def test_backend_with_graph_breaks(self):
        def function(x):
            y = torch.relu(x @ x.T)
            if y.sum().item() > 1e9:  # Decided in Python
                return y
            return y - 1

        with torch.no_grad():
            self.check(self.compile(function)(self.x), function(self.x))


@unittest.skipUnless(HAS_TORCH and torch.cuda.is_available(), "no PyTorch with a GPU")
class TorchCompileOnCardTest(TorchCompileTest):
    device = "cuda:0"

    def test_on_the_current_stream(self):
        fast = weft.torch.compile(self.module, (self.x,))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(20):
                torch.cuda._sleep(200_000)
                self.x.add_(0.01)
                y = fast(self.x)
                wanted = self.module(self.x)
                torch.testing.assert_close(y, wanted.detach(), rtol=1e-3, atol=1e-4)
        self.assertEqual(fast.session.statistics()["staged_copies"], 0)

    def test_other_devices(self):
        fast = weft.torch.compile(self.module, (self.x,))
        with self.assertRaisesRegex(weft.Error, "expected tensors on cuda:0, got one on cpu"):
            fast(self.x.cpu())


if __name__ == "__main__":
    unittest.main()

"""What bench/pytorch.py draws tells something, and its table says what failed. Needs PyTorch; elsewhere it is skipped."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from torch import nn

    import pytorch
    import pytorch_models


@unittest.skipUnless(HAS_TORCH, "no PyTorch")
class PytorchBenchTest(unittest.TestCase):
    def test_drawn_weights_let_the_input_through(self):
        """Norms whose statistics are those of nothing, layer scales of 1e-6 and a head of zeros hide it."""
        torch.manual_seed(1)
        layers = [layer for _ in range(12) for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Hardswish())]
        module = nn.Sequential(nn.Conv2d(3, 8, 1), *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
        nn.init.zeros_(module[-1].weight)
        args = (torch.randn(4, 3, 16, 16),)
        module = pytorch_models.draw(module, args)
        with torch.no_grad():
            found, other = module(*args), module(torch.randn(4, 3, 16, 16))
        self.assertFalse(module.training)
        self.assertTrue(torch.isfinite(found).all())
        self.assertGreater(pytorch.relative_error(other.double(), found.double()), 0.05)

    def test_table_has_figures_and_failures(self):
        text = pytorch.table({"one": {"weft error": 0.00123, "eager call us": 1234.0}, "two": {"inductor failure": "KeyError: x"}})
        self.assertIn("| one |  | 0.00123 |", text)
        self.assertIn(" 1234 |", text)
        self.assertIn("two: inductor failure: KeyError: x", text)


if __name__ == "__main__":
    unittest.main()

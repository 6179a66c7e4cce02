"""The clock of the GPU benchmark over a stand-in for PyTorch, without a GPU."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import gc
import importlib
import pathlib
import sys
import types
import unittest
import weakref
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


class Graph:
    """As CUDAGraph: holds none of what the captured launches read."""

    replays = 0

    def replay(self) -> None:
        Graph.replays += 1


class Tensor:
    pass


def stand_in() -> types.ModuleType:
    torch = types.ModuleType("torch")
    torch.cuda = mock.MagicMock()
    torch.cuda.CUDAGraph = Graph
    return torch


class Capture(unittest.TestCase):
    def setUp(self):
        with mock.patch.dict(sys.modules, {"torch": stand_in()}):
            sys.modules.pop("measure.timing", None)
            self.timing = importlib.import_module("measure.timing")

    def test_a_replay_keeps_what_the_captured_function_reads(self):
        calls, weight = [], Tensor()
        alive = weakref.ref(weight)
        replay = self.timing.capture(lambda held=weight: calls.append(held is not None))
        del weight
        gc.collect()
        self.assertEqual(len(calls), self.timing.WARM_UP + 1)
        before = Graph.replays
        replay()
        self.assertEqual(Graph.replays, before + 1)
        self.assertIsNotNone(alive())
        del replay
        gc.collect()
        self.assertIsNone(alive())


if __name__ == "__main__":
    unittest.main()

"""Times on a GPU: graph replays with a cold L2, candidates in turn."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Callable, Mapping

import torch

FLUSH_BYTES = 256 << 20

# The GPU stays busy for this many cycles (some 1.2 ms) before the first event, so that whatever the host does to start a candidate is
# done by then.
HEAD_START_CYCLES = 2_000_000

WARM_UP = 3


class Replay:
    """A CUDA graph, to be called, and the function it was captured from. The graph has nothing but addresses: what the function alone holds
    (channels-last copies of weights, say) must live as long, or replays read memory that the allocator gave back."""

    def __init__(self, graph: torch.cuda.CUDAGraph, function: Callable[[], object]):
        self.graph, self.function = graph, function

    def __call__(self) -> None:
        self.graph.replay()


def capture(function: Callable[[], object], errors: str = "global") -> Replay:
    """The function's launches as a CUDA graph. `errors`: "thread_local" where other threads may call CUDA meanwhile, as NCCL's watchdog does."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=errors):
        function()
    return Replay(graph, function)


class Clock:
    def __init__(self):
        self.scratch = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self.round = 0

    def once(self, start: Callable[[], object]) -> float:
        """One cold run in ms."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.round += 1
        self.scratch.fill_(self.round)
        torch.cuda._sleep(HEAD_START_CYCLES)
        begin.record()
        start()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def all(self, candidates: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
        """`rounds` times of each, in turn, so that drift of the clocks falls on all of them."""
        for start in candidates.values():
            for _ in range(WARM_UP):
                self.once(start)
        times = {name: [] for name in candidates}
        for _ in range(rounds):
            for name, start in candidates.items():
                times[name].append(self.once(start))
        return times

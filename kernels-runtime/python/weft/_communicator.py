"""The ranks of a program that runs in several processes."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

from ._library import CommunicatorOptions, Error, check, load_library

_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_RANKS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


class Communicator:
    """This process as rank `rank` of `ranks`; returns when all have joined. All ranks create the same sessions and run them with the same
    shapes, in the same order. An error of one is an error of all: the communicator is of no use from then on.

    address    "HOST:PORT" where rank 0 listens until all have joined, and which all ranks reach
    transport  "nccl" or "host"; default: NCCL for sessions on GPUs
    nccl       library of NCCL; default: libnccl.so.2
    timeout    seconds to wait for a rank that does nothing; default: 60
    """

    def __init__(self, rank: int, ranks: int, address: str, *, transport: str | None = None, nccl: str | os.PathLike | None = None,
                 timeout: float | None = None):
        self._library = load_library()
        self.rank, self.ranks = rank, ranks
        options = CommunicatorOptions(ctypes.sizeof(CommunicatorOptions), rank, ranks, address.encode(),
                                      None if transport is None else transport.encode(), None if nccl is None else os.fsencode(nccl),
                                      0 if timeout is None else max(int(timeout * 1000), 1))
        self._handle = ctypes.c_void_p()
        check(self._library.weft_communicator_create(options, self._handle))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **options) -> Communicator:
        """What torchrun tells its processes, and mpirun or srun with MASTER_ADDR and MASTER_PORT set. The port is the one behind
        MASTER_PORT, where torchrun itself listens."""
        def first(names: tuple[str, ...]) -> str:
            value = next((environment[name] for name in names if name in environment), None)
            if value is None:
                raise Error(2, f"expected {' or '.join(names)} in the environment, as torchrun sets it")
            return value
        port = int(first(("MASTER_PORT",))) + 1
        return cls(int(first(_RANK)), int(first(_RANKS)), f"{first(('MASTER_ADDR',))}:{port}", **options)

    def close(self) -> None:
        """Sessions keep what they need of it."""
        if self._handle:
            self._library.weft_communicator_release(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

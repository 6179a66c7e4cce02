"""run_ranks.py N COMMAND...: the command as N ranks, with RANK in its words as R/N@HOST:PORT; prints what rank 0 does."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import socket
import subprocess
import sys

count, command = int(sys.argv[1]), sys.argv[2:]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
ranks = [subprocess.Popen([word.replace("RANK", f"{rank}/{count}@127.0.0.1:{port}") for word in command],
                          stdout=None if rank == 0 else subprocess.DEVNULL) for rank in range(count)]
sys.exit(max(rank.wait() for rank in ranks))

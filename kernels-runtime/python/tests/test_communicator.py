"""Ranks: what the environment says, and what is refused. test/models/run_sharded.py runs programs of several."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import sys
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
sys.path.insert(0, str(PACKAGE))

import weft  # noqa: E402


class CommunicatorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weft.load_library(BUILD)

    def test_one_rank_waits_for_nobody(self):
        with weft.Communicator(0, 1, "") as communicator:
            self.assertEqual((communicator.rank, communicator.ranks), (0, 1))
        communicator.close()

    def test_takes_what_launchers_say(self):
        torchrun = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        mpirun = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        for environment in (torchrun, mpirun):
            with self.assertRaisesRegex(weft.Error, r'rank 1 of 2 at "127.0.0.1:2": rank 0: nobody listens there'):
                weft.Communicator.from_environment(environment, timeout=0.05)
        with self.assertRaisesRegex(weft.Error, "expected MASTER_PORT in the environment"):
            weft.Communicator.from_environment({"RANK": "0"})

    def test_refuses_ranks_that_are_none(self):
        with self.assertRaisesRegex(weft.Error, "expected a rank below the number of ranks"):
            weft.Communicator(2, 2, "127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()

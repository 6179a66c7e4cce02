"""bench/ranks.py: its flags, its table, and a dry run on CPU ranks where there is a compiler."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import numpy as np  # noqa: E402

import ranks as script  # noqa: E402
from measure import ranks  # noqa: E402

BUILD = BENCH.parent / "build"


class Arguments(unittest.TestCase):
    def test_defaults_and_refusals(self):
        args = script.parse([])
        self.assertEqual((args.ranks, len(args.cases), args.target), (2, 10, "sm_90a"))
        self.assertEqual([case.name for case in script.parse(["--only=70b_p*"]).cases], ["70b_prefill_512", "70b_prefill_2048"])
        for flags in (["--ranks=1"], ["--only=none"], ["--device=tpu"]):
            with self.assertRaises(SystemExit):
                script.parse(flags)

    def test_heads_that_ranks_do_not_divide_are_whole(self):
        self.assertIn("*.key:-1", ranks.shards(ranks.NETS["8b"], 4))
        self.assertNotIn("*.key:-1", ranks.shards(ranks.NETS["8b"], 3))

    def test_feeds_are_a_ranks_heads(self):
        net, case = ranks.SMALL_NETS["small"], ranks.SMALL_CASES[0]
        whole, parts = case.feeds(net, 0, 1, np.float32), [case.feeds(net, rank, 2, np.float32) for rank in range(2)]
        for name, value in whole.items():
            own = [part[name] for part in parts]
            np.testing.assert_array_equal(value, np.concatenate(own, 1) if name.startswith("past") else own[1])

    def test_bytes(self):
        dram, links = ranks.count_bytes(ranks.CASES[0], ranks.NETS["8b"], 1)
        self.assertAlmostEqual(dram / 1e9, 15.1, delta=0.2)  # The embedding is not read.
        self.assertEqual(links, 0)
        half, links = ranks.count_bytes(ranks.CASES[0], ranks.NETS["8b"], 2)
        self.assertAlmostEqual(half, dram / 2)
        self.assertEqual(links, 2 * (2 * 2 * 32 * 4096 / 2 + 128256 / 2))


class Table(unittest.TestCase):
    def line(self, **changes) -> dict:
        return {"name": "8b_decode_b1", "one_us": 170.0, "off_us": 110.0, "on_us": 100.0, "torch_us": 130.0, "error": 1e-3, "failures": [], "bytes": [2e8, 1e6], **changes}

    def test_limits(self):
        self.assertEqual(ranks.judge(self.line(), 2), [])
        self.assertEqual(ranks.judge(self.line(torch_us=119.0), 2), ["below 1.2 of PyTorch"])
        self.assertEqual(ranks.judge(self.line(one_us=150.0), 2), ["below 1.6 of one GPU"])
        self.assertEqual(ranks.judge(self.line(one_us=150.0), 4), [])
        self.assertEqual(ranks.judge(self.line(name="8b_prefill_512", one_us=150.0, torch_us=101.0), 2), [])
        self.assertEqual(ranks.judge({"name": "8b_decode_b1"}, 2), ["not measured"])

    def test_text(self):
        text = ranks.markdown({"ranks": 2, "device": "NVIDIA H200", "commit": "c", "rounds": 30, "cases": [self.line()]})
        self.assertIn("| 8b_decode_b1 | 170.0 | 110.0 | 100.0 | 130.0 | 1.30 | 1.70 | 200.0 (42) | 1.00 | 1.0e-03 |  |", text)


@unittest.skipUnless((BUILD / "bin" / "weft-compile").exists(), "no compiler")
class DryRun(unittest.TestCase):
    def test_on_ranks_of_the_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = [sys.executable, str(BENCH / "ranks.py"), "--small", f"--bundles={folder}/b", f"--out={folder}/o"]
            subprocess.run([*flags, "--prepare", "--target=cpu", "--overlap=2"], check=True, capture_output=True)
            done = subprocess.run([*flags, "--device=cpu", "--rounds=2", "--seconds=200"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            results = json.loads(pathlib.Path(f"{folder}/o/ranks.json").read_text())
            self.assertEqual([line["name"] for line in results["cases"]], [case.name for case in ranks.SMALL_CASES])
            for line in results["cases"]:
                self.assertTrue({"one_us", "off_us", "on_us", "error"} <= line.keys(), line)


if __name__ == "__main__":
    unittest.main()

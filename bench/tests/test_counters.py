"""Reading Nsight Compute's CSV, without a GPU."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import counters  # noqa: E402

CSV = """==PROF== Connected to process 1
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","1","at::cuda::spin_kernel(long)","gpu__time_duration.sum","ns","900"
"1","1","norm","gpu__time_duration.sum","us","50"
"1","1","norm","dram__sectors_read.sum","sector","1,000,000"
"1","1","norm","lts__t_sector_hit_rate.pct","%","50"
"2","1","at::cuda::spin_kernel(long)","gpu__time_duration.sum","ns","900"
"3","1","a","gpu__time_duration.sum","ns","10,000"
"3","1","a","lts__t_sector_hit_rate.pct","%","20"
"4","1","b","gpu__time_duration.sum","ns","30000"
"4","1","b","lts__t_sector_hit_rate.pct","%","n/a"
"""


class Reading(unittest.TestCase):
    def test_kernels_belong_to_the_range_of_the_marker_before_them(self):
        kernels = counters.parse(CSV, ["rmsnorm_8192x4096/weft", "rmsnorm_8192x4096/eager"])
        self.assertEqual([(k.range, k.name, k.values["us"]) for k in kernels], [
            ("rmsnorm_8192x4096/weft", "norm", 50), ("rmsnorm_8192x4096/eager", "a", 10), ("rmsnorm_8192x4096/eager", "b", 30)])
        self.assertEqual(kernels[0].values["read"], 1_000_000)
        self.assertIsNone(kernels[2].values["l2"])

    def test_table(self):
        text = counters.table(counters.parse(CSV, ["rmsnorm_8192x4096/weft", "rmsnorm_8192x4096/eager"]))
        self.assertIn("| **rmsnorm_8192x4096/weft** (1 kernels) | 50.0 | 32.0 | - | 134.2 | 50.0 | - | - | - |", text)
        self.assertIn("| **rmsnorm_8192x4096/eager** (2 kernels) | 40.0 | - | - | 134.2 | - | - | - | - |", text)
        self.assertIn("| &nbsp; a | 10.0 |", text)


if __name__ == "__main__":
    unittest.main()

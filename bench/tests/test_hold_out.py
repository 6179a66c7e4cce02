"""What records are worth where they were not made: by made-up times. And cases like others."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import hold_out  # noqa: E402
import make_records  # noqa: E402

PLANNED, OTHER = "#tg.schedule<tile = [64, 64]>", "#tg.schedule<tile = [128, 64]>"


def kernel(m: int, planned: float, other: float, subgraph: str = "a") -> hold_out.Kernel:
    return hold_out.Kernel(subgraph, (f"{m}x64xf16", "256x64xf16", f"{m}x256xf16"), "contract", {PLANNED: planned, OTHER: other})


class HeldOut(unittest.TestCase):
    def test_record_of_a_kernel_like_it(self):
        one, other = kernel(1000, 10, 8), kernel(992, 10, 9)
        self.assertEqual(hold_out.choose(other, [one, other]), OTHER)
        self.assertIsNone(hold_out.choose(other, [other]))

    def test_none_of_others(self):
        one = kernel(1000, 10, 8)
        for other in (kernel(1032, 10, 9), kernel(999, 10, 9), kernel(840, 10, 9), kernel(992, 10, 9, "b")):  # A tile more, odd, far, other ops.
            self.assertIsNone(hold_out.choose(other, [one, other]))
        self.assertIsNone(hold_out.choose(kernel(992, 10, 9), [kernel(1000, 10, 9.8)]))  # Gained less than 3 %.

    def test_planned_stays_where_times_do_not_tell(self):
        self.assertEqual(kernel(8, 10, 9.9).record(), (PLANNED, 10))
        self.assertEqual(kernel(8, 10, 9.5).record(), (OTHER, 9.5))

    def test_reads_what_the_tuner_leaves(self):
        line = {"subgraph": "a", "shapes": ["8xf16"], "kernel": "k", "status": "ok"}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "times.jsonl"
            path.write_text("\n".join(json.dumps({**line, **more}) for more in ({"status": "begun", "schedule": "x"}, {"schedule": "x", "seconds": 2},
                                                                                {"schedule": "y", "seconds": 1})))
            found, = hold_out.read([path])
        self.assertEqual((found.planned, found.record()), (2, ("y", 1)))


class Cases(unittest.TestCase):
    def test_near_ones_keep_what_networks_choose(self):
        args = argparse.Namespace(seed=5, count=6, kinds="product,swiglu", near=True, named="gemm_4096*")
        found = make_records.cases_of(args)
        self.assertEqual([case.name for case in found[12:]], ["gemm_4096x4096x4096"])
        for case, near in zip(found[0:12:2], found[1:12:2], strict=True):
            self.assertEqual(near.name, f"{case.name}_near")
            for key, value in case.sizes.items():
                if isinstance(value, int):
                    self.assertLessEqual(abs(near.sizes[key] - value), max(0.07 * value, 64))
                    self.assertTrue(key in make_records.FREE or value % 64 or near.sizes[key] % 64 == 0)


if __name__ == "__main__":
    unittest.main()

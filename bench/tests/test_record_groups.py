"""Records of groups from an explanation and times, without measuring any."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import record_groups  # noqa: E402

BENCH = {"schema": "weft.bench/1", "kernels": [{"kernel": "mul_contract", "dispatches": 2, "ms": 0.024, "origins": []},
                                               {"kernel": "exp", "dispatches": 1, "ms": 0.005, "origins": []}]}
FUSED = [{"kernel": "mul_contract", "nodes": ["m", "c"], "ops": ["mul", "contract"], "subgraph": "a" * 32, "shapes": ["4xf32"],
          "kernel_subgraph": "b" * 32, "kernel_shapes": ["4xf32"], "schedule": "#tg.schedule<>"},
         {"kernel": "unknown", "nodes": ["u"], "ops": ["neg"], "subgraph": "c" * 32, "shapes": []}]


def apart(*entries: tuple[list[str], float]):
    return [({"nodes": nodes}, seconds) for nodes, seconds in entries]


class Records(unittest.TestCase):
    def test_times_of_one_start(self):
        self.assertEqual({name: round(seconds, 9) for name, seconds in record_groups.times_of(BENCH).items()}, {"mul_contract": 12e-6, "exp": 5e-6})
        with self.assertRaisesRegex(ValueError, "weft bench --json"):
            record_groups.times_of({"schema": "weft.bench/1", "kernels": []})
        with self.assertRaisesRegex(ValueError, "weft bench --json"):
            record_groups.times_of([])

    def test_choice_by_what_the_nodes_take_apart(self):
        times = record_groups.times_of(BENCH)
        group, = record_groups.make_records(FUSED, times, "H100", apart((["m"], 4e-6), (["c"], 9e-6), (["c", "x"], 1e-6)))
        self.assertEqual((group["choice"], round(group["seconds"], 9), round(group["apart_seconds"], 9)), ("fused", 12e-6, 13e-6))
        self.assertNotIn("schedule", group)
        slower = record_groups.make_records(FUSED, times, "H100", apart((["m"], 4e-6), (["c"], 7e-6)))
        self.assertEqual(slower[0]["choice"], "apart")

    def test_no_choice_where_nodes_are_missing(self):
        group = record_groups.make_records(FUSED, record_groups.times_of(BENCH), "H100", apart((["m"], 4e-6)))[0]
        self.assertNotIn("choice", group)

    def test_merge(self):
        records = record_groups.make_records(FUSED, record_groups.times_of(BENCH), "H100")
        once = record_groups.merge("", records)
        self.assertEqual(once.count("\n"), 2)
        self.assertEqual(record_groups.merge(once, records), once)
        for other in ('{"schema": "weft.profile/1", "records": []}', "[]"):
            with self.assertRaisesRegex(ValueError, "weft.records/1"):
                record_groups.merge(other, records)


if __name__ == "__main__":
    unittest.main()

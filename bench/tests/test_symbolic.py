"""Graphs with a symbol are well formed and say what they are said to; flags, names and the table of bench/symbolic.py."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import symbolic as script  # noqa: E402
from measure import prepare_symbolic, symbolic, symbolic_table  # noqa: E402

SMALL = {"swiglu_4096x14336": lambda g: symbolic.swiglu(g, 8, 12), "bert_layer": lambda g: symbolic.bert_layer(g, 8, 2),
         "llama_layer": lambda g: symbolic.llama_layer(g, 16, 4, 2, 24)}


def run_small(name: str, rows: int) -> np.ndarray:
    model = SMALL[name](symbolic.Graph("f32"))
    random = np.random.default_rng(3)
    feeds = {}
    for port in model.graph.input:
        shape = [d.dim_value if d.HasField("dim_value") else 5 for d in port.type.tensor_type.shape.dim]
        value = random.standard_normal(shape).astype(np.float32)
        feeds[port.name] = value[:rows] if port.name == "x" else value
    return ReferenceEvaluator(model).run(None, feeds)[0]


class Graphs(unittest.TestCase):
    def test_well_formed_with_one_symbol(self):
        for case in symbolic.CASES:
            model = case.model("f16")
            onnx.checker.check_model(model, full_check=True)
            symbols = {d.dim_param for port in [*model.graph.input, *model.graph.output] for d in port.type.tensor_type.shape.dim if d.dim_param}
            self.assertEqual(symbols, {symbolic.SYMBOL}, case.name)
            self.assertLess(len(model.SerializeToString()), 10_000, "matrices are inputs")

    def test_the_sizes_of_the_issue(self):
        shapes = {port.name: [d.dim_value for d in port.type.tensor_type.shape.dim] for port in symbolic.CASES[0].model("f16").graph.input}
        self.assertEqual(shapes, {"x": [0, 4096], "gate": [4096, 14336], "up": [4096, 14336]})
        self.assertEqual(symbolic.ROWS, (1, 7, 16, 100, 128, 512, 1000, 4096))

    def test_any_number_of_rows(self):
        for name in SMALL:
            for rows in (1, 2, 5):
                result = run_small(name, rows)
                self.assertEqual(result.shape[0], rows)
                self.assertTrue(np.isfinite(result).all(), name)
            if name == "swiglu_4096x14336":  # Rows do not know of each other.
                np.testing.assert_allclose(run_small(name, 1), run_small(name, 5)[:1], rtol=1e-5)


class Arguments(unittest.TestCase):
    def test_defaults_and_refusals(self):
        args = script.parse(["--prepare"])
        self.assertEqual((args.rows, len(args.cases), args.target), (list(symbolic.ROWS), 3, "sm_90a"))
        self.assertEqual([case.name for case in script.parse(["--only=*layer", "--rows=3,5"]).cases], ["bert_layer", "llama_layer"])
        for flags in (["--rows=0"], ["--rows=a"], ["--only=none"]):
            with self.assertRaises(SystemExit):
                script.parse(flags)

    def test_what_is_compiled(self):
        case, model, bundle = symbolic.CASES[1], pathlib.Path("m.onnx"), pathlib.Path("b.weft")
        self.assertEqual(prepare_symbolic.compile_flags(model, bundle, "sm_90a", None), ["m.onnx", "--target=sm_90a", "-o", "b.weft"])
        self.assertEqual(prepare_symbolic.compile_flags(model, bundle, "sm_90a", 7)[-1], "--dim=T=7")
        self.assertEqual([prepare_symbolic.bundle_name(case, "f16", rows) for rows in (None, 7)], ["bert_layer.f16.T.weft", "bert_layer.f16.7.weft"])
        self.assertEqual(prepare_symbolic.intervals({"programs": [{"interval": "T 1"}, {"interval": "T 2-"}]}), "T 1, T 2-")
        self.assertEqual(prepare_symbolic.intervals({"programs": [{}]}), "T: one plan")


class Table(unittest.TestCase):
    def results(self, symbolic_us: float, **changes) -> list[dict]:
        rows = [{"rows": 1, "symbolic_us": symbolic_us, "static_us": 10.0}, {"rows": 7, "symbolic_us": 10.0, "static_us": 10.0}]
        return [{"name": "n", "intervals": "T 1, T 2-", "bytes": 3e5, "static_bytes": 1e5, "seconds": 2.0, "static_seconds": 1.0, "graphs_made": 2,
                 "graphs_refused": 0, "rows": rows, **changes}]

    def test_limits(self):
        self.assertTrue(symbolic_table.is_good(self.results(10.7)))
        self.assertFalse(symbolic_table.is_good(self.results(10.9)))
        self.assertFalse(symbolic_table.is_good(self.results(10.0, graphs_made=1)))
        self.assertFalse(symbolic_table.is_good(self.results(10.0, graphs_refused=1)))
        failed = self.results(10.0)
        failed[0]["rows"][0]["failure"] = "relative L2 1"
        self.assertFalse(symbolic_table.is_good(failed))
        self.assertFalse(symbolic_table.is_good([]))

    def test_text(self):
        text = symbolic_table.markdown(self.results(10.9))
        self.assertIn("| 1 | 10.9 | 10.0 | 1.090 | more than 1.08 |", text)
        self.assertIn("| 7 | 10.0 | 10.0 | 1.000 |  |", text)
        self.assertIn("3.0 times the largest static bundle", text)


if __name__ == "__main__":
    unittest.main()

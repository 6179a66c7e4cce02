"""What the cases cost at least, and that their data are the same bytes wherever they are drawn."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cases  # noqa: E402
from cases import onnx_ops  # noqa: E402
from cases.case import draw  # noqa: E402

# ms at 800 TFLOP/s and 3.0 TB/s, counted by hand for the times to beat; the networks had none.
FLOORS = {
    "gemm_4096x4096x4096": 0.1718, "gemm_8192x8192x8192": 1.3745, "gemm_2048x28672x4096": 0.6013, "gemm_1x28672x4096": 0.0783,
    "gemm_16x28672x4096": 0.0786, "gemm_512x4096x14336": 0.0752, "bert_ffn_up_gelu_4096x3072x768": 0.0242,
    "ffn_swiglu_llama8b_T1": 0.1174, "ffn_swiglu_llama8b_T16": 0.1175, "ffn_swiglu_llama8b_T512": 0.2255,
    "ffn_swiglu_llama8b_T4096": 1.8040, "ffn_swiglu_llama70b_T2048": 3.6077, "attn_B4_H16_16_S1024_D64_full": 0.0215,
    "attn_B2_H32_8_S4096_D128_causal": 0.3436, "attn_B1_H24_24_S4352_D128_full": 0.2909, "attn_B1_H32_8_S16384_D128_causal": 2.7488,
    "attn_B16_H12_12_S384_D64_full": 0.0126, "decode_B1_H32_8_S2048_D128": 0.0028, "decode_B1_H32_8_S32768_D128": 0.0447,
    "decode_B16_H32_8_S4096_D128": 0.0895, "decode_B64_H32_8_S2048_D128": 0.1790, "decode_B8_H32_32_S256_D128": 0.0112,
    "rmsnorm_8192x4096": 0.0447, "residual_rmsnorm_8192x4096": 0.0895, "layernorm_gelu_16384x1024": 0.0224, "softmax_16384x4096": 0.0895,
    "groupnorm_silu_2x320x64x64": 0.0035, "geglu_4096x10240": 0.0419, "rms_qkv_rope_llama8b_T2048": 0.1288,
    "llama8b_layer_prefill_T512": 0.2819, "llama8b_layer_prefill_T2048": 1.1596, "llama8b_layer_decode_B1_ctx2047": 0.1481, "llama8b_layer_decode_B16_ctx2047": 0.1901,
    "llama8b_layer_decode_B1_ctx511_cache": 0.1468,  # 218.1 M weights, 4.2 MB of cache read and written.
    "bert_base_layer_B8_T512": 0.0805, "bert_base_layer_B1_T128": 0.0049, "qwen_image_block_I4096_T256": 1.5230,
    "sd_unet_resblock_2x320x64x64": 0.0377,
}
NETWORKS = {"resnet50_B1", "resnet50_B32", "mobilenet_v2_B1", "efficientnet_b0_B1"}


class Costs(unittest.TestCase):
    def test_every_case_of_the_table(self):
        self.assertEqual(set(cases.CASES), set(FLOORS) | NETWORKS)

    def test_floors(self):
        for name, floor in FLOORS.items():
            self.assertAlmostEqual(cases.CASES[name].floor_ms, floor, delta=max(6e-5, 2e-3 * floor), msg=name)

    def test_networks_have_the_published_sizes(self):
        """Multiply-adds and parameters of the papers and of torchvision's documentation."""
        for name, gmacs, millions in (("resnet50_B1", 4.09, 25.5), ("mobilenet_v2_B1", 0.30, 3.49), ("efficientnet_b0_B1", 0.39, 5.27)):
            case = cases.CASES[name]
            self.assertAlmostEqual(case.flops / 2e9, gmacs, delta=0.03 * gmacs + 0.005, msg=name)
            self.assertAlmostEqual(sum(np.prod(s.shape) for s in case.weight_specs.values()) / 1e6, millions, delta=0.02 * millions, msg=name)


class Data(unittest.TestCase):
    def test_the_same_bytes_however_drawn(self):
        """A large tensor is cut from a table in its own type, a small one from the f32 table: no difference may show."""
        spec = onnx_ops.Spec((3, 700_001), std=0.5, mean=0.25)
        large = draw("t", spec, cases.DTYPES["bf16"])
        small = draw("t", onnx_ops.Spec((1000,), std=0.5, mean=0.25), cases.DTYPES["bf16"])
        np.testing.assert_array_equal(large.ravel()[:1000], small)
        self.assertAlmostEqual(float(large.astype(np.float32).mean()), 0.25, delta=0.01)
        self.assertAlmostEqual(float(large.astype(np.float32).std()), 0.5, delta=0.01)

    def test_external_weights(self):
        case = cases.CASES["sd_unet_resblock_2x320x64x64"].small
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            case.write_weights("bf16", folder)
            onnx.save(case.model("bf16", "external"), folder / "m.onnx")
            loaded = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(folder / "m.onnx").graph.initializer}
        for key, value in case.draw("bf16").items():
            if key in case.weight_specs:
                np.testing.assert_array_equal(loaded[key], value)

    def test_graphs_are_valid_onnx(self):
        for case in cases.find():
            onnx.checker.check_model(case.model("bf16", "inputs"), full_check=True)


if __name__ == "__main__":
    unittest.main()

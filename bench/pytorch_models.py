"""Models of torchvision and transformers as people run them, with weights drawn here; nothing is fetched."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
from typing import Callable

import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Model:
    """`make(small)` draws a module in f32 and its arguments; small ones are for machines without a GPU. `tf32`: of f32, as
    torch.set_float32_matmul_precision("high") allows."""
    name: str
    dtype: torch.dtype
    make: Callable[[bool], tuple[nn.Module, tuple]]
    tf32: bool = False
    is_convolutional: bool = False


class First(nn.Module):
    """The first result of a model that returns several."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, *args):
        found = self.model(*args)
        return found if isinstance(found, torch.Tensor) else found[0]


def draw(module: nn.Module, args: tuple) -> nn.Module:
    """Weights that are zeros or ones at first would make what they scale invisible: heads of zeros (vit_b_16: all results zero), layer scales of
    1e-6 (convnext), norms that do nothing. Batch norms get the statistics of `args`: as drawn, 1e-9 of what efficientnet_b0 returns
    comes from its input."""
    with torch.no_grad():
        for name, value in module.named_parameters():
            is_constant = value.min() == value.max()
            if is_constant and (value.ndim == 1 and value.abs().max() > 0 or name.endswith("layer_scale")):
                value.uniform_(0.7, 1.4)
            elif is_constant:
                value.normal_(std=0.05)
        norms = [each for each in module.eval().modules() if isinstance(each, nn.BatchNorm2d)]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean of what it sees
            norm.train()
        if norms:
            module(*args)
    return module.eval()


def _vision(function: str, batch: int, size: int = 224, small: int = 64, **options):
    def make(is_small: bool):
        import torchvision.models
        extent = small if is_small else size
        # A small image is still seen by a whole model.
        given = {"image_size": extent} if function.startswith("vit") else {}
        module = getattr(torchvision.models, function)(**given, **options)
        return module, (torch.randn(4 if is_small else batch, 3, extent, extent),)
    return make


def _text(model: str, config: str, batch: int, length: int, full: dict, small: dict):
    def make(is_small: bool):
        import transformers
        options = {"vocab_size": 1000, **full, **(small if is_small else {})}
        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        shape = (2, 37) if is_small else (batch, length)
        return First(module), (torch.randint(0, options["vocab_size"], shape),)
    return make


def _clip(is_small: bool):
    import transformers
    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128, "image_size": 64, "patch_size": 16}
    config = transformers.CLIPVisionConfig(**(small if is_small else {}))
    return First(transformers.CLIPVisionModel(config)), (torch.randn(2 if is_small else 8, 3, config.image_size, config.image_size),)


_SMALL_LLAMA = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128}

MODELS = (
    Model("resnet50_f16_B8", torch.float16, _vision("resnet50", 8), is_convolutional=True),
    Model("bert_base_f16_B8_T128", torch.float16, _text("BertModel", "BertConfig", 8, 128, {}, {
        "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128})),
    Model("vit_b_16_f16_B8", torch.float16, _vision("vit_b_16", 8)),
    Model("llama_1b_4layers_bf16_B1_T512", torch.bfloat16, _text("LlamaModel", "LlamaConfig", 1, 512, {
        "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
        "use_cache": False}, _SMALL_LLAMA)),
    Model("convnext_tiny_bf16_B8", torch.bfloat16, _vision("convnext_tiny", 8), is_convolutional=True),
    Model("gpt2_f16_B1_T256", torch.float16, _text("GPT2Model", "GPT2Config", 1, 256, {"use_cache": False}, {
        "n_embd": 64, "n_layer": 2, "n_head": 2})),
    Model("mobilenet_v3_large_f16_B8", torch.float16, _vision("mobilenet_v3_large", 8), is_convolutional=True),
    Model("t5_small_encoder_bf16_B4_T128", torch.bfloat16, _text("T5EncoderModel", "T5Config", 4, 128, {}, {
        "d_model": 64, "num_layers": 2, "num_heads": 2, "d_ff": 128, "d_kv": 32})),
    Model("qwen3_0.6b_4layers_bf16_B1_T512", torch.bfloat16, _text("Qwen3Model", "Qwen3Config", 1, 512, {
        "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 3072,
        "head_dim": 128, "use_cache": False}, {**_SMALL_LLAMA, "head_dim": 16})),
    Model("efficientnet_b0_f32_B8", torch.float32, _vision("efficientnet_b0", 8), tf32=True, is_convolutional=True),
    Model("clip_vit_b_32_f16_B8", torch.float16, _clip),
    Model("swin_t_f16_B4", torch.float16, _vision("swin_t", 4)),
)


def make(model: Model, device: str, small: bool = False) -> tuple[nn.Module, tuple]:
    """The same values on every machine: drawn on the CPU."""
    torch.manual_seed(7)
    module, args = model.make(small)
    module = draw(module, args).to(device, model.dtype)
    return module, tuple(arg.to(device, model.dtype) if arg.is_floating_point() else arg.to(device) for arg in args)

"""Whole convolutional networks, batch norms folded, as torchvision's exported for inference."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math

from .case import Case


def _conv(f, x, name: str, channels: int, kernel: int, stride: int = 1, groups: int = 1, gain: float = 2.0):
    """A convolution with bias; the weights' variance is gain / fan-in, which keeps activations of one size through the network"""
    fan_in = x.shape[1] // groups * kernel * kernel
    w = f.weight(f"{name}.weight", (channels, x.shape[1] // groups, kernel, kernel), std=math.sqrt(gain / fan_in))
    return f.conv(x, w, f.weight(f"{name}.bias", (channels,), std=0.02), stride, kernel // 2, groups)


def _classifier(f, x, classes: int) -> None:
    x = f.reshape(f.spatial_mean(x), [x.shape[0], x.shape[1]])
    f.output("logits", f.linear(x, f.weight("classifier.weight", (classes, x.shape[1])), f.weight("classifier.bias", (classes,))))


def resnet50(f, batch: int, size: int, width: int = 64, stages=(3, 4, 6, 3), classes: int = 1000) -> None:
    """He et al. 2015, with the stride in the 3x3 convolution"""
    x = f.relu(_conv(f, f.input("image", (batch, 3, size, size)), "stem", width, 7, 2))
    x = f.max_pool2d(x, 3, 2, 1)
    for stage, blocks in enumerate(stages):
        inner = width << stage
        for block in range(blocks):
            name, stride = f"layer{stage + 1}.{block}", 2 if stage and not block else 1
            y = f.relu(_conv(f, x, f"{name}.conv1", inner, 1))
            y = f.relu(_conv(f, y, f"{name}.conv2", inner, 3, stride))
            y = _conv(f, y, f"{name}.conv3", 4 * inner, 1, gain=0.5)
            x = f.relu(y + (_conv(f, x, f"{name}.downsample", 4 * inner, 1, stride, gain=1.0) if not block else x))
    _classifier(f, x, classes)


# (expansion, channels, blocks, stride of the first): table 2 of the paper.
MOBILENET = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_v2(f, batch: int, size: int, stages=MOBILENET, head: int = 1280, classes: int = 1000) -> None:
    """Sandler et al. 2018"""
    x = f.relu6(_conv(f, f.input("image", (batch, 3, size, size)), "stem", 32, 3, 2))
    for stage, (expansion, channels, blocks, first) in enumerate(stages):
        for block in range(blocks):
            name, stride, inner = f"stage{stage}.{block}", 1 if block else first, x.shape[1] * expansion
            y = f.relu6(_conv(f, x, f"{name}.expand", inner, 1)) if expansion > 1 else x
            y = f.relu6(_conv(f, y, f"{name}.depthwise", inner, 3, stride, groups=inner))
            y = _conv(f, y, f"{name}.project", channels, 1, gain=1.0)
            x = x + y if stride == 1 and x.shape[1] == channels else y
    _classifier(f, f.relu6(_conv(f, x, "head", head, 1)), classes)


# (expansion, kernel, stride of the first, channels, blocks): table 1 of the paper.
EFFICIENTNET = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))


def efficientnet_b0(f, batch: int, size: int, stages=EFFICIENTNET, head: int = 1280, classes: int = 1000) -> None:
    """Tan and Le 2019: inverted residuals with squeeze and excitation"""
    x = f.silu(_conv(f, f.input("image", (batch, 3, size, size)), "stem", 32, 3, 2))
    for stage, (expansion, kernel, first, channels, blocks) in enumerate(stages):
        for block in range(blocks):
            name, stride, inner = f"stage{stage}.{block}", 1 if block else first, x.shape[1] * expansion
            y = f.silu(_conv(f, x, f"{name}.expand", inner, 1)) if expansion > 1 else x
            y = f.silu(_conv(f, y, f"{name}.depthwise", inner, kernel, stride, groups=inner))
            squeezed = f.silu(_conv(f, f.spatial_mean(y), f"{name}.squeeze", max(1, x.shape[1] // 4), 1))
            y = y * f.sigmoid(_conv(f, squeezed, f"{name}.excite", inner, 1))
            y = _conv(f, y, f"{name}.project", channels, 1, gain=4.0)
            x = x + y if stride == 1 and x.shape[1] == channels else y
    _classifier(f, f.silu(_conv(f, x, "head", head, 1)), classes)


CASES = [
    *(Case(f"resnet50_B{batch}", resnet50, dict(batch=batch, size=224),
           dict(batch=2, size=40, width=8, stages=(1, 2, 1, 1), classes=24), opset=22, weights="initializers") for batch in (1, 32)),
    Case("mobilenet_v2_B1", mobilenet_v2, dict(batch=1, size=224),
         dict(batch=1, size=32, stages=((1, 16, 1, 1), (6, 24, 2, 2)), head=64, classes=24), opset=22, weights="initializers"),
    Case("efficientnet_b0_B1", efficientnet_b0, dict(batch=1, size=224),
         dict(batch=1, size=32, stages=((1, 3, 1, 16, 1), (6, 5, 2, 24, 2)), head=64, classes=24), opset=22, weights="initializers"),
]

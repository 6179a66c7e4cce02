"""Draws graphs of sliding windows: convolutions (grouped and depthwise, too) and pooling of every stride, dilation and padding, on images whose
extents lie around those of tiles, and what models put behind them: activations, residuals, means over the image, squeeze and excitation, products
of the channels, further windows. The same seed gives the same graph.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Callable, Sequence

import numpy as np

from case import BF16, F16, F32, I64, Case
from generate import Builder
from sliding import Window, add_average_pooling, add_convolution, add_max_pooling
from table import REDUCE, unary_node

# Around tiles of powers of two, and primes.
EXTENTS = {1: (1, 3, 17, 31, 33, 64, 65, 127, 130, 257), 2: (1, 2, 5, 7, 8, 9, 13, 14, 15, 16, 17, 19, 23, 28, 31, 33), 3: (1, 2, 3, 5, 7, 9)}
CHANNELS = (1, 2, 3, 4, 7, 8, 12, 16, 17, 24, 32, 33, 48, 64, 96)
ACTIVATIONS = ("Relu", "HardSwish", "Sigmoid", "LeakyRelu", "HardSigmoid", "Tanh")
# A case takes some tenths of a second in the emulator: places of its image, and multiplications of a window.
MOST_PLACES, MOST_PRODUCTS = 24_000, 1_500_000


class WindowBuilder(Builder):
    most_elements = 40_000

    def __init__(self, seed: int):
        super().__init__(seed)
        self.case.ordinary = True
        self.dtype = self.rng.choices([F32, F16, BF16], [5, 4, 2])[0]
        if self.dtype != F32:  # Of so many coarse roundings, one that falls the other way may show in few runs: seed 1049262.
            self.case.runs = 32
        self.further: list[str] = []  # Results beside the last value.

    def weights(self, shape: Sequence[int], terms: int = 1) -> str:
        """Constants or an input; sums of so many terms stay of the operands' size."""
        value = (self.draw.standard_normal(shape) / np.sqrt(terms)).astype(self.dtype)
        if self.rng.random() < 0.7:
            return self.constant(value)
        name = self.name("x")
        self.values[name] = self.case.inputs[name] = value
        return name

    def image_of(self, name: str) -> tuple[int, ...]:
        return self.shape_of(name)[2:]


def draw_image(b: WindowBuilder) -> str:
    rank = b.rng.choices([1, 2, 3], [2, 12, 1])[0]
    channels, batch = b.rng.choice(CHANNELS), b.rng.choice([1, 1, 1, 2, 3])
    side = b.rng.choice(EXTENTS[rank])
    shape = [batch, channels, *(side if b.rng.random() < 0.5 else b.rng.choice(EXTENTS[rank]) for _ in range(rank))]
    while np.prod(shape) > MOST_PLACES:
        shape[1] = max(1, shape[1] // 2)
    return b.input(shape, b.dtype)


def draw_window(b: WindowBuilder, image: Sequence[int], pooling: bool) -> Window | None:
    """One of the usual square windows half of the time."""
    rank = len(image)
    same = b.rng.random() < 0.5

    def each(choices: Sequence[int]) -> list[int]:
        return [b.rng.choice(choices)] * rank if same else [b.rng.choice(choices) for _ in range(rank)]

    size, stride = each((2, 3, 3) if pooling else (1, 2, 3, 3, 4, 5, 5, 7)), each((1, 1, 2, 2, 3))
    dilation = each((1, 2, 2, 3)) if b.rng.random() < 0.2 else None
    window = Window(size, stride, [0] * 2 * rank, dilation, ceil=pooling and b.rng.random() < 0.2)
    # A pool's padding is smaller than its window; where that would leave windows without a place, there is none.
    most = [s - 1 if pooling else r for s, r in zip(size, window.reach)]
    kind = b.rng.choice(["none", "half", "half", "any"])
    if kind == "half":
        window.pads = [min((r - 1) // 2, m) for r, m in zip(window.reach, most)] * 2
    elif kind == "any":
        window.pads = [b.rng.randint(0, m) for m in most * 2]
    return window if min(window.places(tuple(image))) >= 1 else None


def convolution(b: WindowBuilder, x: str) -> str | None:
    channels, window = b.shape_of(x)[1], draw_window(b, b.image_of(x), pooling=False)
    if window is None:
        return None
    groups = b.rng.choice([1, channels, channels, next((g for g in (4, 3, 2) if channels % g == 0), 1)])
    outputs = groups * b.rng.choice([1, 1, 2]) if groups == channels else groups * max(1, b.rng.choice(CHANNELS) // groups)
    terms = channels // groups * int(np.prod(window.size))
    if b.shape_of(x)[0] * outputs * int(np.prod(window.places(b.image_of(x)))) * terms > MOST_PRODUCTS:
        return None
    operands = [x, b.weights((outputs, channels // groups, *window.size), terms)]
    if b.rng.random() < 0.6:
        operands.append(b.weights((outputs,)))
    return first(add_convolution(b, operands, window, groups))


def transposed_convolution(b: WindowBuilder, x: str) -> str | None:
    channels, image = b.shape_of(x)[1], b.image_of(x)
    window = draw_window(b, image, pooling=False)
    if window is None:
        return None
    groups = b.rng.choice([1, 1, channels])
    outputs = 1 if groups == channels else b.rng.choice(CHANNELS)
    extents = [(extent - 1) * step + reach - low - high for extent, step, reach, (low, high) in zip(image, window.stride, window.reach, window.sides)]
    window.pads = [min(cut, reach - 1) for cut, reach in zip(window.pads, window.reach * 2)]
    products = b.values[x].size * outputs * int(np.prod(window.size))
    if min(extents) < 1 or products * int(np.prod(window.stride)) > MOST_PRODUCTS:
        return None
    operands = [x, b.weights((channels, outputs, *window.size), channels // groups * int(np.prod(window.size)))]
    if b.rng.random() < 0.5:
        operands.append(b.weights((groups * outputs,)))
    return first(add_convolution(b, operands, window, groups, transposed=True))


def pooling(b: WindowBuilder, x: str) -> str | None:
    window = draw_window(b, b.image_of(x), pooling=True)
    if window is None:
        return None
    if b.rng.random() < 0.5:
        return first(add_max_pooling(b, x, window))
    return first(add_average_pooling(b, x, window, counts_padding=b.rng.random() < 0.5))


def first(names: list[str] | None) -> str | None:
    return names and names[0]


def activation(b: WindowBuilder, x: str) -> str | None:
    return first(unary_node(b, x, b.rng.choice(ACTIVATIONS)))


def scale(b: WindowBuilder, x: str) -> str | None:
    """A factor and an offset for each channel."""
    shape = (b.shape_of(x)[1], *[1] * len(b.image_of(x)))
    scaled = first(b.add("Mul", [x, b.weights(shape)], np.multiply))
    return scaled and first(b.add("Add", [scaled, b.weights(shape)], np.add))


def residual(b: WindowBuilder, x: str) -> str | None:
    """An earlier value of the same shape, or an input."""
    others = [name for name, value in b.values.items() if value.shape == b.shape_of(x) and name != x and name not in b.case.constants]
    other = b.rng.choice(others) if others and b.rng.random() < 0.7 else b.input(b.shape_of(x), b.dtype)
    return first(b.add("Add", [x, other], np.add))


def join(b: WindowBuilder, x: str) -> str | None:
    """Side by side with the channels of an earlier value or of an input."""
    shape = b.shape_of(x)
    others = [name for name, value in b.values.items() if value.ndim == len(shape) and value.shape[:1] + value.shape[2:] == shape[:1] + shape[2:]
              and name not in b.case.constants]
    other = b.rng.choice(others) if b.rng.random() < 0.7 else b.input((shape[0], b.rng.choice(CHANNELS[:8]), *shape[2:]), b.dtype)
    parts = [x, other] if b.rng.random() < 0.5 else [other, x]
    return first(b.add("Concat", parts, lambda *p: np.concatenate(p, axis=1), roundings=0, axis=1))


def surround(b: WindowBuilder, x: str) -> str | None:
    """Padding of its own in front of what follows: zeros, another number, or the image's edge."""
    rank, mode = len(b.image_of(x)), b.rng.choice(["constant", "constant", "edge"])
    widths = [(0, 0), (0, 0), *((b.rng.randint(0, 3), b.rng.randint(0, 3)) for _ in range(rank))]
    names = [x, b.constant(np.asarray([low for low, _ in widths] + [high for _, high in widths], I64))]
    value = b.rng.choice([0, 0, 2]) if mode == "constant" else None
    if value:
        names.append(b.constant(np.asarray(value, b.dtype)))
    extra = {} if value is None else {"constant_values": value}
    return first(b.add("Pad", names, lambda p, *_: np.pad(p, widths, mode=mode, **extra), roundings=0, mode=mode))


def crop(b: WindowBuilder, x: str) -> str | None:
    """Some rows of the image."""
    extent = b.image_of(x)[0]
    low, step = b.rng.randrange(extent), b.rng.choice([1, 1, 2])
    high = b.rng.randint(low + 1, extent)
    names = [x, *(b.constant(np.asarray([v], I64)) for v in (low, high, 2, step))]
    return first(b.add("Slice", names, lambda p, *_: p[:, :, low:high:step], roundings=0))


def over_image(b: WindowBuilder, x: str, kind: str) -> str | None:
    axes = tuple(range(2, 2 + len(b.image_of(x))))
    function, sums = REDUCE[kind]
    at = b.constant(np.asarray(axes, I64))
    return first(b.add(kind, [x, at], lambda p, _: function(p, axes, True), roundings=2 if sums else 0,
                       sums=sums and (lambda p, _: sums(p, axes, True)), keepdims=1))


def summary(b: WindowBuilder, x: str) -> str | None:
    """The mean, sum or maximum over the image as a further result."""
    found = over_image(b, x, b.rng.choice(["ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax"]))
    if found:
        b.further.append(found)
    return found and x


def product(b: WindowBuilder, x: str, outputs: int | None = None) -> str | None:
    """A convolution of 1x1."""
    channels, rank = b.shape_of(x)[1], len(b.image_of(x))
    outputs = outputs or b.rng.choice(CHANNELS)
    if b.values[x].size * outputs > MOST_PRODUCTS:
        return None
    operands = [x, b.weights((outputs, channels, *[1] * rank), channels)] + ([b.weights((outputs,))] if b.rng.random() < 0.5 else [])
    return first(add_convolution(b, operands, Window([1] * rank, [1] * rank, [0] * 2 * rank), 1))


def squeeze(b: WindowBuilder, x: str) -> str | None:
    """A factor for each channel, made of the means over the image."""
    channels = b.shape_of(x)[1]
    mean = over_image(b, x, "ReduceMean")
    narrow = mean and product(b, mean, max(1, channels // 4))
    active = narrow and first(unary_node(b, narrow, "Relu"))
    wide = active and product(b, active, channels)
    factor = wide and first(unary_node(b, wide, b.rng.choice(["Sigmoid", "HardSigmoid"])))
    return factor and first(b.add("Mul", [x, factor], np.multiply))


STEPS: dict[Callable[[WindowBuilder, str], str | None], float] = {
    activation: 6, scale: 1, residual: 2, summary: 4, product: 2, squeeze: 1.5, convolution: 2, pooling: 1, transposed_convolution: 0.7,
    join: 1, surround: 1, crop: 0.5}


def generate(seed: int) -> Case:
    """The graph of this seed: a window, and up to five steps behind it."""
    b = WindowBuilder(seed)
    x, value = draw_image(b), None
    if b.rng.random() < 0.15:
        x = activation(b, x) or x
    if b.rng.random() < 0.1:
        x = surround(b, x) or x
    for _ in range(20):
        value = value or b.rng.choices([convolution, pooling, transposed_convolution], [6, 2, 1])[0](b, x)
    value = value or x
    if b.rng.random() < 0.35:  # One kernel may make the map and what is summed up of it.
        value = activation(b, value) or value
        summary(b, value)
    for step in b.rng.choices(list(STEPS), list(STEPS.values()), k=b.rng.randint(0, 5)):
        before, value = value, step(b, value) or value
        if value != before and b.rng.random() < 0.15:
            b.further.append(before)
    return b.case.pruned([name for name in dict.fromkeys([value, *b.further]) if name not in b.case.inputs])

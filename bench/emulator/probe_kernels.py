"""The instructions that matrix_probe.py looks at: their PTX kernels, and the order in which lanes hold their operands."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses

import numpy

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "f64": 64}
ACCUMULATOR_BITS = {"f32": 32, "f16": 16, "s32": 32, "f64": 64}


@dataclasses.dataclass(frozen=True)
class Form:
    """One instruction. A wgmma form takes A from registers, B from shared memory, and has N = 8."""

    unit: str
    rows: int
    depth: int
    a: str
    b: str
    accumulator: str
    version: str = "8.4"
    suffix: str = ""

    @property
    def name(self) -> str:
        return f"{self.unit}_m{self.rows}n8k{self.depth}_{self.accumulator}_{self.a}_{self.b}{self.suffix.replace('.', '_')}"

    @property
    def warps(self) -> int:
        return 4 if self.unit == "wgmma" else 1


def forms() -> list[Form]:
    fp8 = [("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2")]
    mma = [Form("mma", 16, k, "f16", "f16", d) for k in (8, 16) for d in ("f32", "f16")]
    mma += [Form("mma", 16, k, "bf16", "bf16", "f32") for k in (8, 16)]
    mma += [Form("mma", 16, k, "tf32", "tf32", "f32") for k in (4, 8)]
    mma += [Form("mma", 16, 32, a, b, "f32") for a, b in fp8]
    mma += [Form("mma", 16, 16, "e4m3", "e4m3", "f32", "8.7"), Form("mma", 16, 32, "e4m3", "e4m3", "f16", "8.7"),
            Form("mma", 16, 16, "e5m2", "e4m3", "f16", "8.7")]
    mma += [Form("mma", 16, 32, "s8", "u8", "s32"), Form("mma", 16, 32, "s8", "s8", "s32", suffix=".satfinite"),
            Form("mma", 8, 16, "u8", "s8", "s32")]
    mma += [Form("mma", 8, 4, "f64", "f64", "f64")] + [Form("mma", 16, k, "f64", "f64", "f64") for k in (4, 8, 16)]
    wgmma = [Form("wgmma", 64, 16, "f16", "f16", "f32"), Form("wgmma", 64, 16, "f16", "f16", "f16"),
             Form("wgmma", 64, 16, "bf16", "bf16", "f32"), Form("wgmma", 64, 8, "tf32", "tf32", "f32")]
    wgmma += [Form("wgmma", 64, 32, a, b, d) for a, b in fp8 for d in ("f32", "f16")]
    wgmma += [Form("wgmma", 64, 32, "s8", "s8", "s32"), Form("wgmma", 64, 32, "s8", "s8", "s32", suffix=".satfinite")]
    return mma + wgmma


def _elements(bits: int) -> int:
    return max(1, 32 // bits)


def a_index(form: Form) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Row and k of element [lane of the block, register, element of the register]."""
    e = _elements(BITS[form.a])
    registers = min(form.rows, 16) * form.depth // (32 * e)
    lane, r, i = numpy.meshgrid(numpy.arange(32 * form.warps), numpy.arange(registers), numpy.arange(e), indexing="ij")
    g, t = lane % 32 // 4, lane % 4
    halves = 2 if form.rows > 8 else 1
    return lane // 32 * 16 + g + 8 * (r % halves), t * e + i + 4 * e * (r // halves)


def b_index(form: Form) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Column and k likewise, of mma."""
    e = _elements(BITS[form.b])
    registers = 8 * form.depth // (32 * e)
    lane, r, i = numpy.meshgrid(numpy.arange(32), numpy.arange(registers), numpy.arange(e), indexing="ij")
    return lane // 4, lane % 4 * e + i + 4 * e * r


def d_index(form: Form) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Row and column likewise, of C and D."""
    e = 2 if form.accumulator == "f16" else 1
    registers = (2 if form.rows == 8 else 4) // e
    lane, r, i = numpy.meshgrid(numpy.arange(32 * form.warps), numpy.arange(registers), numpy.arange(e), indexing="ij")
    flat = r * e + i
    return lane // 32 * 16 + lane % 32 // 4 + 8 * (flat // 2), lane % 4 * 2 + flat % 2


def _container(bits: int) -> str:
    return "<u8" if bits == 64 else "<u4"


def _pack(elements: numpy.ndarray, bits: int) -> numpy.ndarray:
    """[tile, lane, register, element] unsigned integers to [tile, lane, register] words."""
    words = numpy.zeros(elements.shape[:3], dtype=_container(bits))
    for i in range(elements.shape[3]):
        words |= elements[..., i].astype(words.dtype) << words.dtype.type(i * bits)
    return words


def pack_a(form: Form, a: numpy.ndarray) -> numpy.ndarray:
    row, k = a_index(form)
    return _pack(a[:, row, k], BITS[form.a])


def pack_b(form: Form, b: numpy.ndarray) -> numpy.ndarray:
    """`b` is [tile, column, k]. wgmma: two core matrices of 8 columns and 16 bytes along k, as words."""
    if form.unit == "wgmma":
        e = _elements(BITS[form.b])
        return _pack(b.reshape(len(b), 8, 2, 4, e).transpose(0, 2, 1, 3, 4).reshape(len(b), 64, 1, e), BITS[form.b])
    column, k = b_index(form)
    return _pack(b[:, column, k], BITS[form.b])


def pack_d(form: Form, d: numpy.ndarray) -> numpy.ndarray:
    row, column = d_index(form)
    return _pack(d[:, row, column], ACCUMULATOR_BITS[form.accumulator])


def unpack_d(form: Form, words: numpy.ndarray, tiles: int) -> numpy.ndarray:
    row, column = d_index(form)
    bits = ACCUMULATOR_BITS[form.accumulator]
    words = words.view(_container(bits)).reshape(tiles, row.shape[0], row.shape[1])
    d = numpy.zeros((tiles, form.rows, 8), dtype=_container(bits))
    for i in range(row.shape[2]):
        d[:, row[..., i], column[..., i]] = words >> words.dtype.type(i * bits) & words.dtype.type((1 << bits) - 1)
    return d


def _list(prefix: str, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def _body(form: Form, a: int, b: int, d: int, d_type: str) -> list[str]:
    types = f"{form.accumulator}.{form.a}.{form.b}"
    if form.unit == "mma":
        return [f"mma.sync.aligned.m{form.rows}n8k{form.depth}.row.col{form.suffix}.{types}.{form.accumulator} "
                f"{_list('d', d)}, {_list('a', a)}, {_list('b', b)}, {_list('d', d)};"]
    # LBO 128 bytes between the two core matrices along k; SBO is not used for N = 8.
    scales = ", 1, 1, 0" if form.a in ("f16", "bf16") else ", 1, 1" if form.accumulator != "s32" else ""
    return ["@%q st.shared.b32 [%s], %b0;", "fence.proxy.async.shared::cta;", "bar.sync 0;",
            "mov.u32 %s, tile;", "shr.u32 %s, %s, 4;", "cvt.u64.u32 %desc, %s;", "or.b64 %desc, %desc, 0x0000000800080000;",
            "setp.eq.u32 %q, 0, 0;", "wgmma.fence.sync.aligned;",
            f"wgmma.mma_async.sync.aligned.m64n8k{form.depth}.{types}{form.suffix} {_list('d', d)}, {_list('a', a)}, %desc, %q{scales};",
            "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]


def ptx(form: Form) -> str:
    """probe(A, B, D): block i multiplies tile i; every thread owns its consecutive registers in A, B and D (in and out)."""
    wide_a, wide_d = BITS[form.a] == 64, form.accumulator == "f64"
    a, d = a_index(form)[0].shape[1], d_index(form)[0].shape[1]
    b = 1 if form.unit == "wgmma" else b_index(form)[0].shape[1]
    a_type = "f64" if wide_a else "b32"
    d_type = {"f32": "f32", "f16": "b32", "s32": "b32", "f64": "f64"}[form.accumulator]
    threads = 32 * form.warps
    lines = [f".version {form.version}", ".target sm_90a", ".address_size 64", "",
             ".visible .entry probe(.param .u64 pa, .param .u64 pb, .param .u64 pd)", f".reqntid {threads}", "{",
             f".reg .{a_type} %a<{a}>;", f".reg .{a_type} %b<{b}>;", f".reg .{d_type} %d<{d}>;",
             ".reg .b64 %pa, %pb, %pd, %desc;", ".reg .b32 %thread, %s, %lane;", ".reg .pred %q;"]
    if form.unit == "wgmma":
        lines.append(".shared .align 128 .b8 tile[256];")
    lines += ["ld.param.u64 %pa, [pa];", "ld.param.u64 %pb, [pb];", "ld.param.u64 %pd, [pd];",
              "mov.u32 %lane, %tid.x;", "mov.u32 %thread, %ctaid.x;", f"mad.lo.u32 %thread, %thread, {threads}, %lane;",
              f"mad.wide.u32 %pa, %thread, {a * (8 if wide_a else 4)}, %pa;",
              f"mad.wide.u32 %pd, %thread, {d * (8 if wide_d else 4)}, %pd;"]
    if form.unit == "wgmma":
        lines += ["setp.lt.u32 %q, %lane, 64;", "mov.u32 %s, %ctaid.x;", "and.b32 %lane, %lane, 63;", "mad.lo.u32 %s, %s, 64, %lane;", "mad.wide.u32 %pb, %s, 4, %pb;",
                  "mov.u32 %s, tile;", "mad.lo.u32 %s, %lane, 4, %s;"]
    else:
        lines.append(f"mad.wide.u32 %pb, %thread, {b * (8 if wide_a else 4)}, %pb;")
    for prefix, count, kind, base in (("a", a, a_type, "pa"), ("b", b, a_type, "pb"), ("d", d, d_type, "pd")):
        size = 8 if kind == "f64" else 4
        lines += [f"ld.global.{kind} %{prefix}{i}, [%{base}+{i * size}];" for i in range(count)]
    lines += _body(form, a, b, d, d_type)
    lines += [f"st.global.{d_type} [%pd+{i * (8 if wide_d else 4)}], %d{i};" for i in range(d)]
    return "\n".join(lines + ["ret;", "}", ""])

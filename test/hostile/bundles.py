"""Broken bundles: name -> function of a good bundle's bytes. Offsets are those of kernels-runtime/include/weft/bundle_format.h.

The header and the section table are covered by hashes, so most of these must fail there; what gets past the hashes (a bundle that was
written with wrong contents) is covered by the runtime's unit tests and its fuzz target.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import struct

MAJOR, MINOR, HEADER_BYTES, PRODUCT, FILE_BYTES, SECTION_COUNT, SECTION_BYTES, TABLE_HASH, RESERVED, HEADER_HASH = (
    8, 10, 12, 16, 56, 64, 68, 72, 88, 112)
TABLE = 128  # the first SectionEntry: kind, flags, offset, size, hash, recordBytes, reserved
ENTRY = 64


def minor_version(data: bytes) -> int:
    return struct.unpack_from("<H", data, MINOR)[0]


def _put(at: int, layout: str, value: int):
    def change(data: bytes) -> bytes:
        out = bytearray(data)
        struct.pack_into("<" + layout, out, at, value)
        return bytes(out)

    return change


def _flip(at: int):
    return lambda data: data[:at % len(data)] + bytes([data[at % len(data)] ^ 0x40]) + data[at % len(data) + 1:]


CASES = {
    "empty": lambda data: b"",
    "one_byte": lambda data: data[:1],
    "text": lambda data: b"this is not a bundle\n" * 50,
    "an_onnx_file": lambda data: b"\x08\x09\x12\x04weft" * 40,
    "zeros": lambda data: bytes(len(data)),
    "header_cut": lambda data: data[:100],
    "header_alone": lambda data: data[:TABLE],
    "table_cut": lambda data: data[:TABLE + 70],
    "half": lambda data: data[:len(data) // 2],
    "last_byte_missing": lambda data: data[:-1],
    "one_byte_more": lambda data: data + b"\0",
    "magic": _flip(0),
    "magic_after_text_transfer": lambda data: data.replace(b"\r\n", b"\n", 1),
    "major_version_99": _put(MAJOR, "H", 99),
    "major_version_0": _put(MAJOR, "H", 0),
    "minor_version_9999": _put(MINOR, "H", 9999),
    "header_bytes": _put(HEADER_BYTES, "I", 64),
    "product_version_control_characters": lambda data: data[:PRODUCT] + b"\x1b[2J" + data[PRODUCT + 4:],
    "file_bytes_zero": _put(FILE_BYTES, "Q", 0),
    "file_bytes_huge": _put(FILE_BYTES, "Q", 1 << 63),
    "section_count_zero": _put(SECTION_COUNT, "I", 0),
    "section_count_huge": _put(SECTION_COUNT, "I", 0xFFFFFFFF),
    "section_bytes": _put(SECTION_BYTES, "I", 1),
    "table_hash": _flip(TABLE_HASH),
    "reserved": _flip(RESERVED),
    "header_hash": _flip(HEADER_HASH),
    "section_kind": _put(TABLE, "I", 0xFFFF),
    "section_offset": _put(TABLE + 8, "Q", (1 << 64) - 64),
    "section_size": _put(TABLE + 16, "Q", 1 << 62),
    "section_hash": _flip(TABLE + 24),
    "second_section_overlaps": _put(TABLE + ENTRY + 8, "Q", 0),
}

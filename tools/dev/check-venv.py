#!/usr/bin/env python3
"""Exit 0 when this interpreter has every package of a requirements file at the version it pins (no network, no pip)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.metadata
import re
import sys


def main() -> int:
    for line in open(sys.argv[1]):
        pin = re.match(r"([\w-]+)==([\w.]+)", line)
        if not pin:
            continue
        try:
            have = importlib.metadata.version(pin[1])
        except importlib.metadata.PackageNotFoundError:
            have = "none"
        if have != pin[2]:
            print(f"{pin[1]}: expected {pin[2]}, got {have}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

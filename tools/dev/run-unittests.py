#!/usr/bin/env python3
"""unittest discovery over one folder, with the counts written as JSON; the tests find the build folder in WEFT_TEST_BUILD."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import json
import os
import pathlib
import sys
import unittest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    os.environ["WEFT_TEST_BUILD"] = str(args.build.resolve())
    sys.path.insert(0, str(args.folder.resolve().parent))
    suite = unittest.defaultTestLoader.discover(str(args.folder), pattern="test_*.py")
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    counts = {"passed": result.testsRun - failed - len(result.skipped), "failed": failed, "skipped": len(result.skipped)}
    if args.json:
        args.json.write_text(json.dumps(counts) + "\n")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())

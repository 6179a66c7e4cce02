"""make-wheels.py: the bytes of a wheel follow from what is in it."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import os
import pathlib
import stat
import sys
import tempfile
import time
import unittest
import zipfile
from unittest import mock

SPEC = importlib.util.spec_from_file_location("make_wheels", pathlib.Path(__file__).resolve().parents[1] / "make-wheels.py")
make_wheels = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = make_wheels
SPEC.loader.exec_module(make_wheels)


class WheelTest(unittest.TestCase):
    def write(self, files: dict[str, bytes]) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            wheel = make_wheels.write_wheel(pathlib.Path(folder), "some-thing", "manylinux_2_27_x86_64", "Things", ["numpy"], files, "[a]\nb = c:d\n")
            self.assertTrue(wheel.name.startswith("some_thing-") and wheel.name.endswith("-py3-none-manylinux_2_27_x86_64.whl"))
            with zipfile.ZipFile(wheel) as archive:
                self.assertIsNone(archive.testzip())
                self.assertTrue(all(stat.S_ISREG(entry.external_attr >> 16) for entry in archive.infolist()))  # As pip wants it of what is to be executable.
                self.assertEqual({entry.date_time for entry in archive.infolist()}, {make_wheels.EPOCH})
            return wheel.read_bytes()

    def test_same_files_same_bytes(self):
        """At another time, by a process of another mask, from files that came in another order."""
        files = {"a/x.py": b"x = 1\n", "a/y.so": bytes(range(256)) * 9}
        first = self.write(files)
        mask = os.umask(0o077)
        try:
            with mock.patch.object(time, "time", lambda: 2e9):
                self.assertEqual(first, self.write(dict(reversed(files.items()))))
        finally:
            os.umask(mask)
        self.assertNotEqual(first, self.write({**files, "a/x.py": b"x = 2\n"}))


if __name__ == "__main__":
    unittest.main()

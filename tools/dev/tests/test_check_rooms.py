"""Rooms that must not decide: what check-rooms.py lets pass, and what it finds."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import pathlib
import tempfile
import unittest

_SPEC = importlib.util.spec_from_file_location("check_rooms", pathlib.Path(__file__).resolve().parents[1] / "check-rooms.py")
check_rooms = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(check_rooms)


class Rooms(unittest.TestCase):
    def find(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_rooms.find_breaches(root)

    def test_traversals_and_other_rooms_pass(self):
        self.assertEqual(self.find({"lib/Lower/Deep/A.cpp": '#include "weft/Plan/Traversal/GridOrder.h"\n',
                                    "lib/Plan/B.cpp": '#include "weft/Plan/Cost/Counters.h"\n',
                                    "lib/Pipelines/C.cpp": '#include "weft/Plan/Schedule.h"\n'}), [])

    def test_other_headers_of_the_plan_are_found(self):
        found = self.find({"lib/Emit/Sub/A.cpp": '// A comment.\n#include "weft/Plan/Cost/Counters.h"\n',
                           "include/weft/Schedule/B.h": "#include <weft/Plan/GemmModel.h>\n",
                           "lib/Kernelize/C.cpp": '#include "../Plan/Gpu/Windows.h"\n'})
        self.assertEqual([line.split(": ")[0] for line in found],
                         ["lib/Kernelize/C.cpp:1", "include/weft/Schedule/B.h:1", "lib/Emit/Sub/A.cpp:2"])

    def test_architectures_are_the_tables(self):
        files = {"lib/Target/Device.cpp": "computeVersion == 90\n", "lib/Emit/A.cpp": '// "sm_90" == x\nif (target == "sm_90a")\n',
                 "lib/Plan/B.cpp": "device.computeVersion >= 90\n", "include/weft/Lower/C.h": 'target.starts_with("sm_9")\n',
                 "lib/Plan/D.cpp": 'std::string target = "sm_80";\n'}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = check_rooms.find_architectures(root)
        self.assertEqual([line.split(": ")[0] for line in found], ["lib/Emit/A.cpp:2", "lib/Plan/B.cpp:1", "include/weft/Lower/C.h:1"])

    def test_figures_of_cards_are_the_tables(self):
        files = {"lib/Target/Device.cpp": "constexpr double waitSeconds = 3.4e-6;\n",
                 "lib/Plan/A.cpp": "constexpr double loadLatency = 900, margin = 2;\n// waitSeconds = 3e-6;\n"
                                   "double total = seconds * 1e6, none = 0, seconds = 0;\nlog(\"latency = 4;\");\n",
                 "lib/Plan/B.cpp": "constexpr double gain = 1e-6;\nconst double fast = other ? 20e12 : 0.5e-6;\n",
                 "lib/Lower/C.cpp": "real(x, 1.9e-9);\nunsigned bytesPerClock = 32;\n",
                 "include/weft/Plan/D.h": "double clocks{40};\nint64_t iterate = 3, clocks = 0;\n"}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = check_rooms.find_figures(root)
        self.assertEqual([line.split(": ")[0] for line in found],
                         ["lib/Lower/C.cpp:2", "lib/Plan/A.cpp:1", "lib/Plan/B.cpp:1", "lib/Plan/B.cpp:2", "include/weft/Plan/D.h:1"])


if __name__ == "__main__":
    unittest.main()

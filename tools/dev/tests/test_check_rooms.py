"""What check-rooms.py lets pass, and what it finds: cycles, rooms that must not decide, figures that belong in a table."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import pathlib
import sys
import tempfile
import unittest
from typing import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
_SPEC = importlib.util.spec_from_file_location("check_rooms", pathlib.Path(__file__).resolve().parents[1] / "check-rooms.py")
check_rooms = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(check_rooms)
import room_graph  # noqa: E402


class Rooms(unittest.TestCase):
    def check(self, find: Callable[[pathlib.Path], list[str]], files: dict[str, str]) -> list[str]:
        """Where `find` finds something in a tree of `files`."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return [line.split(": ")[0] for line in find(root)]

    def find_cycles(self, files: dict[str, str]) -> list[str]:
        return self.check(room_graph.find_breaches, files)

    def test_one_way_passes(self):
        self.assertEqual(self.find_cycles({"lib/A/Sub/X.cpp": '#include "../Y.h"\n', "lib/A/Y.h": '#include "Y.inc"\n#include "weft/B/Z.h"\n',
                                           "include/weft/B/Z.h": '#include "mlir/IR/Block.h"\n#include <A/Y.h>\n'}), [])

    def test_a_cycle_of_rooms_is_found(self):
        self.assertEqual(self.find_cycles({"lib/A/X.cpp": '#include "weft/B/Z.h"\n', "include/weft/A/X.h": "", "include/weft/C/W.h": "",
                                           "lib/B/Z.cpp": '// The first line.\n#include "weft/C/W.h"\n', "include/weft/B/Z.h": "",
                                           "lib/C/W.cpp": '#include "weft/A/X.h"\n'}),
                         ["lib/A/X.cpp:1", "lib/B/Z.cpp:2", "lib/C/W.cpp:1"])

    def test_a_header_is_of_the_folder_that_implements_it(self):
        files = {"lib/A/Low/X.cpp": '#include "weft/A/Y.h"\n#include "weft/A/X.h"\n', "include/weft/A/X.h": "", "include/weft/A/Y.h": "",
                 "lib/A/High/Z.cpp": '#include "weft/A/X.h"\n'}
        self.assertEqual(self.find_cycles(files), [])
        self.assertEqual(self.find_cycles({**files, "lib/A/High/Y.cpp": ""}), [], "another Y")
        self.assertEqual(self.find_cycles({**files, "lib/A/High/Y.cpp": '#include "weft/A/Y.h"\n'}), ["lib/A/High/Z.cpp:1", "lib/A/Low/X.cpp:1"])
        self.assertEqual(self.find_cycles({**files, "include/weft/A/High.h": "", "lib/A/Low/V.cpp": '#include "weft/A/High.h"\n'}),
                         ["lib/A/High/Z.cpp:1", "lib/A/Low/V.cpp:1"])

    def test_rooms_are_wholes_and_shelves_are_not(self):
        # Two folders of A that depend on B, and on which B depends, are no cycle of folders.
        files = {"lib/A/Low/X.h": "", "lib/A/High/Y.cpp": '#include "../../B/Z.h"\n', "lib/B/Z.h": '#include "../A/Low/X.h"\n'}
        self.assertEqual(self.find_cycles(files), [])
        self.assertEqual(self.find_cycles({**files, "lib/A/V.cpp": ""}), ["lib/A/High/Y.cpp:1", "lib/B/Z.h:1"])

    def test_the_tree_has_none(self):
        self.assertEqual(room_graph.find_breaches(pathlib.Path(__file__).resolve().parents[3]), [])

    def find(self, files: dict[str, str]) -> list[str]:
        return self.check(check_rooms.find_breaches, files)

    def test_other_rooms_pass(self):
        self.assertEqual(self.find({"lib/Lower/Deep/A.cpp": '#include "weft/Traversal/GridOrder.h"\n',
                                    "lib/Plan/B.cpp": '#include "weft/Plan/Cost/Counters.h"\n',
                                    "lib/Pipelines/C.cpp": '#include "weft/Plan/Schedule.h"\n'}), [])

    def test_other_headers_of_the_plan_are_found(self):
        found = self.find({"lib/Emit/Sub/A.cpp": '// A comment.\n#include "weft/Plan/Cost/Counters.h"\n',
                           "include/weft/Schedule/B.h": "#include <weft/Plan/GemmModel.h>\n",
                           "lib/Kernelize/C.cpp": '#include "../Plan/Gpu/Windows.h"\n'})
        self.assertEqual(found, ["lib/Kernelize/C.cpp:1", "include/weft/Schedule/B.h:1", "lib/Emit/Sub/A.cpp:2"])

    def test_architectures_are_the_tables(self):
        files = {"lib/Target/Device.cpp": "computeVersion == 90\n", "lib/Emit/A.cpp": '// "sm_90" == x\nif (target == "sm_90a")\n',
                 "lib/Plan/B.cpp": "device.computeVersion >= 90\n", "include/weft/Lower/C.h": 'target.starts_with("sm_9")\n',
                 "lib/Plan/D.cpp": 'std::string target = "sm_80";\n'}
        self.assertEqual(self.check(check_rooms.find_architectures, files), ["lib/Emit/A.cpp:2", "lib/Plan/B.cpp:1", "include/weft/Lower/C.h:1"])

    def test_figures_of_cards_are_the_tables(self):
        files = {"lib/Target/Device.cpp": "constexpr double waitSeconds = 3.4e-6;\n",
                 "lib/Plan/A.cpp": "constexpr double loadLatency = 900, margin = 2;\n// waitSeconds = 3e-6;\n"
                                   "double total = seconds * 1e6, none = 0, seconds = 0;\nlog(\"latency = 4;\");\n",
                 "lib/Plan/B.cpp": "constexpr double gain = 1e-6;\nconst double fast = other ? 20e12 : 0.5e-6;\n",
                 "lib/Lower/C.cpp": "real(x, 1.9e-9);\nunsigned bytesPerClock = 32;\n",
                 "include/weft/Plan/D.h": "double clocks{40};\nint64_t iterate = 3, clocks = 0;\n"}
        self.assertEqual(self.check(check_rooms.find_figures, files),
                         ["lib/Lower/C.cpp:2", "lib/Plan/A.cpp:1", "lib/Plan/B.cpp:1", "lib/Plan/B.cpp:2", "include/weft/Plan/D.h:1"])


if __name__ == "__main__":
    unittest.main()

"""What sessions on a GPU allocate is freed by the end of the process, whatever keeps the objects of Python: counted by the fake driver."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_TEST_BUILD", PACKAGE.parents[1] / "build"))
DRIVER = BUILD / "lib" / "libweft_fake_cuda.so"

PRELUDE = """
import ctypes, gc, sys
import numpy as np
import weft
weft.load_library(sys.argv[1])
def make():
    return weft.Session(sys.argv[2], device="cuda", cuda_driver=sys.argv[3])
def run(session):
    feeds = {port.name: np.ones(100, np.float32) for port in session.inputs}
    return [session.run(feeds) for _ in range(3)][-1]
def keep_frame():
    # As a debugger or a profiler that collects tracebacks: the caller's frame has a reference that never goes.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(sys._getframe(1)))
"""


@unittest.skipUnless(DRIVER.exists(), "the fake driver is not built")
class ReleaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for kind in ("chain", "few-weights"):
            subprocess.run([BUILD / "bin" / "weft-test-bundle", pathlib.Path(cls.folder.name) / kind, kind], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def counts(self, script: str, kind: str) -> dict[str, int]:
        """What the driver saw of a process."""
        report = pathlib.Path(self.folder.name) / "report"
        report.unlink(missing_ok=True)
        environment = os.environ | {"PYTHONPATH": str(PACKAGE), "WEFT_FAKE_CUDA_REPORT": str(report), "XDG_CACHE_HOME": self.folder.name}
        arguments = [BUILD, pathlib.Path(self.folder.name) / kind, DRIVER]
        done = subprocess.run([sys.executable, "-c", PRELUDE + script, *arguments], env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {name: int(count) for name, count in (line.split() for line in report.read_text().splitlines())}

    def check_frees(self, script: str) -> None:
        for kind in ("chain", "few-weights"):
            with self.subTest(kind=kind):
                counts = self.counts(script, kind)
                allocations = counts.pop("allocations")
                self.assertGreaterEqual(allocations, 4)
                self.assertEqual(counts.pop("frees"), allocations)
                self.assertEqual(set(counts.values()), {0}, counts)

    def test_sessions_one_after_another(self):
        self.check_frees("for _ in range(4): print(run(make()))")

    def test_a_session_at_the_end_of_the_process(self):
        self.check_frees("session = make(); result = run(session); bound = session.bind({p.name: np.ones(9, np.float32) for p in session.inputs})")

    def test_cycles_of_references(self):
        self.check_frees("session = make(); session.itself = session; run(session); del session; gc.disable()")

    def test_outputs_outlive_their_session(self):
        self.check_frees("session = make()\n"
                         "y = session.run({p.name: np.ones(9, np.float32) for p in session.inputs}, outputs='dlpack')\n"
                         "session.close(); assert [t.shape for t in y.values()] == [(9,)]")

    def test_failed_sessions(self):
        self.check_frees("try: weft.Session(sys.argv[2], device='cuda:7', cuda_driver=sys.argv[3])\n"
                         "except weft.Error as error: assert 'no device cuda:7' in str(error), error\n"
                         "run(make())")

    def test_frames_that_stay_keep_no_closed_session(self):
        script = "def scope():\n    {0} make() as session: run(session); keep_frame()\nscope()"
        self.check_frees(script.format("with"))
        # What the test guards against is there: without `close` the frame keeps the session's memory.
        open_counts = self.counts("def scope():\n    session = make(); run(session); keep_frame()\nscope()", "chain")
        self.assertGreater(open_counts["memory"], 0)


if __name__ == "__main__":
    unittest.main()

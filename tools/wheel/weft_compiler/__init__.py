"""The library of the Weft compiler, and its tools; `weft.compile` of weft-runtime is its interface for Python."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes
import pathlib
import signal
import sys


def main() -> int:
    """weft-compile, weft-inspect or weft-explain, as the command is called."""
    # As in an executable: Python would wait for the end of the call.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    library = ctypes.CDLL(str(pathlib.Path(__file__).parent / "lib" / "libweft_compiler.so.1"))
    words = [word.encode(errors="surrogateescape") for word in sys.argv]
    return library.weftc_run_tool(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))

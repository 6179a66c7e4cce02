"""Error messages and exit codes of weft-reference: bad files, bad symbols, run-time checks, limits."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import subprocess
import tempfile
from pathlib import Path

import numpy as np

failures = 0
folder = Path(tempfile.mkdtemp())
SYMBOLIC = "tensor<?xf32, #tg.dims<()[s0] -> (s0)>>"


def main(body, arguments="", results="", ret=""):
    arrow = f" -> ({results})" if results else ""
    return f"module attributes {{tg.symbols = [\"n\", \"m\"]}} {{\nfunc.func @main({arguments}){arrow} {{\n{body}\nreturn {ret}\n}}\n}}\n"


def save(name, data):
    path = folder / name
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        np.save(path, data)
    return str(path)


def expect(what, module, options, message, code=5):
    global failures
    done = subprocess.run(["weft-reference", "-", *options], input=module, text=True, capture_output=True, timeout=60)
    if done.returncode != code or message not in done.stderr:
        failures += 1
        print(f"FAIL {what}: expected exit {code} and `{message}`, got exit {done.returncode} and `{done.stderr.strip()}`")


f32 = save("f32.npy", np.zeros(4, np.float32))
five = save("five.npy", np.zeros(5, np.float32))
whole = open(f32, "rb").read()
identity = main("", "%x: tensor<4xf32>", "tensor<4xf32>", "%x : tensor<4xf32>")
dynamic = main("", f"%x: {SYMBOLIC}, %y: {SYMBOLIC}", SYMBOLIC, f"%x : {SYMBOLIC}")

# The tool and .npy files.
expect("missing file", identity, ["--input", str(folder / "none.npy")], "No such file")
expect("not npy", identity, ["--input", save("a.npy", b"hello")], "expected a .npy file")
expect("cut header", identity, ["--input", save("b.npy", whole[:9])], "expected a .npy header, got the end of the file")
expect("short header", identity, ["--input", save("c.npy", whole[:40])], "expected a .npy header, got the end of the file")
expect("cut data", identity, ["--input", save("d.npy", whole[:-1])], "expected the elements of 4xf32, got 15 bytes")
expect("huge shape", identity, ["--input", save("e.npy", whole.replace(b"(4,)", b"(9" + b"9" * 17 + b",)", 1))], "expected")
expect("negative extent", identity, ["--input", save("f.npy", whole.replace(b"(4,)", b"(-4,)"))], "expected extents of 0 or more")
expect("no shape", identity, ["--input", save("g.npy", whole.replace(b"shape", b"shaqe"))], "expected a shape in the header")
expect("type", identity, ["--input", save("h.npy", np.zeros(4))], "expected little-endian elements of type `f4`, got `<f8`")
expect("big-endian", identity, ["--input", save("i.npy", np.zeros(4, ">f4"))], "expected little-endian elements of type `f4`, got `>f4`")
fortran = main("", "%x: tensor<2x3xf32>", "tensor<2x3xf32>", "%x : tensor<2x3xf32>")
expect("fortran order", fortran, ["--input", save("j.npy", np.zeros((2, 3), np.float32, order="F"))], "expected C order")
expect("number of inputs", identity, [], "expected 1 inputs, got 0")
expect("shape", identity, ["--input", five], "expected input 0 of shape 4xf32, got 5xf32")
expect("function", identity, ["--function", "other", "--input", f32], "expected a function `other` in the module", 2)
expect("symbol", identity, ["--symbol", "k=3", "--input", f32], "expected --symbol NAME=VALUE of a symbol of the module, got `k=3`", 2)
expect("symbol value", identity, ["--symbol", "n=-3", "--input", f32], "expected --symbol NAME=VALUE", 2)
expect("weights", identity, ["--weights", "w=" + str(folder / "none"), "--input", f32], "No such file", 2)
expect("syntax", "func.func @main(", [], "expected")
expect("two values", dynamic, ["--input", f32, "--input", five], "expected one value of symbol `n`, got 4 and 5")
hidden = "tensor<?xf32, #tg.dims<()[s0, s1] -> (s0 + s1)>>"
expect("no value", main("", f"%x: {SYMBOLIC}, %y: {hidden}", SYMBOLIC, f"%x : {SYMBOLIC}"), ["--input", f32, "--input", five], "expected a value of symbol `m`, which no input has alone as an extent")
expect("random", dynamic, ["--random=1"], "expected --symbol for the symbols of random inputs")
expect("output folder", identity, ["--input", f32, "--output", f32], "`")
expect("random size", main("", "%x: tensor<1000xf32>"), ["--random=1", "--max-tensor-bytes=99"], "expected inputs of at most 99 bytes")

# Run-time checks.
symbols = ["--symbol", "n=4", "--symbol", "m=5"]
expect("assume_equal", main('tg.assume_equal affine_map<()[s0, s1] -> (s0, s1)>, "n is m"'), symbols, "n is m: expected 4, got 5")
expect("division by zero", main("%0 = tg.extents affine_map<()[s0, s1] -> (s0 floordiv s1)>"), ["--symbol", "n=4", "--symbol", "m=0"],
       "expected a value of symbol expression 0")
negative = "tensor<?xf32, #tg.dims<()[s0] -> (s0 - 9)>>"
expect("negative extent", main(f"%0 = tg.iota 0 : {negative}"), symbols, "expected an extent of 0 or more for dimension 0, got -5")
expect("symbolic reshape", main(f"%0 = tg.iota 0 : {SYMBOLIC}\n%1 = tg.reshape %0 : {SYMBOLIC} to tensor<7xf32>"), symbols,
       "expected 4 elements, got 7xf32")
expect("symbolic slice", main(f"%0 = tg.iota 0 : {SYMBOLIC}\n%1 = tg.slice %0 offsets = [2] strides = [1] : {SYMBOLIC} to tensor<3xf32>"),
       symbols, "expected reads within 4xf32 for a result of 3xf32")
other = "tensor<?xf32, #tg.dims<()[s0, s1] -> (s1)>>"
expect("symbolic add", main(f"%0 = tg.iota 0 : {SYMBOLIC}\n%1 = tg.iota 0 : {other}\n%2 = tg.add %0, %1 : {SYMBOLIC}, {other}"), symbols,
       "expected operand 1 to broadcast to 4xf32, got 5xf32")
expect("weight", main('%0 = tg.weight <"w.bin", 0, 16> : tensor<4xf32>'), symbols,
       "expected bytes [0, 16) of source `w.bin`, which is not loaded or shorter")
expect("empty arg_reduce", main("%0 = tg.iota 0 : tensor<0x2xf32>\n%1 = tg.arg_reduce max %0 axis = 0 : tensor<0x2xf32>"), symbols,
       "expected at least one element along axis 0")
expect("empty gather", main("""%0 = tg.iota 0 : tensor<0xf32>\n%1 = tg.iota 0 : tensor<2xi64>
    %2 = tg.gather %0, %1 data_map = affine_map<(i)[s] -> (s)> index_maps = [affine_map<(i) -> (i)>] : tensor<0xf32>, tensor<2xi64> -> tensor<2xf32>"""),
       symbols, "expected reads within data of shape 0xf32")
expect("foreign op", main("%0 = arith.constant 1 : index"), symbols, "")
expect("dispatch", main("%0 = tg.iota 0 : tensor<2xf32>\n%1 = tg.dispatch @a::@b(%0) symbols = affine_map<() -> ()> : (tensor<2xf32>) -> tensor<2xf32>"),
       symbols, "expected a kernel function of one block")

# Limits: neither memory nor time without bound.
expect("memory", main("%0 = tg.iota 0 : tensor<99999999x99999999xf32>"), symbols, "(limit of the reference), got 99999999x99999999xf32")
expect("time", main("""%0 = tg.iota 0 : tensor<2000x2000xf32>
    %1 = tg.contract %0, %0 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<2000x2000xf32>, tensor<2000x2000xf32> -> tensor<2000x2000xf32>"""), [*symbols, "--max-work=100000000"],
       "expected at most 100000000 scalar operations in all (limit of the reference)")
if failures:
    raise SystemExit(f"{failures} failures")
print("errors: all as expected")

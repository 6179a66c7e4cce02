"""Graphs whose dimensions all have one extent, and the same graphs with extents that all differ: their plans must be equal up to sizes.

    equal_extents.py TARGET...

No planner may find out from extents which dimensions belong together. Each graph is compiled to its plan in both ways; what is compared is the
text without numbers: kernels, their ops and operands, access maps, kinds of domains, ranks of tiles and what multiplies.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

GRAPHS = {
    # Scores, softmax, product; heads, queries, keys and both widths.
    "attention": ("q: h m d, k: h n d, v: h n e -> h m e", """
  %s = tg.contract %q, %k [(h, m, n, d) -> (h, m, d), (h, m, n, d) -> (h, n, d), (h, m, n, d) -> (h, m, n)] : <h m d>, <h n d> -> <h m n>
  %m = tg.reduce max %s axes = [2] keep_dims : <h m n>
  %c = tg.sub %s, %m : <h m n>, <h m 1>
  %e = tg.exp %c : <h m n>
  %l = tg.reduce add %e axes = [2] keep_dims : <h m n>
  %p = tg.div %e, %l : <h m n>, <h m 1>
  %r = tg.contract %p, %v [(h, m, e, n) -> (h, m, n), (h, m, e, n) -> (h, n, e), (h, m, e, n) -> (h, m, e)] : <h m n>, <h n e> -> <h m e>"""),
    # Softmax along the first dimension: of columns, not rows.
    "columns": ("x: a b -> a b", """
  %m = tg.reduce max %x axes = [0] keep_dims : <a b>
  %c = tg.sub %x, %m : <a b>, <1 b>
  %e = tg.exp %c : <a b>
  %l = tg.reduce add %e axes = [0] keep_dims : <a b>
  %r = tg.div %e, %l : <a b>, <1 b>"""),
    # A norm of rows behind a product and in front of another, with weights along its columns and a factor for each row.
    "norm": ("x: m k, w: n k, g: n, f: m 1, u: e n -> m e", """
  %y = tg.contract %x, %w [(m, n, k) -> (m, k), (m, n, k) -> (n, k), (m, n, k) -> (m, n)] : <m k>, <n k> -> <m n>
  %z = tg.mul %y, %f : <m n>, <m 1>
  %q = tg.mul %z, %z : <m n>, <m n>
  %s = tg.reduce add %q axes = [1] keep_dims : <m n>
  %t = tg.rsqrt %s : <m 1>
  %v = tg.mul %z, %t : <m n>, <m 1>
  %h = tg.mul %v, %g : <m n>, <n>
  %r = tg.contract %h, %u [(m, e, n) -> (m, n), (m, e, n) -> (e, n), (m, e, n) -> (m, e)] : <m n>, <e n> -> <m e>"""),
    # Sums of a tensor along each of its dimensions, and its transpose beside it.
    "sums": ("x: a b, y: b a -> a b", """
  %t = tg.transpose %y [1, 0] : <b a>
  %z = tg.add %x, %t : <a b>, <a b>
  %u = tg.reduce add %z axes = [0] keep_dims : <a b>
  %v = tg.reduce max %z axes = [1] keep_dims : <a b>
  %w = tg.mul %z, %u : <a b>, <1 b>
  %r = tg.add %w, %v : <a b>, <a 1>"""),
    # Two products of one operand, side by side, one transposed; then a gate.
    "gate": ("x: m k, w: n k, u: k n -> m n", """
  %a = tg.contract %x, %w [(m, n, k) -> (m, k), (m, n, k) -> (n, k), (m, n, k) -> (m, n)] : <m k>, <n k> -> <m n>
  %b = tg.contract %x, %u [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)] : <m k>, <k n> -> <m n>
  %c = tg.sigmoid %a : <m n>
  %r = tg.mul %b, %c : <m n>, <m n>"""),
}
EQUAL = 96
EXTENTS = {name: 64 + 16 * place for place, name in enumerate("hmndeabk")}


def write(signature: str, body: str, extents: dict[str, int]) -> str:
    def spell(dims: str) -> str:
        return "tensor<" + "".join(f"{extents.get(dim, dim)}x" for dim in dims.split()) + "f32>"

    arguments, result = signature.split(" -> ")
    operands = ", ".join(f'%{name}: {spell(dims)} {{tg.name = "{name}"}}' for name, dims in (each.split(": ") for each in arguments.split(", ")))
    body = re.sub(r"(\([a-z, ]+\) -> \([a-z, ]+\))", r"affine_map<\1>", body)
    body = re.sub(r"<([a-z0-9]( [a-z0-9])*)>", lambda dims: spell(dims[1]), body)
    return f'func.func @main({operands}) -> ({spell(result)} {{tg.name = "r"}}) {{{body}\n  return %r : {spell(result)}\n}}\n'


def plan(text: str, target: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "graph.mlir")
        source.write_text(text)
        command = ["weft-compile", source, f"--target={target}", "--compile-to=plan", "--explain=off", "--ptxas=off", "-o", "-"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{text}{done.stderr}")
    maps = dict(re.findall(r"^(#map\d*) = (.*)$", done.stdout, re.M))
    found = re.sub(r"#map\d*", lambda name: maps[name[0]], re.sub(r"^#map.*\n", "", done.stdout, flags=re.M))
    found = re.sub(r"tensor<(.*?)>", lambda shape: re.sub(r"(?<=[<x])(?!1x)\d+x", "#x", shape[0]), found)
    return re.sub(r"(?<![%\w.])\d+(?!\w)", "#", found)


if __name__ == "__main__":
    for target in sys.argv[1:]:
        for name, (signature, body) in GRAPHS.items():
            plans = [plan(write(signature, body, extents), target) for extents in (dict.fromkeys(EXTENTS, EQUAL), EXTENTS)]
            if plans[0] != plans[1]:
                lines = "\n".join(difflib.unified_diff(*(text.splitlines() for text in plans), "equal", "different", lineterm="", n=0))
                raise SystemExit(f"{name} for {target}: extents that are all equal lead to another plan than extents that all differ:\n{lines}")
            print(f"{name} for {target}: {plans[0].count('func.func @kernel')} kernels")

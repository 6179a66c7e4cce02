"""Compiled concatenations, scans and top-k that are cut into pieces, against numpy; one and two threads give equal bits."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

MODULE = """!x = tensor<?x700xf64, #tg.dims<()[s0] -> (s0, 700)>>
!wide = tensor<?x1400xf64, #tg.dims<()[s0] -> (s0, 1400)>>
!long = tensor<?x700xf64, #tg.dims<()[s0] -> (s0 * 2, 700)>>
!z = tensor<70x30x9xf64>
!few = tensor<?x3xi64, #tg.dims<()[s0] -> (s0, 3)>>
!many = tensor<?x40xi64, #tg.dims<()[s0] -> (s0, 40)>>
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: !x {tg.name = "x"}, %z: !z {tg.name = "z"})
      -> (!wide {tg.name = "wide"}, !long {tg.name = "long"}, !z {tg.name = "rows"}, !x {tg.name = "back"}, !few {tg.name = "few"},
          !many {tg.name = "many"}) {
    %w = tg.concat %x, %x axis = 1 : !x, !x
    %l = tg.concat %x, %x axis = 0 : !x, !x
    %r = tg.scan add %z axis = 1 : !z
    %b = tg.scan max %x axis = 1 {exclusive, reverse} : !x
    %v, %f = tg.top_k %x axis = 1 k = 3 {largest} : !x
    %u, %m = tg.top_k %x axis = 1 k = 40 : !x
    return %w, %l, %r, %b, %f, %m : !wide, !long, !z, !x, !few, !many
  }
}
"""


def want(x: np.ndarray, z: np.ndarray) -> dict[str, np.ndarray]:
    back = np.full_like(x, -np.inf)
    back[:, :-1] = np.maximum.accumulate(x[:, ::-1], axis=1)[:, ::-1][:, 1:]
    order = np.argsort(x, axis=1, kind="stable")
    return {"wide": np.concatenate([x, x], 1), "long": np.concatenate([x, x], 0), "rows": np.cumsum(z, 1), "back": back,
            "few": np.argsort(-x, axis=1, kind="stable")[:, :3], "many": order[:, :40]}


def main() -> int:
    rng, bad = np.random.default_rng(3), 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.mlir").write_text(MODULE)
        subprocess.run(["weft-compile", folder / "m.mlir", "-o", folder / "m.weft", "--quiet"], check=True)
        for rows in (1, 5, 211):
            x, z = rng.integers(-50, 50, (rows, 700)).astype(np.float64), rng.integers(-50, 50, (70, 30, 9)).astype(np.float64)
            np.save(folder / "x.npy", x)
            np.save(folder / "z.npy", z)
            expected = want(x, z)
            for threads in (1, 2):
                flags = [f"--input={n}=@{folder}/{n}.npy" for n in "xz"] + [f"--output={n}=@{folder}/{n}.npy" for n in expected]
                subprocess.run(["weft-run", folder / "m.weft", f"--threads={threads}", *flags], check=True, stdout=subprocess.DEVNULL)
                for key, value in expected.items():
                    if not np.array_equal(np.load(folder / f"{key}.npy"), value):
                        bad += 1
                        print(f"FAIL {key}: {rows} rows, {threads} threads")
        text = subprocess.run(["weft-run", folder / "m.weft", "--dim=n=211", "--print-placement", "--benchmark=1"], check=True,
                              capture_output=True, text=True).stdout
        grids = [int(line.split("grid")[1].split()[0]) for line in text.splitlines() if " grid " in line]
    print(f"{bad} failures, grids of one: {grids.count(1)} of {len(grids)}")
    return int(bad != 0)


sys.exit(main())

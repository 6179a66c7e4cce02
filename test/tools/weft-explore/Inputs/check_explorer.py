"""The explorer in headless Chromium: its models against the library on 200 configurations; the page used as a person would; how it looks.

    check_explorer.py numbers|page|pictures TOOL    TOOL: weft-explore
    check_explorer.py update TOOL                   writes pictures.json, the screenshots that `pictures` compares with

Exit 1 and a line for each difference. A console message, a request or an address of another machine in the page is one.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import functools
import html
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
COUNT = 200


def browse(url: str, folder: pathlib.Path) -> tuple[str, list[str]]:
    """The DOM after all timers, and the console's messages."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={folder}/profile",
               "--virtual-time-budget=120000", "--timeout=120000", "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def element(dom: str, name: str) -> str:
    found = re.search(rf'<pre id="{name}">(.*?)</pre>', dom, re.S)
    if not found:
        raise SystemExit(f"no <pre id={name}> in the page; it ends {dom[-300:]!r}")
    return html.unescape(found.group(1))


def make_problem(rng: random.Random, tile: dict) -> dict:
    """At most some 400 tiles and 20,000 steps, ragged edges among them."""
    kind = rng.choice(("gemm", "gemm", "chain", "attention"))
    extent = lambda side, most: max(1, side * rng.randint(1, most) - rng.choice((0, 0, 1, side // 3)))  # noqa: E731
    if kind == "gemm":
        return {"kind": kind, "m": extent(tile["m"], 14), "n": extent(tile["n"], 14), "k": extent(tile["k"], 12)}
    if kind == "chain":
        return {"kind": kind, "m": extent(tile["m"], 9), "k": extent(tile["k"], 8), "l": extent(tile["n"], 9), "n": extent(tile["n"], 7)}
    return {"kind": kind, "heads": rng.randint(1, 9), "group": rng.choice((1, 2, 4)), "queries": extent(tile["m"], 9), "keys": extent(tile["n"], 9),
            "headDim": rng.choice((40, 64, 128)), "causal": rng.random() < 0.5}


def make_tiles(rng: random.Random) -> dict:
    """A launch of any boxes: rows of a batch, windows that overlap, taps within the steps, perhaps uneven steps."""
    runs, inner, cols, channels, taps = (rng.randint(1, n) for n in (3, 5, 9, 4, 3))
    stride, halo, unit = rng.randint(1, 4), rng.randint(0, 3), rng.choice((32, 96, 256))
    rows, boxes = runs * inner, cols * stride + halo
    problem = {"kind": "tiles", "rows": rows, "cols": cols, "steps": channels * taps, "static": rng.random() < 0.3, "operations": 1e6,
               "arrays": [{"name": "in", "outers": 4 * runs * channels, "rowBytes": boxes * unit}, {"outers": inner * channels, "rowBytes": taps * unit},
                          {"name": "out", "outers": rows * 2, "rowBytes": cols * unit}],
               "accesses": [{"array": 0, "outers": 4, "outer": {"terms": [["row", inner, 0, 4 * channels], ["step", taps, 0, 4]]},
                             "byte": {"base": rng.choice((0, -unit)), "terms": [["col", 1, 0, stride * unit], ["step", 1, taps, unit]]},
                             "bytes": (stride + halo) * unit},
                            {"array": 1, "outer": {"terms": [["row", 1, inner, channels], ["step", taps, channels, 1]]},
                             "byte": {"terms": [["step", 1, taps, unit]]}, "bytes": unit, "when": rng.choice(("each", "first"))},
                            {"array": 2, "outers": 2, "outer": {"terms": [["row", 1, 0, 2]]}, "byte": {"terms": [["col", 1, 0, unit]]}, "bytes": unit,
                             "when": "last", "write": True}]}
    if rng.random() < 0.4:
        problem["causal"] = {"rows": rng.randint(1, 3), "cols": rng.randint(1, 3), "base": rng.randint(-2, 2),
                             "place": {"base": cols - 1, "terms": [["col", 1, 0, -1]]}}
    if rng.random() < 0.5:
        problem["product"] = {"batch": runs, "m": inner * 64, "n": cols * 64, "k": channels * 64}
    elif rng.random() < 0.7:  # A window of two taps, summed up with what a second product makes of it.
        problem["group"] = {"dims": [inner * 40, cols * 16, channels * 48, taps, 64],
                            "arrays": [{"kind": "input", "bytes": 2, "axes": [[0, stride, 3, 1], [2, 1]]}, {"kind": "input", "bytes": 2, "axes": [[3, 1], [2, 1], [1, 1]]},
                                       {"kind": "intermediate", "bytes": 4, "axes": [[0, 1], [1, 1]]}, {"kind": "input", "bytes": 2, "axes": [[1, 1], [4, 1]]},
                                       {"kind": "output", "bytes": 2, "axes": [[0, 1], [4, 1]]}],
                            "statements": [{"dims": [0, 1, 2, 3], "reads": [0, 1], "result": 2}, {"dims": [0, 1, 4], "reads": [2, 3], "result": 4}]}
    return problem


def make_order(rng: random.Random, kind: str) -> str:
    width = rng.randint(1, 9)
    orders = ["row", "column", "serpentine", f"grouped<{width}>", f"grouped<{width},columns>", f"grouped-snake<{width}>",
              f"grouped-snake<{width},columns>", f"cutlass<{rng.choice((1, 2, 4, 8))}>", "morton", "hilbert"]
    inner = rng.choice(orders)
    if kind == "tiles":
        return rng.choice((inner, f"each<1,{inner}>", f"zigzag<{width},{inner}>"))
    return rng.choice((f"chain<{width}>", f"chain<{width},{inner}>")).replace(",column>", ">") if kind == "chain" else inner


ARRAYS = {"gemm": ("A", "B", "C"), "chain": ("A", "B", "C", "D", "E"), "attention": ("Q", "K", "V", "O"), "tiles": ("in", "out")}


def make_configurations() -> list[dict]:
    rng, result = random.Random(6), []
    for i in range(COUNT):
        tile = {"m": rng.choice((16, 64, 128)), "n": rng.choice((16, 64, 128, 256)), "k": rng.choice((16, 32, 64))}
        problem = make_problem(rng, tile) if i % 4 else make_tiles(rng)
        cache = {"bytes": rng.choice((1 << 14, 1 << 17, 3 << 18, 1 << 20, 6 << 20)), "lineBytes": 128, "sectorBytes": 32, "ways": rng.choice((0, 1, 8, 16)),
                 "partitions": rng.choice((1, 2))}
        machine = {"sms": rng.choice((1, 3, 8, 20)), "blocksPerSm": rng.choice((1, 2)), "skew": rng.choice((0, 0, 5)), "sampling": rng.choice((0, 1, 4)), "cache": cache}
        machine |= {"drift": rng.choice((0, 0, 3)), "smsPerPort": rng.choice((1, 2)) if machine["sms"] > 1 else 1}
        hints = ",".join(f"{array}={rng.choice(('evict_first', 'normal', 'evict_last'))}" for array in rng.sample(ARRAYS[problem["kind"]], rng.randint(0, 2)))
        result.append({"hints": hints, "problem": problem, "tile": tile, "elementBytes": rng.choice((1, 2, 4)), "order": make_order(rng, problem["kind"]), "machine": machine})
    return result


def differences(want: dict, got: dict) -> list[str]:
    """Integers exactly; the bound's search is in floating point, of another C library: 0.5 %."""
    bad = [f"{key}: expected {want[key]}, got {got.get(key)}" for key in want if key != "bound" and want[key] != got.get(key)]
    for key, value in want["bound"].items():
        if abs(got["bound"][key] - value) > 0.005 * abs(value) + 1:
            bad.append(f"bound.{key}: expected {value}, got {got['bound'][key]}")
    return bad


def check_numbers(tool: str, folder: pathlib.Path) -> int:
    configurations = make_configurations()
    text = json.dumps(configurations)
    wants = json.loads(subprocess.run([tool, "--numbers=-"], input=text, capture_output=True, text=True, check=True).stdout)
    page = folder / "numbers.html"
    subprocess.run([tool, "-o", page], check=True)
    script = f'{(HERE / "numbers.js").read_text()}\nconst numbers = document.body.appendChild(document.createElement("pre"));\nnumbers.id = "numbers";\n' \
             f"numbers.textContent = JSON.stringify({text}.map(computeNumbers));"
    page.write_text(page.read_text().replace("</body>", f"<script>{script}</script></body>"))
    dom, console = browse(page.as_uri(), folder)
    for line in console:
        print(line)
    gots = json.loads(element(dom, "numbers"))
    bad = [f"{configuration}: {line}" for configuration, want, got in zip(configurations, wants, gots, strict=True) for line in differences(want, got)]
    print("\n".join(bad[:20]))
    print(f"{len(wants)} configurations, {len(bad)} differences")
    return 1 if bad or console else 0


EXPECTED = {
    "afterOne": ["1 / 1", "2.10 MB", "loads A0, B0; finds nothing; evicts nothing"], "afterTwo": "3.15 MB",
    "twice": "tile (0, 0): this tile is computed already", "undone": ["1 / 2", "2.10 MB"], "redone": ["2 / 2", "3.15 MB"],
    "byKeys": ["tile (1, 1) computed", "3 / 3"], "arrows": 2, "hilbert": ["64 / 64", 12],
    "unknown": "traversal 'hilbrt': expected one of row, column, serpentine, grouped, grouped-snake, cutlass, morton, hilbert, table, chain, each, zigzag, got 'hilbrt'",
    "chain": [2, 64, "chain<1>"], "tooEarly": "tile (0, 0): needs row 0 of the first GEMM: 0 of 8 tiles are computed",
    "hints": ["A=evict_last", "hints: expected an array of A, B, C, got 'Z'"], "attention": "16 x 8 tiles", "device": ["132", "51200", "2"], "outOfRange": "some settings are out of range",
    "optimum": ["no order loads fewer than 11 panels with room for 3 operand panels (results take no room in this count)", "table<"], "requests": 0,
}


def check_page(tool: str, folder: pathlib.Path) -> int:
    page = folder / "explorer.html"
    subprocess.run([tool, "-o", page], check=True)
    text = page.read_text()
    bad = [f"address in the page: {url}" for url in re.findall(r"https?://[^\s\"'<)]+", text) if url != "http://www.w3.org/2000/svg"]
    page.write_text(text.replace("</body>", f"<script>{(HERE / 'probe.js').read_text()}</script></body>"))
    dom, console = browse(page.as_uri(), folder)
    seen = json.loads(element(dom, "probe"))
    bad += console + [f"{key}: expected {want!r}, got {seen.get(key)!r}" for key, want in EXPECTED.items() if seen.get(key) != want]
    if seen["rows"] < 10 or seen["curves"] < 4 or seen["bars"] < 2:
        bad.append(f"expected a table, curves and bars, got {seen['rows']}, {seen['curves']}, {seen['bars']}")
    print("\n".join(bad))
    print(f"page: {len(EXPECTED)} observations, {len(bad)} differences")
    return 1 if bad else 0


# Screenshots are compared as mosaics, the mean colours of CELL x CELL pixels: whatever fonts a machine has, but not wherever things are.
SIZE, CELL = (1280, 960), 40
PICTURES = {"row": {"order": "row"}, "hilbert": {"order": "hilbert"}, "halfway": {"order": "grouped<2>", "shown": 8}}
REFERENCE = HERE / "pictures.json"


def decode(data: bytes):
    """The pixels of a PNG of 8 bits a channel: rows x columns x 3."""
    import struct
    import zlib

    import numpy as np
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    channels, packed, at = {2: 3, 6: 4}[kind], b"", 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + length] if name == b"IDAT" else b""
        at += length + 12
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    pixels = np.zeros((height, width * channels), np.uint8)
    for y in range(height):
        line, above = raw[y, 1:].astype(np.int32), pixels[y - 1].astype(np.int32) if y else np.zeros(width * channels, np.int32)
        if raw[y, 0] in (0, 2):
            pixels[y] = line + (above if raw[y, 0] else 0) & 255
            continue
        now = [0] * channels + line.tolist()  # Filters that look to the left.
        up = [0] * channels + above.tolist()
        for x in range(channels, len(now)):
            left, top, corner = now[x - channels], up[x], up[x - channels]
            guess = min((left, top, corner), key=lambda c: abs(left + top - corner - c))
            now[x] = now[x] + {1: left, 3: (left + top) // 2, 4: guess}[int(raw[y, 0])] & 255
        pixels[y] = now[channels:]
    return pixels.reshape(height, width, channels)[:, :, :3]


def photograph(page: pathlib.Path, change: dict, folder: pathlib.Path):
    """The page with 4 x 4 tiles, all of an order shown or some."""
    saved = {"problem": {"kind": "gemm", "m": 512, "n": 512, "k": 512}, "shown": 16, **change}
    browser, picture = next(filter(None, map(shutil.which, BROWSERS))), folder / "picture.png"
    picture.unlink(missing_ok=True)
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--hide-scrollbars", "--force-prefers-reduced-motion",
                    "--virtual-time-budget=20000", f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={picture}",
                    f"{page.as_uri()}#{urllib.parse.quote(json.dumps(saved))}"], capture_output=True, timeout=200, check=True)
    return decode(picture.read_bytes())


def mosaic(pixels) -> list:
    rows, cols = pixels.shape[0] // CELL, pixels.shape[1] // CELL
    cells = pixels[:rows * CELL, :cols * CELL].reshape(rows, CELL, cols, CELL, 3)
    return cells.mean(axis=(1, 3)).round().astype(int).tolist()


def check_pictures(tool: str, folder: pathlib.Path, update: bool = False) -> int:
    import numpy as np
    page = folder / "explorer.html"
    subprocess.run([tool, "-o", page], check=True)
    pictures = {name: photograph(page, change, folder) for name, change in PICTURES.items()}
    mosaics = {name: mosaic(pixels) for name, pixels in pictures.items()}
    if update:
        REFERENCE.write_text(json.dumps(mosaics, separators=(",", ":")) + "\n")
        return 0
    bad = []
    if (photograph(page, PICTURES["row"], folder) != pictures["row"]).any():
        bad.append("row: the same link twice, and not the same picture")
    changed = float((pictures["row"] != pictures["hilbert"]).any(axis=2).mean())
    if not 0.001 < changed < 0.5:
        bad.append(f"row and hilbert: expected other arrows and colours on some of the page, got {100 * changed:.2f} % of the pixels")
    for name, want in json.loads(REFERENCE.read_text()).items():
        far = (np.abs(np.array(want) - np.array(mosaics[name])).max(axis=2) > 24).mean() if np.shape(want) == np.shape(mosaics[name]) else 1
        if far > 0.05:
            bad.append(f"{name}: {100 * far:.0f} % of the mosaic is not what pictures.json has (check_explorer.py update, if it is meant)")
    print("\n".join(bad))
    print(f"{len(PICTURES)} pictures, {len(bad)} differences")
    return 1 if bad else 0


def main() -> int:
    mode, tool = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        modes = {"numbers": check_numbers, "page": check_page, "pictures": check_pictures, "update": functools.partial(check_pictures, update=True)}
        return modes[mode](tool, pathlib.Path(name))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs the kernels of the emulator's tests on a GPU, and compares what they wrote, bit for bit, and what was counted.

    WEFT_EMU_DUMP=CASES build/bin/weft-emulator-kernel-tests      here: a folder for each launch (kernel, data, results, counters)
    replay.py run CASES REPORT.json [NAME...]                     on the GPU (libcuda): results
    ncu --csv --clock-control none --metrics $(replay.py metrics) python3 replay.py run --in-process CASES R.json NAME... > ncu.csv
    replay.py counters CASES ncu.csv                              anywhere: the GPU's counters beside the emulator's

A buffer with a "tolerance" in launch.json (approximations) may differ by that many units in the last place, or by that absolute difference:
such cases are reported as within bounds. NAME selects cases whose name contains it. A case that breaks the context (a wrong kernel) is
run in a process of its own.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import collections
import csv
import json
import math
import multiprocessing
import pathlib
import struct
import sys

from driver import Card

TIMEOUT_S = 20
MAX_REPORTED = 12
# Nsight Compute's counters that the emulator has under the same name: the relative difference that is allowed, or None where the
# emulator's figure comes from a model of the caches and is shown only. Kernels whose memory instructions ptxas merges or drops differ
# for that reason; the sample GEMMs keep theirs.
METRICS = {
    "smsp__inst_executed_op_global_ld.sum": 0, "smsp__inst_executed_op_global_st.sum": 0,
    "smsp__inst_executed_op_shared_st.sum": 0, "smsp__inst_executed_op_ldsm.sum": 0, "smsp__inst_executed_op_shared_stsm.sum": 0,
    "sm__inst_executed_pipe_tensor_op_hmma.sum": 0, "sm__inst_executed_pipe_tensor_op_imma.sum": 0,
    "sm__inst_executed_pipe_tensor_op_dmma.sum": 0, "sm__inst_executed_pipe_tensor_op_gmma.sum": 0,
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 0, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 0.01, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 0.01,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 0.05, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 0.05,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 0.05,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 0.05,
    "lts__t_sectors_op_read.sum": None, "lts__t_sectors_op_write.sum": None, "lts__t_sector_hit_rate.pct": None,
    "dram__sectors_read.sum": None, "dram__sectors_write.sum": None,
}


def cases_of(root: str, names: list[str]) -> list[pathlib.Path]:
    folders = sorted(path.parent for path in pathlib.Path(root).glob("*/launch.json"))
    return [folder for folder in folders if not names or any(name in folder.name for name in names)]


def run_case(card: Card, folder: pathlib.Path, keep: str | None) -> dict:
    launch = json.loads((folder / "launch.json").read_text())
    module = card.load((folder / "kernel.ptx").read_bytes() + b"\0")
    buffers, parameters = {}, []
    for argument in launch["arguments"]:
        if argument["kind"] == "buffer":
            buffers[argument["index"]] = card.upload((folder / f"in{argument['index']}.bin").read_bytes())
    for argument in launch["arguments"]:
        if argument["kind"] == "buffer":
            if argument.get("isParameter", True):
                parameters.append(bytes(buffers[argument["index"]]))
        elif argument["kind"] == "pointer":
            parameters.append(bytes(buffers[argument["buffer"]]))
        elif argument["kind"] == "value":
            parameters.append(bytes.fromhex(argument["hex"]))
        else:
            parameters.append(card.tensor_map(argument["map"], buffers[argument["buffer"]]))
    card.launch(card.function(module, launch["entry"]), launch["grid"], launch["block"], parameters, launch["dynamicShared"],
                launch["cluster"])
    differences, within = [], []
    for argument in launch["arguments"]:
        if argument["kind"] == "buffer" and argument["compared"]:
            want = (folder / f"out{argument['index']}.bin").read_bytes()
            got = card.download(buffers[argument["index"]], len(want))
            tolerance = argument.get("tolerance")
            if tolerance and got != want and is_within(tolerance, got, want):
                within.append(f"argument {argument['index']}: {closeness(tolerance, got, want)}")
            else:
                differences += compare(argument["index"], got, want)
            if keep and got != want:
                (pathlib.Path(keep) / f"{folder.name}.out{argument['index']}.bin").write_bytes(got)
    for pointer in buffers.values():
        card.free(pointer)
    card.unload(module)
    return {"differences": differences, "within": within}


def elements(kind: str, data: bytes) -> tuple[list[int], list[float]]:
    """Each element as an integer that grows with it by one per unit in the last place, and its value."""
    code, value_code, width = {"f16": ("H", "e", 2), "bf16": ("H", None, 2), "f32": ("I", "f", 4), "f64": ("Q", "d", 8)}[kind]
    count, sign = len(data) // width, 1 << (8 * width - 1)
    bits = struct.unpack(f"<{count}{code}", data[:count * width])
    if value_code is None:  # the upper half of an f32
        values = struct.unpack(f"<{count}f", b"".join(struct.pack("<I", x << 16) for x in bits))
    else:
        values = struct.unpack(f"<{count}{value_code}", data[:count * width])
    return [x if x < sign else sign - x for x in bits], list(values)


def gaps(tolerance: dict, got: bytes, want: bytes) -> list[tuple[int, float]]:
    """Units in the last place and absolute difference of every element that is not equal; infinite for NaN against a number."""
    (places, values), (other_places, others) = elements(tolerance["type"], got), elements(tolerance["type"], want)
    found = []
    for x, y, a, b in zip(places, other_places, values, others):
        if x != y:
            finite = math.isfinite(a) and math.isfinite(b)
            found.append((abs(x - y), abs(a - b)) if finite else (1 << 64, math.inf))
    return found


def is_within(tolerance: dict, got: bytes, want: bytes) -> bool:
    return all(units <= tolerance["units"] or difference <= tolerance["absolute"] for units, difference in gaps(tolerance, got, want))


def closeness(tolerance: dict, got: bytes, want: bytes) -> str:
    found = gaps(tolerance, got, want)
    total = len(elements(tolerance["type"], want)[0])
    return (f"{len(found)} of {total} differ, at most {max(units for units, _ in found)} units in the last place of {tolerance['type']} "
            f"({max(difference for _, difference in found):.3g})")


def compare(index: int, got: bytes, want: bytes) -> list[str]:
    """One line if the bytes differ: how many words, the first, and the largest distance as f32 in units of the last place."""
    if got == want:
        return []
    words = [(i, struct.unpack_from("<I", got, i)[0], struct.unpack_from("<I", want, i)[0]) for i in range(0, len(want) - 3, 4)]
    wrong = [word for word in words if word[1] != word[2]]
    if not wrong:
        return [f"argument {index}: the last bytes differ"]
    ordered = lambda bits: bits if bits < 1 << 31 else (1 << 31) - bits
    ulps = max(abs(ordered(a) - ordered(b)) for _, a, b in wrong)
    at, a, b = wrong[0]
    return [f"argument {index}: {len(wrong)} of {len(words)} words, first at byte {at}: GPU {a:08x}, emulator {b:08x}; "
            f"at most {ulps} units as f32"]


def work(folders: list[pathlib.Path], keep: str | None, queue) -> None:
    card = Card()
    queue.put(("card", card.name))
    for folder in folders:
        try:
            queue.put((folder.name, run_case(card, folder, keep)))
        except RuntimeError as error:
            queue.put((folder.name, {"error": str(error)}))
            if "ILLEGAL" in str(error).upper() or "misaligned" in str(error) or "cuCtxSynchronize" in str(error):
                return  # the context is lost: the rest goes to a new process


def run(root: str, report: str, names: list[str], in_process: bool, keep: str | None) -> int:
    if keep:
        pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
    folders, results, name = cases_of(root, names), {}, ""
    if in_process:  # a profiler follows one process
        card = Card()
        name, results = card.name, {folder.name: run_case(card, folder, keep) for folder in folders}
        folders = []
    context = multiprocessing.get_context("spawn")
    while folders:
        queue = context.Queue()
        process = context.Process(target=work, args=(folders, keep, queue))
        process.start()
        before = len(results)
        while len(results) - before < len(folders):
            try:
                key, value = queue.get(timeout=TIMEOUT_S)
            except Exception:
                if process.is_alive() or len(results) == before:
                    hung = folders[len(results) - before].name
                    results[hung] = {"error": "no answer: hangs, or the process died"}
                break
            if key == "card":
                name = value
                continue
            results[key] = value
            if "cuCtxSynchronize" in value.get("error", ""):
                break
        process.kill()
        folders = [folder for folder in folders if folder.name not in results]
    pathlib.Path(report).write_text(json.dumps({"card": name, "cases": results}, indent=1))
    return summarise(name, results)


def summarise(name: str, results: dict) -> int:
    suites: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for case, result in results.items():
        kind = ("error" if "error" in result else "different" if result["differences"] else
                "within bounds" if result.get("within") else "equal")
        suites[case.split(".")[0]][kind] += 1
    print(f"GPU: {name}\n{'suite':32} {'equal':>7} {'within bounds':>13} {'different':>9} {'error':>6}")
    for suite, counts in sorted(suites.items()):
        print(f"{suite:32} {counts['equal']:7} {counts['within bounds']:13} {counts['different']:9} {counts['error']:6}")
    bad = {case: result for case, result in results.items() if result.get("error") or result.get("differences")}
    shown = collections.Counter()
    for case, result in bad.items():
        group = ".".join(case.split(".")[:2])
        shown[group] += 1
        if shown[group] <= 3:
            print(f"  {case}: {result.get('error') or '; '.join(result['differences'])}"[:400])
    near = sum(bool(result.get("within")) for case, result in results.items() if case not in bad)
    print(f"{len(results) - len(bad) - near} of {len(results)} cases are bit-equal, {near} more within their bounds")
    return 1 if bad else 0


def ncu_rows(path: str) -> list[dict[str, float]]:
    """The metrics of every kernel in order, from ncu's CSV in either of its forms."""
    lines = pathlib.Path(path).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    kernels: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(lines[start:]):
        if not (row.get("ID") or "").isdigit():
            continue
        values = kernels.setdefault(row["ID"], {})
        if "Metric Name" in row:
            values[row["Metric Name"]] = float(row["Metric Value"].replace(",", "") or "nan")
    return [kernels[key] for key in sorted(kernels, key=int)]


def counters(root: str, path: str, names: list[str]) -> int:
    folders, rows, worst = cases_of(root, names), ncu_rows(path), 0
    if len(folders) != len(rows):
        sys.exit(f"expected {len(folders)} kernels in {path}, got {len(rows)}")
    print(f"{'metric':60} {'kernels':>7} {'exact':>6} {'within':>6} {'median':>8} {'worst':>8}")
    for metric, allowed in METRICS.items():
        pairs = []
        for folder, row in zip(folders, rows):
            own = json.loads((folder / "counters.json").read_text())
            if metric in row and metric in own and (row[metric] or own[metric]):
                pairs.append((folder.name, row[metric], own[metric]))
        errors = sorted((abs(card - own) / max(card, 1), case, card, own) for case, card, own in pairs)
        if not errors:
            continue
        within = "model" if allowed is None else sum(error[0] <= allowed for error in errors)
        print(f"{metric:60} {len(errors):7} {sum(e[0] == 0 for e in errors):6} {within:>6} {errors[len(errors) // 2][0]:8.2%} "
              f"{errors[-1][0]:8.2%}")
        if allowed is not None and errors[-1][0] > allowed:
            worst = 1
            for error, case, card, own in errors[:-MAX_REPORTED - 1:-1]:
                if error > allowed:
                    print(f"    {case}: GPU {card:g}, emulator {own:g}")
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("cases")
    command.add_argument("report")
    command.add_argument("names", nargs="*")
    command.add_argument("--in-process", action="store_true", help="one process, stop at the first error: for profilers")
    command.add_argument("--keep", metavar="DIR", help="write what the GPU gave where it differs: DIR/CASE.out<argument>.bin")
    command = commands.add_parser("counters")
    command.add_argument("cases")
    command.add_argument("csv")
    command.add_argument("names", nargs="*")
    commands.add_parser("metrics")
    arguments = parser.parse_args()
    if arguments.command == "run":
        return run(arguments.cases, arguments.report, arguments.names, arguments.in_process, arguments.keep)
    if arguments.command == "counters":
        return counters(arguments.cases, arguments.csv, arguments.names)
    print(",".join(METRICS))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The newest results of each GPU and kind: one data file, one table made of it, and the figures on README's front page.

    bench/results.py --take FOLDER [FOLDER...]     put what bench/gpu.py, bench/sweep.py and bench/sanitize.py wrote into bench/results
    bench/results.py                               write the tables and README's figures again from the data
    bench/results.py --check                       say whether they are what the data make, and change nothing

Data are bench/results/CARD-KIND.json: of each candidate the median only, one case a line, so that a change of one case is one line of
a diff. Of several folders of one kind the later wins case by case (torch.compile is timed for some cases in a run of its own); the
table then states both commands. A sanitizer's report is text and goes over as it is.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from measure import sweep_table, table  # noqa: E402

RESULTS, README, CONFORMANCE = HERE / "results", HERE.parent / "README.md", HERE.parent / "docs" / "conformance.md"
KINDS = {"gpu": ("weft.bench-gpu/1", table.markdown), "sweep": ("weft.sweep/1", sweep_table.markdown)}
START, END = "<!-- figures: bench/results.py -->", "<!-- end of figures -->"
# README's groups of random shapes: a title, and the kinds of the sweep that it sums up ...
GROUPS = {"GEMM": ("product", "epilogue", "swiglu", "chain"), "attention": ("attention", "biased"), "attention of a decoded token": ("decode",),
          "convolutions": ("conv", "conv3d", "depthwise"), "norms and softmax": ("norm", "groupnorm", "softmax", "geglu")}
# ... and cases of bench/gpu.py under the names that people know.
BLOCKS = {"llama8b_layer_decode_B1_ctx2047": "Llama-3-8B layer, a decoded token behind 2,047", "bert_base_layer_B1_T128": "BERT-base layer, 128 tokens",
          "qwen_image_block_I4096_T256": "Qwen-Image block, 4,096 + 256 tokens", "resnet50_B1": "ResNet-50, one image"}


def card(about: dict) -> str:
    """`h100` of "NVIDIA H100 80GB HBM3, PyTorch 2.11.0"."""
    found = re.search(r"NVIDIA (?:GeForce )?([A-Za-z]*\s?\d+\w*)", about["device"])
    if not found:
        raise SystemExit(f"error: expected a device as in \"NVIDIA H100 80GB HBM3, ...\", got \"{about['device']}\"")
    return found[1].replace(" ", "").lower()


def condensed(result: table.Result) -> table.Result:
    timings = [dataclasses.replace(t, ms=[round(t.median, 6)] if t.ms else []) for t in result.timings]
    return dataclasses.replace(result, timings=timings)


@dataclasses.dataclass
class Results:
    """One data file: what was measured where (`about`), and the cases, by name, in the order they were listed."""

    kind: str
    about: dict
    cases: dict[str, table.Result]

    @staticmethod
    def read(path: pathlib.Path) -> "Results":
        data = json.loads(path.read_text())
        kind = next((k for k, (schema, _) in KINDS.items() if schema == data.get("schema")), None)
        if kind is None:
            raise SystemExit(f"error: {path}: expected a schema of {', '.join(s for s, _ in KINDS.values())}, got {data.get('schema')}")
        return Results(kind, data["about"], {r["case"]: condensed(table.from_dict(r)) for r in data["results"]})

    def update(self, newer: "Results") -> None:
        for key, value in newer.about.items():
            was = self.about.get(key)
            self.about[key] = value if was in (None, value) else f"{was}; {value}"
        self.cases.update(newer.cases)

    def text(self) -> str:
        lines = ",\n".join("  " + json.dumps(dataclasses.asdict(r), sort_keys=True) for r in self.cases.values())
        return f'{{"schema": "{KINDS[self.kind][0]}",\n "about": {json.dumps(self.about)},\n "results": [\n{lines}\n ]}}\n'

    def markdown(self) -> str:
        return KINDS[self.kind][1](list(self.cases.values()), self.about)


def take(folders: list[pathlib.Path]) -> None:
    taken: dict[pathlib.Path, Results] = {}
    for folder in folders:
        for kind in KINDS:
            path = folder / f"{kind}.json"
            if not path.exists():
                continue
            found = Results.read(path)
            to = RESULTS / f"{card(found.about)}-{kind}.json"
            if to in taken:
                taken[to].update(found)
            else:
                taken[to] = found
        if (folder / "sanitize.md").exists():
            text = (folder / "sanitize.md").read_text()
            about = {"device": re.search(r"^\* device: (.*)$", text, re.M)[1]}
            (RESULTS / f"{card(about)}-sanitizer.md").write_text(text)
    for path, results in taken.items():
        path.write_text(results.text())


def _ms(timing: table.Timing | None) -> str:
    return f"{timing.median * 1e3:.0f} us" if timing and timing.median else "-"


def figures(name: str, sweep: Results, gpu: Results) -> str:
    """README's figures: random shapes by group in a paragraph, and a table of models beside torch.compile and eager PyTorch."""
    counted = [r for r in sweep.cases.values() if r.case != sweep_table.START.name]
    whole = sweep_table.summarise("all", counted)
    groups = [(title, sweep_table.summarise(title, [r for r in counted if sweep_table.kind_of(r.case) in kinds])) for title, kinds in GROUPS.items()]
    named = ", ".join(f"{title} {s.geomean:.2f}" for title, s in groups if s.geomean)
    lines = [f"On one {name.upper()} in {sweep.about['element type']} Weft is **{whole.geomean:.2f}** times as fast as the best of PyTorch's own, in the geometric mean of "
             f"[{len(counted)} random shapes](bench/results/{name}-sweep.md): {named}.",
             f"One shape in ten is below {whole.tenth:.2f}; the worst is {whole.worst:.2f}. L2 cold, CUDA graphs, {sweep.about['date'][:10]}.", "",
             f"| [models](bench/results/{name}-gpu.md) | Weft | torch.compile | eager |", "|---|---:|---:|---:|"]
    for case, title in BLOCKS.items():
        if case in gpu.cases:
            r = gpu.cases[case]
            compiled = [t for t in r.timings if t.candidate.startswith("compile") and t.median]
            lines.append(f"| {title} | {_ms(r.ours)} | {_ms(min(compiled, key=lambda t: t.median, default=None))} | {_ms(r.of('eager'))} |")
    return "\n".join(lines) + "\n"


def compile_times(path: pathlib.Path) -> str:
    """What bench/run.py measured of whole models, for the CPU."""
    seconds = [case["compile_s"] for case in json.loads(path.read_text())["cases"]]
    return f"Compiling [{len(seconds)} networks](bench/results/{path.stem}.md) for a CPU took {min(seconds):.1f} to {max(seconds):.1f} s each on two cores.\n"


def conformance() -> str:
    """What passes, and how much of it only because the command line says what a model file does not."""
    found = re.search(r"\*\*(\d+) of (\d+) pass\*\*: (\d+) as they are, (\d+) once told .*? and (\d+) with operands bound", CONFORMANCE.read_text(), re.S)
    passed, cases, plain, counted, bound = (int(number) for number in found.groups())
    told = [f"{counted} of them once `--elements` says how many tensors a sequence or an optional has"] * bool(counted) + [f"{bound} with data that `--bind` makes constant"] * bool(bound)
    if drawn := re.search(r"^Of (\d+) that pass types, shapes", CONFORMANCE.read_text(), re.M):
        told.append(f"{drawn[1]} that draw random numbers by type, shape and range")
    assert plain + counted + bound == passed
    return f"Of ONNX's node suite {passed:,} of {cases:,} cases pass{''.join(', ' + text for text in told)} ([operator by operator](docs/conformance.md)).\n"


def made(results_folder: pathlib.Path, readme: pathlib.Path) -> dict[pathlib.Path, str]:
    """Each file that follows from the data, and what it must be."""
    files, found = {}, {}
    for kind in KINDS:
        for path in sorted(results_folder.glob(f"*-{kind}.json")):
            results = Results.read(path)
            found.setdefault(path.name.rsplit("-", 1)[0], {})[kind] = results
            files[path.with_suffix(".md")] = results.markdown()
    text = readme.read_text()
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"error: {readme}: expected the lines \"{START}\" and \"{END}\" around the figures")
    tables = [figures(name, kinds["sweep"], kinds["gpu"]) for name, kinds in found.items() if len(kinds) == len(KINDS)]
    models = results_folder / "vm-models.json"
    files[readme] = before + START + "\n" + "\n".join([*tables, (compile_times(models) if models.exists() else "") + conformance()]) + END + after
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.split("\n", 1)[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", nargs="+", type=pathlib.Path, metavar="FOLDER", help="folders that the benches wrote on a GPU")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 and the names where a file is not what the data make")
    args = parser.parse_args()
    if args.take:
        take(args.take)
    stale = {path: text for path, text in made(RESULTS, README).items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        if args.check:
            print(f"error: {path.relative_to(HERE.parent)} is not what the data make; bench/results.py writes it")
        else:
            path.write_text(text)
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Fields of a printed plan, edited one at a time and compiled on: prints what of the code each edit changes.

    edit_plan.py PLAN.mlir TARGET 'FIELD = OLD -> FIELD = NEW' ...

What a kernel is like is read off its lowered module and its PTX. `code` is all the rest of the PTX.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import re
import subprocess
import sys


def compile(plan: pathlib.Path, target: str, emit: str) -> str:
    command = ["weft-compile", str(plan), "--compile-from=plan", f"--target={target}", f"--emit={emit}", "--ptxas=off", "--quiet", "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{plan}: {done.stderr}")
    return done.stdout


def describe(plan: pathlib.Path, target: str) -> dict[str, str]:
    module, ptx = compile(plan, target, "mlir:lower"), compile(plan, target, "ptx")
    maps = dict(re.findall(r"^(#map\d*) = (.*)$", module, re.M))
    facts = {"launches": str(module.count("tg.dispatch @"))}
    for name in ("tk.warps", "tk.shared_bytes", "tk.cluster", "tg.grid"):
        found = re.findall(rf"{re.escape(name)} = (affine_map<.*?>(?=[,}}])|[^,}}]+)", module)
        facts[name] = " ".join(maps.get(each, each) for each in found)
    facts["boxes"] = " ".join(re.findall(r"box = array<i64: ([\d, ]+)>", module))
    shapes = re.findall(r"(?:wg)?mma(?:\.mma_async)?\.sync\.aligned\.(m\d+n\d+k\d+)", ptx)
    facts["instructions"] = " ".join(sorted(set(shapes)))
    facts["barriers"] = str(len(re.findall(r"mbarrier\.init", ptx)))
    facts["multicast"] = str(".multicast::cluster" in ptx)
    facts["turns"] = str(len(re.findall(r"\bbar\.arrive", ptx)))
    facts["code"] = re.sub(r"[%$]\w+|\d+", "", ptx)
    return facts


def main(path: str, target: str, *edits: str) -> None:
    plan = pathlib.Path(path)
    text = plan.read_text()
    before = describe(plan, target)
    print("as planned:", ", ".join(f"{name} {value}" for name, value in before.items() if name != "code"))
    for edit in edits:
        old, _, new = edit.partition(" -> ")
        if old not in text:
            raise SystemExit(f"expected '{old}' in {path}")
        edited = plan.with_suffix(".edited.mlir")
        edited.write_text(text.replace(old, new))
        after = describe(edited, target)
        changes = [name if name == "code" else f"{name} {before[name]} -> {after[name]}" for name in before if before[name] != after[name]]
        print(f"{edit}: {'; '.join(changes) or 'nothing'}")


if __name__ == "__main__":
    main(*sys.argv[1:])

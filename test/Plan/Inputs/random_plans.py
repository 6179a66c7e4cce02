"""Random schedules for the kernel of a printed plan: each is refused with what was expected, or computes the same.

    random_plans.py PLAN.mlir TARGET EXPECTED.npy SEED COUNT

Programs run in the emulator, whose sanitizer refuses what nobody has written, races and copies beyond a buffer.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import random
import re
import subprocess
import sys


def draw(rng: random.Random, target: str) -> str:
    """Mostly what a planner could pick; some of what it never does: tiles that are no powers of two, steps of 8, 16 warps for 16 rows."""
    if target == "sm_90a":
        engine = rng.choice(["wgmma", "wgmma", "wgmma", "mma", "simt"])
    else:
        engine = rng.choice(["mma", "mma", "mma", "simt", "wgmma"])
    power = rng.random() < 0.3 or engine == "simt"
    rows, columns = ([16, 32, 64, 128, 256],) * 2 if power else ([64, 96, 100, 112, 128, 160, 192, 256], [8, 24, 32, 40, 64, 96, 104, 136, 200, 256])
    fields = {
        "tile": [rng.choice(rows), rng.choice(columns)],
        "stream": [rng.choice([8, 16, 32, 64, 64, 128])],
        "engine": engine,
        "warps": rng.choice([1, 2, 4, 4, 8, 8, 16]),
        "stages": rng.randint(1, 5),
        "order": '"' + rng.choice(["row", "column", "serpentine", "grouped<3>", "grouped<4>", "hilbert"]) + '"',
        "persistent": rng.choice(["true", "false"]),
        "split": rng.choice([1, 1, 1, 2, 4]),
    }
    if fields["split"] == 1 and engine == "wgmma" and rng.random() < 0.3:
        fields["multicast"] = rng.choice([2, 4])
    return ", ".join(f"{name} = {value}" for name, value in fields.items())


def attempt(plan: pathlib.Path, target: str, expected: str) -> tuple[str, str]:
    """`ran`, `refused` or `wrong`, and what was said."""
    bundle = plan.with_suffix(".weft")
    command = ["weft-compile", str(plan), "--compile-from=plan", f"--target={target}", "--ptxas=off", "--quiet", "-o", str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        explains = done.returncode > 0 and re.search(r"error: .*expected", done.stderr) and "internal" not in done.stderr
        return ("refused" if explains else "wrong"), done.stderr
    command = ["weft-run", str(bundle), f"--device=emu:{target}", "--seed=3", "--output-max-element-count=0", f"--expected-output=y=@{expected}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return ("wrong" if done.returncode else "ran"), done.stdout + done.stderr


def main(path: str, target: str, expected: str, seed: str, count: str) -> None:
    rng = random.Random(int(seed))
    text = pathlib.Path(path).read_text()
    edited = pathlib.Path(path).with_suffix(f".{target}.mlir")
    counts = {"ran": 0, "refused": 0, "wrong": 0}
    for _ in range(int(count)):
        schedule = draw(rng, target)
        edited.write_text(re.sub(r"#tg\.schedule<[^>]*>", f"#tg.schedule<{schedule}>", text))
        outcome, said = attempt(edited, target, expected)
        counts[outcome] += 1
        if outcome == "wrong":
            print(f"{schedule}: {said}")
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])

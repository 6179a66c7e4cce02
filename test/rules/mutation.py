"""What the proofs of guards share: their command line, and the score of the mutants (a guard each, switched off)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
from typing import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST_SCORE = 0.9


def arguments(description: str, what: str) -> argparse.Namespace:
    """`what` is what a glob chooses (rules, guards): its option; `chosen` in the result."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(f"--{what}", dest="chosen", metavar="GLOB", default="*", help=f"only {what} whose names match")
    parser.add_argument("--mutants", action="store_true", help="print a line for each guard")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def finish(args: argparse.Namespace, what: str, units: int, wrong: int, mutants: Sequence[dict]) -> int:
    """Prints survivors and the score; the exit status. A mutant has `guard`, `caught`, and `shown`: how, "" where it was not.

    `wrong` of `units` rules or graphs misbehaved with all guards on.
    """
    for mutant in mutants:
        if args.mutants or not mutant["caught"]:
            how = f", {mutant['shown']}" if mutant["shown"] else ""
            print(f"mutant {mutant['guard']}: {'caught' if mutant['caught'] else 'SURVIVED'}{how}")
    caught, shown = sum(mutant["caught"] for mutant in mutants), sum(bool(mutant["shown"]) for mutant in mutants)
    score = caught / len(mutants) if mutants else 1.0
    print(f"{units} {what}, {wrong} with problems; {len(mutants)} guards, {caught} caught ({score:.1%}), {shown} by their results too")
    survivors = len(mutants) - caught if score < LEAST_SCORE else 0
    if args.json:
        counts = {"passed": units - wrong + caught, "failed": wrong + survivors, "skipped": 0}
        args.json.write_text(json.dumps({**counts, "mutants": list(mutants)}))
    return 1 if wrong or survivors else 0

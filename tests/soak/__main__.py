"""`make soak STEPS=100000 SEED=7`: prints what was done and found; ends with 0 if nothing differed, else with 1."""

from __future__ import annotations

import argparse
import logging
import sys
from time import time

from .running import on_one_machine, soak


def main() -> int:
    given = argparse.ArgumentParser(prog="make soak")
    given.add_argument("--steps", type=int, default=10_000)
    given.add_argument("--seed", type=int, default=int(time()))
    options = given.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"soak: {options.steps:,} steps from seed {options.seed}", flush=True)
    outcome = soak(options.seed, options.steps, on_one_machine, tell=_tell)
    print(*outcome.lines(), sep="\n")
    return 1 if outcome.violations else 0


def _tell(steps: int) -> None:
    if steps % 800 == 0:
        print(f"soak: {steps:,} steps", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

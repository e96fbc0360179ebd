"""Many runs from one seed: what they did in numbers, and of one that failed the shortest found that still fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from .episode import Episode, Violation, play
from .stage import Stage, one_machine

STEPS = 80  # of one run: records that turns see stay within what one search returns
OFTEN = 0.1  # that a call meets a fault
MOST_SHORTENINGS = 60  # runs that are tried to make a failing one shorter

MakeStage = Callable[[], AbstractContextManager[Stage]]


@dataclass
class Outcome:
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For a person: seed, what was done, what was found."""
        told = [f"seed {self.seed}"] + [f"{name}: {count}" for name, count in sorted(self.counts.items())]
        for violation in self.violations:
            told += ["", *violation.log, f"VIOLATION at step {violation.step}: {violation.told}"]
        return [*told, f"violations: {len(self.violations)}"]


def soak(
    seed: int, steps: int, make_stage: MakeStage, *, often: float = OFTEN, tell: Callable[[int], None] = lambda _: None
) -> Outcome:
    """Plays until so many steps are done, or a run failed. tell: is told how many are done."""
    outcome = Outcome(seed)
    run = 0
    while outcome.counts["steps"] < steps and not outcome.violations:
        numbers = range(min(STEPS, steps - outcome.counts["steps"]))
        if violation := _play(f"{seed}/{run}", numbers, make_stage, often, outcome.counts):
            outcome.violations.append(_shortened(f"{seed}/{run}", violation, make_stage, often))
        run += 1
        tell(outcome.counts["steps"])
    return outcome


def _play(
    seed: str, steps: Collection[int], make_stage: MakeStage, often: float, counts: Counter[str] | None = None
) -> Violation | None:
    with make_stage() as stage:
        episode = Episode(stage, seed, often=often)
        violation = play(episode, steps)
        if counts is not None:
            counts += episode.run.counts
            counts["calls"] += episode.run.door.calls
            counts["kills"] += stage.kills
            counts.update(f"fault {kind}" for kind in stage.table.struck)
        return violation


def _shortened(seed: str, violation: Violation, make_stage: MakeStage, often: float) -> Violation:
    """Leaves out half of the steps, a quarter, … as long as what is left still fails."""
    steps, tries = list(range(violation.step + 1)), MOST_SHORTENINGS
    size = len(steps) // 2
    while size and tries > 0:
        for start in range(0, len(steps), size):
            fewer = steps[:start] + steps[start + size :]
            tries -= 1
            if tries >= 0 and fewer and (found := _play(seed, fewer, make_stage, often)):
                steps, violation = [step for step in fewer if step <= found.step], found
                break
        else:
            size //= 2
    return violation


@contextmanager
def on_one_machine() -> Iterator[Stage]:
    with TemporaryDirectory(prefix="agent-memory-soak-") as folder, Stage(one_machine(Path(folder))) as stage:
        yield stage

"""One run of steps from one seed, compared after each with the model; a failing run says which step it was."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from .checks import Checks
from .persons import People
from .records import SCOPES, Config
from .run import AGENTS, Run, expect
from .stage import Stage
from .turns import Turns

_KINDS = {"fact": False, "rule": True, "constraint": True}
CONFIGURATIONS = (
    Config(SCOPES, SCOPES, _KINDS, pins=40, hours={"preview": 9}, reviews=True),
    Config(("session", "user", "agent"), ("session", "workflow", "agent"), _KINDS, hours={"preview": 30}),
    Config(("session", "workflow", "agent"), ("user", "session"), {"fact": False}, hours={"preview": 30}, reviews=True),
    Config(SCOPES, SCOPES, _KINDS, pins=25, hours={"session": 6, "preview": 20}),
)
FULL_AGENT, CONSTRAINTS = AGENTS[0], 19  # that it has from the start in some runs, one short of the most


class Episode:
    """often: how likely a call meets a fault."""

    def __init__(self, stage: Stage, seed: str, *, often: float) -> None:
        self.stage = stage
        self.run = Run(stage, seed, often=often)
        self.turns = Turns(self.run)
        self.people = People(self.run, self.turns)
        self.checks = Checks(self.run)
        self.actions = [action for action, weight in self._weights() for _ in range(weight)]
        for config in CONFIGURATIONS:
            for agent in AGENTS:
                self._configure(agent, config)
        if self.run.chance(0.3):
            self.run.crowded = True
            self.people.write_constraints(FULL_AGENT, CONSTRAINTS)

    def play(self, step: int) -> None:
        self.run.draw_for(step)
        self.run.counts["steps"] += 1
        self.run.one_of(self.actions)()
        self.checks.check()

    def _weights(self) -> list[tuple[Callable[[], None], int]]:
        turns, people = self.turns, self.people
        return [
            (turns.begin, 4),
            (turns.add, 22),
            (turns.delete, 7),
            (turns.commit, 5),
            (turns.settle, 3),
            (turns.roll_back, 1),
            (turns.retry, 1),
            (people.post, 3),
            (people.delete, 2),
            (people.restore, 2),
            (people.post_platform, 1),
            (people.judge, 2),
            (self.index, 3),
            (self.go_down_and_up, 1),
            (self.time_passes, 1),
            (self.configure, 1),
            (self.die, 1),
        ]

    # -- what goes on meanwhile

    def index(self) -> None:
        """Some commits in any order, those that were indexed before among them."""
        run = self.run
        if commits := self.stage.unindexed():
            some = run.one_of([commits, run.random.choices(commits, k=4)])
            self.stage.index_some(some)
            run.say(f"index {len(some)} of {len(commits)} commits")

    def go_down_and_up(self) -> None:
        index, embedder = self.run.one_of([False, True]), self.run.one_of([False, True])
        self.stage.go_down(index=index, embedder=embedder)
        if self.stage.is_up:
            self.stage.embed_waiting()
        self.run.counts["index down"] += index
        self.run.counts["embedder down"] += embedder
        self.run.say(f"index {'down' if index else 'up'}, embedder {'down' if embedder else 'up'}")

    def time_passes(self) -> None:
        hours = self.run.one_of([1, 2, 5])
        self.stage.clock.advance(hours=hours)
        self.turns.time_out()
        self.run.say(f"{hours} hours pass")

    def configure(self) -> None:
        self._configure(self.run.one_of(AGENTS), self.run.one_of(CONFIGURATIONS))

    def die(self) -> None:
        self.stage.kill()
        self.run.say("killed between two steps")

    def _configure(self, agent: str, config: Config) -> None:
        run = self.run
        versions = run.configs[agent]
        if versions and versions[-1] == config:
            return
        headers = {"If-Match": f'"{len(versions)}"'} if versions else {"If-None-Match": "*"}
        reply = run.door.send("PUT", "agents/{agent}/config", _body(config), headers=headers, agent=agent)
        versions.append(config)
        expect((reply.status in (200, 201), reply.body.get("version")), (True, len(versions)), "the configuration")
        run.say(f"{agent} is configured: v{len(versions)} reads {config.read}, writes {config.write}")


def _body(config: Config) -> dict[str, Any]:
    memory = {
        "enabled": True,
        "scope": {"read": config.read, "write": config.write},
        "kinds": {name: {"precedence": "broader" if broader else "narrower"} for name, broader in config.kinds.items()},
        "tools": ["add_memory", "read_memory", "delete_memory"],
        "search": {"min_score": -1, "max_results": 50},
        "recall": {"max_tokens": 50_000},
        "extraction": {"every": "turn" if config.reviews else {"messages": 1000}},
        "pinned": {"max_tokens": config.pins} if config.pins is not None else None,
        "retention": {
            "scope": {name: f"{hours}h" for name, hours in config.hours.items() if name != "preview"},
            "preview": f"{config.hours.get('preview', 168)}h",
        },
    }
    return {"memory": memory}


@dataclass(frozen=True)
class Violation:
    """step: at which it was seen; told: what differs; log: what was done until then."""

    step: int
    told: str
    log: list[str]


def play(episode: Episode, steps: Collection[int]) -> Violation | None:
    """Plays the steps of these numbers, in order, until one finds a difference."""
    for step in sorted(steps):
        try:
            episode.play(step)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            where = next((f"{f.name}" for f in reversed(frames) if "/soak/" in f.filename), "")
            return Violation(step, f"{type(error).__name__} in {where}: {error}", episode.run.log)
    return None

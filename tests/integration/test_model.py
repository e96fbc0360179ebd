"""Turns of several sessions and users at once, in any order, against a plain model of the rules (`reference.py`).

After each step every way of finding is asked: list, pages, ranked search, recall, reading; and the record API for the
versions. Whether the index follows, lags, repeats itself or is down, and whether the model of meaning answers, must
make no difference to what is found.

Steps are drawn by weight from one seeded generator. Hypothesis' own state machines leave out rules at random in each
run and like to repeat a choice: of 750 steps 12 were commits, and those changed two records in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from embedders import HashEmbedder
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from reference import MOST_CHANGES, OPEN_FOR, Attempt, Memory, Rec, Removing, Saving
from world import World, WorldTurn, one_machine

from agent_memory.domain.errors import Conflict, EmbedderUnavailable, NotFound
from agent_memory.domain.ports import Embedded
from agent_memory.domain.times import instant
from agent_memory.operations.index import index_commits
from agent_memory.operations.memories import list_memories, read_memory, versions
from agent_memory.operations.record_filters import Filters

SCOPES = ["session", "workflow", "user", "agent"]
CONFIGURATIONS = [  # what is read, what is written; versions 1, 2, 3 of the one agent
    (SCOPES, SCOPES),
    (["session", "user", "agent"], ["session", "workflow", "agent"]),
    (["session", "workflow", "agent"], ["user", "session"]),
]
QUERY = "memory"  # a word of every summary, so that each ranking finds all that is visible
TEXTS = ["memory of tea", "memory of rain"]  # few, so that equal records come up
STEPS = 50
ACTIONS = ["begin"] * 5 + ["add"] * 18 + ["delete"] * 5 + ["commit"] * 4 + ["roll_back", "retry"]
ACTIONS += ["index"] * 3 + ["go_down_and_up", "time_passes"]


class FaultyEmbedder(HashEmbedder):
    down = False

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        if self.down:
            raise EmbedderUnavailable("switched off")
        return super().embed(texts, query=query)


@pytest.mark.rule("TU-1", "TU-3", "TU-4", "TU-5", "TU-6", "TU-8", "SC-2", "RC-5", "TL-2", "RK-5")
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(random=st.randoms(use_true_random=True))
def test_turns_at_once_in_any_order_leave_what_the_rules_say(random: Random) -> None:
    embedder = FaultyEmbedder(dimensions=8)
    with TemporaryDirectory() as folder, one_machine(Path(folder), embedder) as world:
        run = Run(world, embedder, random)
        for _ in range(STEPS):
            run.step()
            run.check()


class Run:
    def __init__(self, world: World, embedder: FaultyEmbedder, random: Random) -> None:
        self.world, self.embedder, self.random, self.one_of = world, embedder, random, random.choice
        self.model = Memory()
        self.attempts: list[Attempt] = []
        self.newest: dict[str, Attempt] = {}  # by the id of attempt 1
        self.turns: dict[str, WorldTurn] = {}
        self.forgotten: list[str] = []  # records that were staged by turns which came to nothing
        self.agent: str | None = None
        for read, write in CONFIGURATIONS:
            memory = {"scope": {"read": read, "write": write}, "kinds": {"fact": {}, "rule": {"precedence": "broader"}}}
            memory |= {"search": {"min_score": -1, "max_results": 50}, "recall": {"max_tokens": 50_000}}
            self.agent = self.world.configure(agent=self.agent, memory=memory)

    def step(self) -> None:
        needs_turn = ("add", "delete", "commit", "roll_back")
        action = self.one_of(ACTIONS)
        if (action in needs_turn and not self.open) or (action == "retry" and not self.attempts):
            action = "begin"
        note(action)
        getattr(self, action)()

    @property
    def now(self) -> datetime:
        return self.world.clock.moment

    @property
    def open(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.is_open(self.now)]

    @property
    def ids(self) -> list[str]:
        """Of every record there is, was staged, or was forgotten; oldest first."""
        staged = [change.new.id for attempt in self.open for change in attempt.log if isinstance(change, Saving)]
        return sorted([*self.model.records, *staged, *self.forgotten])

    # -- turns

    def begin(self) -> None:
        if len(self.open) == 4:
            return self.commit()
        ids = {
            "session": self.one_of(["s"] * 6 + ["s#", "s%23"]),
            "workflow": self.one_of(["w", "w", "w", None]),
            "user": self.one_of(["é"] * 4 + ["e\u0301", None]),
        }
        version = self.one_of([1, 1, 1, 1, 2, 3])
        owners = {"workflow_id": ids["workflow"], "user_id": ids["user"]}
        turn = self.world.begin(self.agent, ids["session"], agent_version=version, **owners)
        return self._begun(turn, ids, version, turn.id)

    def retry(self) -> None:
        named, version = self.one_of(self.attempts), self.one_of([1, 2, 3])
        newest = self.newest[named.first]
        again = partial(self.world.begin, self.agent, None, retry_of=named.id, agent_version=version)
        if newest.status == "committed":
            with pytest.raises(Conflict, match="not retried"):
                again()
            return
        was_open = newest.is_open(self.now)
        turn = again()
        assert not was_open or self.turns[newest.id].state()["reason"] == "superseded"
        self._over(newest)
        self._begun(turn, named.ids, version, named.first)

    def _begun(self, turn: WorldTurn, ids: dict[str, str | None], version: int, first: str) -> None:
        read, write = CONFIGURATIONS[version - 1]
        attempt = Attempt(turn.id, ids, read, write, self.now + OPEN_FOR, first)
        self.attempts.append(attempt)
        self.turns[turn.id] = turn
        self.newest[first] = attempt

    def commit(self) -> None:
        attempt = self.one_of([attempt for attempt in self.open if attempt.log] or self.open)
        ended = self.turns[attempt.id].commit()
        expected = self.model.commit(attempt, self.now)
        touched = [expected.records[id] for id in expected.touched]
        assert [shown(m) for m in ended["memories"]] == [(r.id, len(r.history), r.status, r.replaces) for r in touched]
        assert [conflict(c) for c in ended["conflicts"]] == expected.conflicts
        assert self.turns[attempt.id].commit() == ended

    def roll_back(self) -> None:
        attempt = self.one_of(self.open)
        self.turns[attempt.id].roll_back()
        self._over(attempt)

    def _over(self, attempt: Attempt) -> None:
        self.forgotten += [change.new.id for change in attempt.log if isinstance(change, Saving)]
        attempt.status, attempt.log = "rolled_back", []

    # -- tools

    def add(self) -> None:
        attempt = self.one_of(self.open)
        scope, kind, text = (
            self.one_of([None] * 6 + SCOPES),
            self.one_of(["fact", "fact", "rule"]),
            self.one_of(TEXTS),
        )
        lives = self.one_of([None, None, None, 2, 8])
        named = list(dict.fromkeys(self._records(attempt, self.one_of([0, 1, 1, 2, 3]))))
        ends = (self.now + timedelta(hours=lives)).isoformat() if lives else None
        answer = self.turns[attempt.id].call(
            "add_memory", {"summary": text, "kind": kind, "scope": scope, "replaces": named, "expires_at": ends}
        )
        where = self._where(attempt, scope)
        if code := self._refusal(attempt, scope, where, named):
            assert answer["error"]["code"] == code
            return
        fields = (text, kind, ends)
        twins = set() if named else self.model.equals(attempt, where, fields, self.now)
        if not twins and attempt.changes + 1 + len(named) > MOST_CHANGES:
            assert answer["error"]["code"] == "turn_full"
            return
        saved = answer["output"]["memories"][0]
        assert answer["output"]["duplicate"] == bool(twins)
        assert not twins or saved["id"] in twins
        if not twins:
            new = Rec(saved["id"], where, kind, fields, instant(ends) if ends else None)
            attempt.log.append(Saving(new, named))

    def delete(self) -> None:
        attempt = self.one_of(self.open)
        some = self._records(attempt, 1)
        if not some:
            return self.add()
        id = some[0]
        before = self.model.readable(attempt, id, self.now)
        answer = self.turns[attempt.id].call("delete_memory", {"id": id})
        if code := self.model.refusal_of_delete(attempt, id, self.now):
            assert answer["error"]["code"] == code
            return None
        assert before is not None
        if before.status != "DELETED" and attempt.changes == MOST_CHANGES:
            assert answer["error"]["code"] == "turn_full"
            return None
        assert answer["output"]["memories"][0]["status"] == "DELETED"
        if before.status != "DELETED":
            attempt.log.append(Removing(id, before.status == "ACTIVE"))
        return None

    def _where(self, attempt: Attempt, scope: str | None) -> tuple[str, str | None]:
        chosen = scope or next(s for s in SCOPES if s in attempt.write)
        return chosen, attempt.owner(chosen)

    def _refusal(
        self, attempt: Attempt, scope: str | None, where: tuple[str, str | None], named: list[str]
    ) -> str | None:
        if scope not in (None, *attempt.write) or where[1] is None:
            return "scope_not_allowed"
        return self.model.refusal_of_add(attempt, where[0], named, self.now)

    def _records(self, attempt: Attempt, count: int) -> list[str]:
        """Nearly always such as the turn may change, and of those such as another open turn is changing too."""
        if self.ids and self.random.random() < 0.1:
            return self.random.choices(self.ids, k=count)
        seen = self.model.seen(attempt, self.now)
        may = sorted(id for id, record in seen.items() if record.where in attempt.reachable)
        wanted = {id for other in self.open if other is not attempt for change in other.log for id in change.targets}
        contested = sorted(wanted.intersection(may))
        return self.random.choices(self.one_of([contested, may]) or may, k=count) if may else []

    # -- what goes on meanwhile

    def index(self) -> None:
        """Some commits in any order, those that were indexed before among them."""
        commits = self.world.commits()
        if commits and not self.world.index.down:
            some = self.one_of([commits, self.random.choices(commits, k=4)])
            index_commits(self.world.services, some)

    def go_down_and_up(self) -> None:
        self.world.index.down, self.embedder.down = self.one_of([False, True]), self.one_of([False, True])
        if not self.world.index.down and not self.embedder.down:
            self.world.embed_waiting()

    def time_passes(self) -> None:
        self.world.clock.advance(hours=self.one_of([1, 2, 5]))
        for attempt in self.attempts:
            if attempt.status == "open" and not attempt.is_open(self.now):
                self._over(attempt)

    # -- what must be true after each step

    def check(self) -> None:
        for attempt in self.random.sample(self.open, min(1, len(self.open))):
            self.every_way_of_finding_shows_the_same(attempt)
            self.every_record_is_read_as_it_stands(attempt)
        self.the_record_api_tells_every_version()
        self.replaces_and_replaced_by_name_each_other()

    def every_way_of_finding_shows_the_same(self, attempt: Attempt) -> None:
        turn, seen = self.turns[attempt.id], self.model.seen(attempt, self.now)
        newest_first = sorted(seen, reverse=True)
        rules = [id for id in newest_first if seen[id].kind == "rule"]
        assert turn.search(limit=50) == pages(turn) == newest_first
        assert turn.search(kind="rule", limit=50) == rules
        assert sorted(turn.search(QUERY, limit=50), reverse=True) == newest_first
        assert sorted(turn.search(QUERY, kind="rule", limit=50), reverse=True) == rules
        assert sorted(turn.shown(QUERY)) == sorted(self.model.seen(attempt, self.now, staged=False))

    def every_record_is_read_as_it_stands(self, attempt: Attempt) -> None:
        turn, ids = self.turns[attempt.id], self.ids[-50:]
        readable = {id: r for id in ids if (r := self.model.readable(attempt, id, self.now))}
        active = [id for id, record in readable.items() if record.status == "ACTIVE"]
        assert not ids or [view["id"] for view in turn.tool("search_memory", {"ids": ids})["memories"]] == active
        for id in self.random.sample(ids, min(2, len(ids))):
            if record := readable.get(id):
                view = turn.read(id)
                assert shown(view) == (id, len(record.history), record.status, record.replaces)
                assert view["replaced_by"] == record.replaced_by
            else:
                assert turn.refused("read_memory", {"id": id})["code"] == "not_found"

    def the_record_api_tells_every_version(self) -> None:
        assert self.agent
        for id, expected in self.model.records.items():
            answer = versions(self.world.services, self.agent, id)["versions"]
            assert [(v["status"], v["replaced_by"]) for v in reversed(answer)] == expected.history
            assert {tuple(v["replaces"]) for v in answer} == {tuple(expected.replaces)}
        for id in set(self.ids) - set(self.model.records):
            with pytest.raises(NotFound):
                read_memory(self.world.services, self.agent, id)
        live = sorted((r.id for r in self.model.records.values() if r.is_active(self.now)), reverse=True)
        listed = list_memories(self.world.services, self.agent, Filters(), limit=200)["memories"]
        assert [record["id"] for record in listed] == live

    def replaces_and_replaced_by_name_each_other(self) -> None:
        records = self.model.records
        for record in records.values():
            assert all(records[id].replaced_by == record.id for id in record.replaces)
            assert record.replaced_by is None or record.id in records[record.replaced_by].replaces


def pages(turn: WorldTurn) -> list[str]:
    found: list[str] = []
    after: str | None = None
    while True:
        page = turn.tool("search_memory", {"limit": 2, "after": after})
        found += [view["id"] for view in page["memories"]]
        if (after := page["next"]) is None:
            return found


def shown(view: dict[str, Any]) -> tuple[Any, ...]:
    return view["id"], view["version"], view["status"], view["replaces"]


def conflict(told: dict[str, Any]) -> tuple[Any, ...]:
    current = told["current"]
    found = (current["id"], current["version"], current["status"]) if current else None
    return told["change"], told["id"], told["target"], told["outcome"], found

"""What must be true after each step: every way of finding shows a turn what the model sees for it, and the record API
tells each record, version and list as the model has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .door import Reply
from .persons import AGENT_MEMORIES, PLATFORM_MEMORIES
from .recalled import losers, pins
from .records import BREADTH, Attempt, Rec
from .run import AGENTS, Run, expect
from .turns import KEYS, QUERY, TURN, path_of

MOST = 50  # that a search returns


class Checks:
    def __init__(self, run: Run) -> None:
        self.run = run

    def check(self) -> None:
        run = self.run
        for attempt in run.random.sample(run.open, min(1, len(run.open))):
            one_of = run.one_of([self.lists, self.rankings, self.recall, self.recall])
            one_of(attempt)
            self.reads(attempt)
        self.versions()
        if run.chance(0.6):
            self.lists_of_records(run.one_of(AGENTS))
        if run.chance(0.3):
            self.list_of_platform()

    # -- a turn

    def lists(self, attempt: Attempt) -> None:
        seen = self.run.memory.seen(attempt, self.run.now)
        kind = self.run.one_of([None, "rule", "fact"])
        expected = sorted((id for id, r in seen.items() if kind in (None, r.said.kind)), reverse=True)
        limit = self.run.one_of([3, 7, MOST])
        found, after = [], None
        while True:
            page = self._output(attempt, "search_memory", {"limit": limit, "after": after, "kind": kind})
            found += [view["id"] for view in page["memories"]]
            if (after := page["next"]) is None:
                break
        self._same(found, expected, f"the list of kind {kind} in {self.run.name(attempt.id)}")

    def rankings(self, attempt: Attempt) -> None:
        seen = self.run.memory.seen(attempt, self.run.now)
        output = self._output(attempt, "search_memory", {"query": QUERY, "limit": MOST})
        found = [view["id"] for view in output["memories"]]
        self._some(found, set(seen), MOST, f"a search in {self.run.name(attempt.id)}")

    def recall(self, attempt: Attempt) -> None:
        run = self.run
        reply = run.ask(f"{TURN}/recall", {"query": QUERY}, **path_of(attempt))
        assert reply.status == 200, f"a recall is answered {reply.status} {reply.code}"
        told, of = reply.body, f"in a recall of {run.name(attempt.id)}"
        seen, is_broader = run.memory.seen(attempt, run.now, staged=False), attempt.config.is_broader
        lost = losers(seen.values(), is_broader)
        apply = {id: record for id, record in seen.items() if id not in lost}
        broader = {id for id, record in apply.items() if is_broader(record)}
        self._some([item["id"] for item in told["memories"]], set(apply) - broader, MOST, f"memories {of}")
        constraints = [item["id"] for item in told["constraints"]]
        self._same(sorted(constraints), sorted(broader), f"constraints {of}")
        breadths = [BREADTH[apply[id].where.scope] for id in constraints]
        expect(breadths, sorted(breadths, reverse=True), f"breadth of the constraints {of}")
        overridden = {(it["id"], it["by"], it["memory_key"]) for it in told["overridden"]}
        expect(overridden, {(id, by, seen[id].said.key) for id, by in lost.items()}, f"overridden {of}")
        self._pins(told, list(apply.values()), attempt, of)

    def _pins(self, told: dict[str, Any], apply: list[Rec], attempt: Attempt, of: str) -> None:
        listed = pins(apply, attempt.config.pins)
        self._same([pin["id"] for pin in told["pinned"]], listed.listed, f"pins {of}")
        self._same(told["pinned_omitted"], listed.omitted, f"omitted pins {of}")
        expect(told["pinned_tokens"], listed.tokens, f"tokens of the pins {of}")

    def reads(self, attempt: Attempt) -> None:
        run = self.run
        ids = run.random.sample(run.ids, min(20, len(run.ids)))
        readable = {id: record for id in ids if (record := run.memory.readable(attempt, id, run.now))}
        active = [id for id in ids if id in readable and readable[id].status == "ACTIVE"]
        if ids and run.chance(0.3):
            output = self._output(attempt, "search_memory", {"ids": ids})
            of = f"{run.name_all(ids)} read by ids in {run.name(attempt.id)}"
            self._same([view["id"] for view in output["memories"]], active, of)
        for id in ids[:1]:
            self._read(attempt, id, readable.get(id))

    def _read(self, attempt: Attempt, id: str, record: Rec | None) -> None:
        what = f"{self.run.name(id)} read in {self.run.name(attempt.id)}"
        reply = self._tool(attempt, "read_memory", {"id": id})
        if record is None:
            return expect(reply.code, "not_found", what)
        assert reply.code is None, f"{what}: refused with {reply.code}, the rules say {record}"
        view = reply.body["output"]["sources"][0]
        return _check_record(view, record, what)

    def _output(self, attempt: Attempt, tool: str, input: dict[str, Any]) -> dict[str, Any]:
        reply = self._tool(attempt, tool, input)
        assert reply.code is None, f"{tool} is refused: {reply.body}"
        output: dict[str, Any] = reply.body["output"]
        return output

    def _tool(self, attempt: Attempt, tool: str, input: dict[str, Any]) -> Reply:
        return self.run.ask(f"{TURN}/tools/{{tool}}", {"input": input}, tool=tool, **path_of(attempt))

    # -- the record API

    def versions(self) -> None:
        """Of what has changed, and of a few others."""
        run = self.run
        some = run.random.sample(sorted(run.memory.records), min(1, len(run.memory.records)))
        for id in sorted({*run.changed, *some}):
            record = run.memory.records[id]
            resource, path = _place(record)
            told = run.door.get(f"{resource}/{{id}}/versions", query={"limit": 200}, id=id, **path).body["versions"]
            history = [(version["status"], version["replaced_by"]) for version in reversed(told)]
            expect(history, record.history, f"versions of {run.name(id)}")
            _check_record(told[0], record, run.name(id))
        run.changed.clear()
        for id in run.random.sample(run.ids, min(1, len(run.ids))):
            if id not in run.memory.records:
                reply = run.door.get(f"{AGENT_MEMORIES}/{{id}}", id=id, agent=run.one_of(AGENTS))
                expect(reply.status, 404, f"reading {run.name(id)}, which was never committed")

    def lists_of_records(self, agent: str) -> None:
        """By default and by a filter."""
        name, query, holds = self.run.one_of(self._filters())
        all = self.run.records_where(lambda record: record.where.agent == agent and not record.is_over(self.run.now))
        expected = sorted((record.id for record in all if holds(record)), reverse=True)
        self._list(AGENT_MEMORIES, {"agent": agent}, query, expected, f"records of {agent}, {name}")

    def list_of_platform(self) -> None:
        name, query, holds = self.run.one_of(self._filters())
        own = self.run.records_where(lambda record: record.where.agent is None)
        expected = sorted((r.id for r in own if not r.is_over(self.run.now) and holds(r)), reverse=True)
        self._list(PLATFORM_MEMORIES, {}, query, expected, f"records of the platform, {name}")

    def _filters(self) -> list[tuple[str, dict[str, Any], Callable[[Rec], bool]]]:
        key, status = self.run.one_of(KEYS[4:]), self.run.one_of(["SUPERSEDED", "DELETED", "PENDING", "REJECTED"])
        return [
            ("by default", {}, _is_listed),
            ("of every status", {"status": "all"}, lambda record: True),
            (status, {"status": status}, lambda record: record.status == status),
            (f"with key {key}", {"memory_key": key}, lambda r: _is_listed(r) and r.said.key == key),
            ("pinned", {"pinned": "true"}, lambda record: _is_listed(record) and record.said.pinned),
            ("preview", {"preview": "true"}, lambda record: _is_listed(record) and record.where.preview),
            ("live", {"preview": "false"}, lambda record: _is_listed(record) and not record.where.preview),
        ]

    def _list(self, resource: str, path: dict[str, str], query: dict[str, Any], expected: list[str], of: str) -> None:
        limit = self.run.one_of([5, 200])
        found: list[str] = []
        after: dict[str, str] = {}
        while True:
            reply = self.run.door.get(resource, query={**query, "limit": limit, **after}, **path)
            assert reply.status == 200, f"{of}: answered {reply.status} {reply.code}"
            found += [record["id"] for record in reply.body["memories"]]
            if reply.body["next"] is None:
                break
            after = {"after": reply.body["next"]}
        self._same(found, expected, of)

    def _same(self, found: list[str], expected: list[str], what: str) -> None:
        expect(self.run.name_all(found), self.run.name_all(expected), what)

    def _some(self, found: list[str], expected: set[str], most: int, what: str) -> None:
        """All of them, in any order; where there are more than fit, so many of them."""
        if len(expected) <= most:
            return self._same(sorted(found), sorted(expected), what)
        assert set(found) <= expected, f"{what}: {self.run.name_all(set(found) - expected)} too many"
        return expect(len(found), most, f"{what}: how many")


def _is_listed(record: Rec) -> bool:
    return record.status == "ACTIVE" or (record.removes and record.status == "DELETED")


def _check_record(told: dict[str, Any], record: Rec, what: str) -> None:
    shown = (told["id"], told["version"], told["status"], told["replaced_by"], sorted(told["replaces"]))
    mine = (record.id, record.version, record.status, record.replaced_by, sorted(record.replaces))
    expect(shown, mine, what)
    said = (told["kind"], told["scope"], told["memory_key"], told["pinned"], told["preview"], told["summary"])
    mine_said = (record.said.kind, record.where.scope, record.said.key, record.said.pinned, record.where.preview)
    expect(said, (*mine_said, record.said.summary), what)


def _place(record: Rec) -> tuple[str, dict[str, str]]:
    return (AGENT_MEMORIES, {"agent": record.where.agent}) if record.where.agent else (PLATFORM_MEMORIES, {})

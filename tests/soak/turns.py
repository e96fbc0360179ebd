"""Steps of turns: begin, try again, save, delete, commit, roll back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .door import Reply
from .records import BREADTH, OPEN_FOR, SCOPES, Attempt, Rec, Removing, Said, Saving, Where
from .run import AGENTS, Run, expect
from .staged import Conflict, Played

QUERY = "memory"  # a word of every summary, so that each ranking finds all that is visible
SUMMARIES = ("memory of tea", "memory of rain")  # few, so that equal records come up
KINDS = ("fact", "rule", "constraint")
KEYS = (None, None, None, None, "tone", "tone", "place")
TURN = "agents/{agent}/turns/{turn}"
MOST_OPEN = 4
OFTEN_PREVIEW = 0.3


class Turns:
    def __init__(self, run: Run) -> None:
        self.run = run

    # -- begin, try again

    def begin(self) -> None:
        run = self.run
        if len(run.open) >= MOST_OPEN:
            return self.commit()
        ids = {
            "session": run.one_of(["s"] * 10 + ["s#", "s%23"]),
            "workflow": run.one_of(["w"] * 5 + [None]),
            "user": run.one_of(["é"] * 8 + ["e\u0301", None]),
        }
        agent, preview = run.one_of([AGENTS[0]] * 3 + [AGENTS[1]]), run.chance(OFTEN_PREVIEW)
        version = run.one_of(range(len(run.configs[agent]))) + 1
        body = {f"{name}_id": id for name, id in ids.items()} | {"agent_version": version, "preview": preview}
        said = self._said_something()
        made = _done(run.post("agents/{agent}/turns", {**body, "messages": _messages(said)}, agent=agent), 201)
        return self._begun(made, agent, ids, preview, version, made["turn_id"], said)

    def retry(self) -> None:
        """Of any attempt, over or not; the newest decides."""
        run = self.run
        if not run.attempts:
            return self.begin()
        named = run.one_of(run.attempts)
        newest, was_open = run.newest[named.first], run.newest[named.first].is_open(run.now)
        version = run.one_of(range(len(run.configs[named.agent]))) + 1
        body = {"retry_of": named.id, "agent_version": version}
        reply = run.post("agents/{agent}/turns", body, agent=named.agent)
        if newest.status in ("ending", "committed"):
            expect((reply.status, reply.code), (409, "not_retryable"), f"a retry of a turn that is {newest.status}")
            return run.say(f"retry {run.name(named.id)}: refused")
        made = _done(reply, 201)
        if was_open:
            expect(self.state(newest)["reason"], "superseded", "the attempt that was open")
        self._over(newest)
        return self._begun(made, named.agent, dict(named.ids), named.preview, version, named.first)

    def _begun(
        self,
        made: dict[str, Any],
        agent: str,
        ids: dict[str, str | None],
        preview: bool,
        version: int,
        first: str,
        said: Sequence[str] = (),
    ) -> None:
        run, config = self.run, self.run.configs[agent][version - 1]
        expect(made["preview"], preview, "whether the turn is preview")
        ending = [one.id for one in run.ending if (one.agent, one.ids["session"]) == (agent, ids["session"])]
        expect(run.name_all(made["still_ending"]), run.name_all(ending), "turns of the session that are still ending")
        attempt = Attempt(made["turn_id"], agent, ids, preview, config, run.now + OPEN_FOR, first, heard=[*said])
        run.attempts.append(attempt)
        run.newest[first] = attempt
        run.say(f"begin {run.name(attempt.id)} {agent} v{version}{' preview' * preview} {ids}")

    # -- tools

    def add(self) -> None:
        run = self.run
        if not run.open:
            return self.begin()
        attempt = run.one_of(run.open)
        crowds = run.crowded and run.chance(0.3)
        chosen = run.one_of([None, "agent", *attempt.config.write] if run.chance(0.95) else SCOPES)
        chosen = "agent" if crowds else chosen
        scope = chosen or next(scope for scope in SCOPES if scope in attempt.config.write)
        pins = 0.3 if attempt.config.pins or run.chance(0.1) else 0
        said = self.said(["constraint"] if crowds else list(attempt.config.kinds), pins=pins)
        named = self._records(attempt, run.one_of([0, 0, 1, 1, 2, 3]), most=scope)
        reply = self.tool(attempt, "add_memory", input_of(said, scope=chosen, replaces=named))
        run.say(f"add to {run.name(attempt.id)}: {scope} {_told(said)} replaces {run.name_all(named)}: {reply.code}")
        refused = run.memory.refusals_of_add(attempt, scope, said, named, run.now)
        assert refused.allows(reply.code), f"add was answered {reply.code}, the rules say {refused}"
        where = attempt.where(scope)
        if reply.code or where is None:
            return None
        return self._staged(attempt, where, said, named, reply.body["output"])

    def _staged(self, attempt: Attempt, where: Where, said: Said, named: list[str], output: dict[str, Any]) -> None:
        run = self.run
        id, twins = output["memories"][0]["id"], set() if named else run.memory.twins(attempt, where, said, run.now)
        expect(output["duplicate"], bool(twins), f"whether {run.name(id)} is a duplicate")
        if twins:
            run.counts["duplicates"] += 1
            assert id in twins, f"{run.name(id)} is no record that says the same: {run.name_all(twins)}"
            return run.say(f"  duplicate of {run.name(id)}")
        view = run.memory.view(attempt, run.now)
        holder, live_holder = (
            view.holder(where, said.key),
            view.live_holder(where, said.key, run.memory.covers_of(attempt)),
        )
        cost = run.memory.cost(attempt, where, said, named, run.now)
        new = Rec(id, where, said, attempt.config.ends(where, said.expires_at, run.now))
        ids = (holder.id if holder else None, live_holder.id if live_holder else None)
        attempt.log.append(Saving(new, named, *ids, cost))
        return run.say(f"  staged {run.name(id)}")

    def delete(self) -> None:
        run = self.run
        attempt = run.one_of(run.open) if run.open else None
        some = self._records(attempt, 1) if attempt else []
        if attempt is None or not some:
            return self.add()
        id, before = some[0], run.memory.readable(attempt, some[0], run.now)
        reply = self.tool(attempt, "delete_memory", {"id": id})
        run.say(f"delete {run.name(id)} in {run.name(attempt.id)}: {reply.code}")
        deletion = None if before else run.memory.deletion_of(attempt, id, run.now)
        if deletion:
            expect(_first(reply)["id"], deletion, "the preview deletion")
            return None
        refused = run.memory.refusals_of_delete(attempt, id, run.now)
        assert refused.allows(reply.code), f"delete was answered {reply.code}, the rules say {refused}"
        return None if reply.code or before is None else self._removed(attempt, before, _first(reply))

    def _removed(self, attempt: Attempt, before: Rec, view: dict[str, Any]) -> None:
        run, instead = self.run, None
        expect(view["status"], "DELETED", "what was deleted")
        if before.status == "DELETED":
            return
        if attempt.preview and not before.where.preview:
            where = before.where._replace(preview=True)
            said = Said(before.said.summary, before.said.kind)
            instead = Rec(view["id"], where, said, attempt.config.ends_deletion(run.now), removes=True)
            run.say(f"  by the preview deletion {run.name(view['id'])}")
        else:
            expect(view["id"], before.id, "what was deleted")
        attempt.log.append(Removing(before.id, before.status == "ACTIVE", instead))

    def tool(self, attempt: Attempt, tool: str, input: dict[str, Any], *, status: int = 200) -> Reply:
        reply = self.run.post(f"{TURN}/tools/{{tool}}", {"input": input}, tool=tool, **path_of(attempt))
        _done(reply, status)
        self.run.counts[f"{tool}: {reply.code or 'done'}{' in preview' * attempt.preview}"] += 1
        return reply

    def said(self, kinds: Sequence[str], *, pins: float) -> Said:
        """Nearly always of one of the kinds."""
        run = self.run
        kind = run.one_of(kinds if run.chance(0.95) else KINDS)
        lives = run.one_of([None] * 5 + [2, 8])
        expires_at = (run.now + timedelta(hours=lives)).isoformat() if lives else None
        priority = run.one_of([50] * 5 + [90])
        return Said(run.one_of(SUMMARIES), kind, run.one_of(KEYS), run.chance(pins), priority, expires_at)

    def _records(self, attempt: Attempt, count: int, most: str = "agent") -> list[str]:
        """Nearly always such as the turn may change, in a scope that is no broader than `most`, and of those such as
        another open turn is changing too."""
        run = self.run
        if run.ids and run.chance(0.08):
            return list(dict.fromkeys(run.random.choices(run.ids, k=count)))
        seen = run.memory.seen(attempt, run.now)
        narrow = {id: record for id, record in seen.items() if BREADTH[record.where.scope] <= BREADTH[most]}
        may = sorted(id for id, record in narrow.items() if attempt.writes(record))
        contested = sorted(run.wanted(attempt).intersection(may))
        chosen = run.random.choices((contested if run.chance(0.6) else may) or may, k=count) if may else []
        return list(dict.fromkeys(chosen))

    # -- ends

    def commit(self) -> None:
        run = self.run
        if not run.open:
            return self.begin()
        busy = [attempt for attempt in run.open if len(attempt.log) > 1]
        if not busy and run.chance(0.8):
            return self.add()
        attempt = run.one_of(busy or run.open)
        said = self._said_something()
        attempt.heard += said
        ended = self._end(attempt, "completed", said)
        review = run.unread.claim(attempt)
        expect(ended["status"], "ending" if review == "done" else "committed", "the turn")
        expect(self._end(attempt, "completed", ["Not taken."]), ended, "an end that is told twice")
        if review != "done":
            return self._committed(attempt, ended, review)
        attempt.status = "ending"
        run.counts["turns that end first"] += 1
        run.say(f"end {run.name(attempt.id)}")
        return self.settle() if run.chance(0.5) else None

    def settle(self) -> None:
        """One of the turns that are ending is reviewed, and commits."""
        run = self.run
        listed = [turn for _, turn in run.stage.services.turns.all_ending()]
        expect(run.name_all(listed), run.name_all(attempt.id for attempt in run.ending), "turns that are ending")
        if not run.ending:
            return self.commit()
        attempt = run.one_of(run.ending)
        refused = self.tool(attempt, "search_memory", {}, status=409)
        expect(refused.code, "turn_not_open", "a call of a turn that is ending")
        run.carry_out(attempt.agent, attempt.id)
        shown, run.stage.shown[:] = [*run.stage.shown], []
        assert shown, "its review was shown nothing"
        # What turns for different users and workflows said is read apart; a fault may have it asked again.
        read = [text for window in dict.fromkeys(map(tuple, shown)) for text in window]
        assert read == attempt.read, f"a review was shown {shown}, the rules say {attempt.read}"
        return self._committed(attempt, self.state(attempt), "done")

    def _committed(self, attempt: Attempt, ended: dict[str, Any], review: str) -> None:
        run = self.run
        unpinned = {told["id"] for told in ended["conflicts"] if told["change"] == "pin"}
        expect(unpinned, run.memory.unpinned(attempt, run.now), "pins without room")
        played = run.memory.commit(attempt, run.now, unpinned)
        run.say(f"commit {run.name(attempt.id)}: {[(c[0], run.name(c[1]), c[3]) for c in played.conflicts]}")
        self._check_commit(ended, played)
        expect(ended["review"]["status"], review, "the review")
        self._count(played, len(unpinned))

    def _check_commit(self, ended: dict[str, Any], played: Played) -> None:
        run = self.run
        expect(ended["status"], "committed", "the turn")
        conflicts = [_conflict(told) for told in ended["conflicts"] if told["change"] != "pin"]
        if played.dropped:  # what else names a save that did not happen, no rule says
            saves = [conflict for conflict in conflicts if conflict[0] == "save"]
            expect(saves, [c for c in played.conflicts if c[0] == "save"], "saves that did not happen")
        else:
            expect(conflicts, played.conflicts, "conflicts")
        touched = [played.board.records[id] for id in played.touched]
        told = [(m["id"], m["version"], m["status"], sorted(m["replaces"])) for m in ended["memories"]]
        expect(told, [(r.id, r.version, r.status, sorted(r.replaces)) for r in touched], "memories of the turn")
        run.changed |= {
            id for id, r in played.board.records.items() if id not in played.before.records
            or played.before.records[id].version != r.version
        }  # fmt: skip

    def _count(self, played: Played, unpinned: int) -> None:
        counts = self.run.counts
        counts["commits"] += 1
        counts["changes committed"] += len(played.touched)
        counts["conflict pin unpinned"] += unpinned
        for change, _, _, outcome, _ in played.conflicts:
            counts[f"conflict {change} {outcome}{' in preview' * played.attempt.preview}"] += 1

    def roll_back(self) -> None:
        run = self.run
        if not run.open:
            return self.begin()
        attempt = run.one_of(run.open)
        expect(self._end(attempt, "failed")["status"], "rolled_back", "the turn")
        run.say(f"roll back {run.name(attempt.id)}")
        return self._over(attempt)

    def _end(self, attempt: Attempt, outcome: str, said: Sequence[str] = ()) -> dict[str, Any]:
        body = {"outcome": outcome, "messages": _messages(said)}
        reply = self.run.post(f"{TURN}/end", body, **path_of(attempt))
        return _done(reply, 202 if reply.body.get("status") == "ending" else 200)

    def _said_something(self) -> list[str]:
        """Or nothing; never the same twice."""
        said = [f"Message {self.run.counts['messages'] + 1}."] if self.run.chance(0.4) else []
        self.run.counts["messages"] += len(said)
        return said

    def _over(self, attempt: Attempt) -> None:
        """It left nothing."""
        self.run.forgotten += [new.id for new in attempt.saved()]
        self.run.forgotten += [c.instead.id for c in attempt.log if isinstance(c, Removing) and c.instead]
        attempt.status, attempt.log = "rolled_back", []

    def time_out(self) -> None:
        for attempt in self.run.attempts:
            if attempt.status == "open" and not attempt.is_open(self.run.now):
                self._over(attempt)

    def state(self, attempt: Attempt) -> dict[str, Any]:
        return _done(self.run.door.get(TURN, **path_of(attempt)), 200)


def path_of(attempt: Attempt) -> dict[str, str]:
    return {"agent": attempt.agent, "turn": attempt.id}


def input_of(said: Said, **more: Any) -> dict[str, Any]:
    """Arguments of a save; what stays at its default is not sent."""
    given = {
        "summary": said.summary,
        "kind": said.kind,
        "memory_key": said.key,
        "pinned": said.pinned or None,
        "priority": said.priority if said.priority != 50 else None,
        "expires_at": said.expires_at,
    }
    return {name: value for name, value in (given | more).items() if value not in (None, [])}


def _messages(said: Sequence[str]) -> list[dict[str, str]]:
    return [{"role": "user", "text": text} for text in said]


def _told(said: Said) -> str:
    marks = [f"key {said.key}" if said.key else "", "pinned" if said.pinned else "", "ends" if said.expires_at else ""]
    return " ".join([said.kind, repr(said.summary[10:]), str(said.priority), *filter(None, marks)])


def _done(reply: Reply, status: int) -> dict[str, Any]:
    assert reply.status == status, f"answered {reply.status} {reply.code} instead of {status}: {reply.body}"
    return reply.body


def _first(reply: Reply) -> dict[str, Any]:
    assert "output" in reply.body, f"refused: {reply.code}"
    view: dict[str, Any] = reply.body["output"]["memories"][0]
    return view


def _conflict(told: dict[str, Any]) -> Conflict:
    current = told["current"]
    found = (current["id"], current["version"], current["status"]) if current else None
    return told["change"], told["id"], told["target"], told["outcome"], found

"""Steps of people: write, delete and restore records, write platform records, approve or reject what tools proposed."""

from __future__ import annotations

from typing import Any

from . import people
from .records import PLATFORM_KINDS, Config, Rec, Said, Where
from .run import AGENTS, Run, expect
from .turns import Turns, input_of

AGENT_MEMORIES, PLATFORM_MEMORIES = "agents/{agent}/memories", "platform/memories"


class People:
    def __init__(self, run: Run, turns: Turns) -> None:
        self.run, self.turns = run, turns

    # -- write

    def post(self) -> None:
        """In a scope of one of the agent's owners, replacing what lies in that owner's reach."""
        run = self.run
        agent = run.one_of([AGENTS[0]] * 3 + [AGENTS[1]])
        ids = {"session": run.one_of(["s", "s", "s#"]), "workflow": "w", "user": run.one_of(["é", "e\u0301"])}
        scope = run.one_of(["session", "workflow", "user", "agent", "agent"])
        where = Where(agent, scope, ids.get(scope, ""))
        near = {Where(agent, name, id) for name, id in ids.items()} | {Where(agent, "agent", "")}
        config = run.configs[agent][-1]
        given = {"scope": scope} | ({f"{scope}_id": ids[scope]} if scope in ids else {})
        self._post(AGENT_MEMORIES, {"agent": agent}, where, near, config, given)

    def write_constraints(self, agent: str, count: int) -> None:
        """At agent scope, none equal to another or to what turns save."""
        for priority in range(count):
            said = Said("memory of a house rule", "constraint", priority=priority)
            new = Rec("", Where(agent, "agent", ""), said, None)
            reply = self.run.door.post(AGENT_MEMORIES, input_of(said, scope="agent"), agent=agent)
            expect(reply.status, 201, "a constraint written by a person")
            self._posted(new, [], reply.body)

    def post_platform(self) -> None:
        where = Where(None, "platform", "")
        self._post(PLATFORM_MEMORIES, {}, where, {where}, people.PLATFORM, {"scope": "platform"})

    def _post(
        self, resource: str, path: dict[str, str], where: Where, near: set[Where], config: Config, given: dict[str, Any]
    ) -> None:
        run = self.run
        said = self.turns.said(["fact", "constraint"], pins=0.1 if config.pins else 0)
        if where.scope == "platform" and said.kind not in PLATFORM_KINDS:
            said = said._replace(kind="fact")
        some = [r.id for r in run.records_where(lambda r: r.where in near and r.is_active(run.now))]
        some = sorted(run.wanted().intersection(some)) or some
        named = run.random.sample(some, min(len(some), run.one_of([0, 0, 1, 1, 2])))
        if run.ids and run.chance(0.1):
            named = [run.one_of(run.ids)]
        new = Rec("", where, said, config.ends(where, said.expires_at, run.now))
        refused = people.refusals_of_post(run.memory, config, new, named, run.now)
        reply = run.post(resource, input_of(said, replaces=named, **given), **path)
        run.say(f"a person writes {where} {said} replaces {run.name_all(named)}: {reply.code}")
        assert refused.allows(reply.code), f"answered {reply.status} {reply.code}, the rules say {refused}"
        if reply.code is None:
            self._posted(new, named, reply.body)

    def _posted(self, new: Rec, named: list[str], record: dict[str, Any]) -> None:
        run = self.run
        new.id = record["id"]
        if new.id in run.memory.records:  # equal to one that is there: whether that is told or saved, no rule says
            twins = set() if named else run.memory.board(run.now).equal(new.where, new.said)
            assert new.id in twins, f"answered {run.name(new.id)}, which does not say the same"
            return
        run.say(f"  {run.name(new.id)}")
        people.post(run.memory, new, named, run.now)
        expect(sorted(record["replaces"]), sorted(new.replaces), "what it replaces")
        run.changed |= {new.id, *new.replaces}

    # -- delete, restore

    def delete(self) -> None:
        run = self.run
        if not run.ids:
            return self.post()
        wanted = sorted(run.wanted().intersection(run.memory.records))
        id, agent = run.one_of(wanted if wanted and run.chance(0.6) else run.ids), run.one_of([*AGENTS, None])
        record = run.memory.records.get(id)
        if record and run.chance(0.9):
            agent = record.where.agent
        wrong = run.chance(0.15)
        version = (record.version if record else 1) + wrong
        headers = run.one_of([{}, {"If-Match": f'"{version}"'}] if not wrong else [{"If-Match": f'"{version}"'}])
        reply = run.delete(f"{_memories(agent)}/{{id}}", headers=headers, id=id, **_path(agent))
        run.say(f"a person deletes {run.name(id)} of {agent}{' at a wrong version' * wrong}: {reply.code}")
        if record is None or record.where.agent != agent:
            return expect(reply.status, 404, f"deleting {run.name(id)} of {agent}")
        was_deleted = record.status == "DELETED"
        if reply.status == 412 and ((headers and was_deleted) or wrong or (headers and reply.tries > 1)):
            return self._check_refusal_of_version(record, reply.tries)
        assert not wrong or was_deleted, "deleted although the version was another"
        run.memory.board(run.now).delete(id)
        run.changed.add(id)
        return self._check_answer(record, reply.status, reply.body, 200)

    def _check_refusal_of_version(self, record: Rec, tries: int) -> None:
        """Sent again after a lost answer, a delete may meet its own version."""
        if tries > 1 and record.status != "DELETED":
            told = self._read(record)
            if told["status"] == "DELETED":
                record.become("DELETED", record.replaced_by)
        self.run.changed.add(record.id)

    def restore(self) -> None:
        run = self.run
        some = run.records_where(lambda r: r.status in ("SUPERSEDED", "DELETED")) or run.records_where(lambda r: True)
        some = [record for record in some if record.where.agent]
        if not some:
            return self.post()
        record = run.one_of(some)
        assert record.where.agent
        is_broader = run.configs[record.where.agent][-1].is_broader
        refused = people.refusals_of_restore(run.memory, record, is_broader, run.now)
        headers = {"If-Match": f'"{record.version}"'} if run.chance(0.5) else {}
        path = {"agent": record.where.agent, "id": record.id}
        reply = run.post(f"{AGENT_MEMORIES}/{{id}}/restore", headers=headers, **path)
        run.say(f"a person restores {run.name(record.id)}: {reply.code}")
        assert refused.allows(reply.code), f"answered {reply.status} {reply.code}, the rules say {refused}"
        if reply.code is not None:
            return None
        end = run.memory.board(run.now).chain_end(record)
        run.memory.board(run.now).restore(record.id)
        record.removes = False
        run.changed |= {record.id, *([end.id] if end else [])}
        return self._check_answer(record, reply.status, reply.body, 200)

    # -- approve, reject

    def judge(self) -> None:
        run = self.run
        platform = run.records_where(lambda r: r.where.agent is None and not r.where.preview)
        pending = [record for record in platform if record.status == "PENDING"]
        some = pending if pending and run.chance(0.9) else platform
        if not some:
            return self.post_platform()
        record, decision = run.one_of(some), run.one_of(["approve", "approve", "reject"])
        refused = people.refusals_of_approval(run.memory, record, run.now)
        if decision == "reject" and record.status == "PENDING":
            refused.must.clear()
        headers = {"If-Match": f'"{record.version}"'}
        resource = f"{PLATFORM_MEMORIES}/{{id}}/approval"
        reply = run.post(resource, {"decision": decision}, headers=headers, id=record.id)
        run.say(f"a person says {decision} to {run.name(record.id)}: {reply.code}")
        assert refused.allows(reply.code), f"answered {reply.status} {reply.code}, the rules say {refused}"
        if reply.code is not None:
            return None
        if decision == "approve":
            people.approve(run.memory, record, run.now)
        else:
            record.become("REJECTED", None)
        run.changed |= {record.id, *record.replaces}
        run.counts[f"{decision}d" if decision == "approve" else "rejected"] += 1
        return self._check_answer(record, reply.status, reply.body, 200)

    def _check_answer(self, record: Rec, status: int, told: dict[str, Any], expected: int) -> None:
        answer = (status, told.get("id"), told.get("version"), told.get("status"), told.get("replaced_by"))
        mine = (expected, record.id, record.version, record.status, record.replaced_by)
        expect(answer, mine, f"the answer about {self.run.name(record.id)}")

    def _read(self, record: Rec) -> dict[str, Any]:
        agent = record.where.agent
        return self.run.door.get(f"{_memories(agent)}/{{id}}", id=record.id, **_path(agent)).body


def _memories(agent: str | None) -> str:
    return PLATFORM_MEMORIES if agent is None else AGENT_MEMORIES


def _path(agent: str | None) -> dict[str, str]:
    return {} if agent is None else {"agent": agent}

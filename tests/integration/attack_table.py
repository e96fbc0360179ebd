"""Every route that takes an id: how its owner calls it, so that an attack differs from an honest call in one thing.

A new route gets a line in `CALLS`; a test fails until it has one. The attacks are in `test_attacks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from http_api import EVERY_SCOPE, Api, ok

from agent_memory.domain.ports import Said

SECRET = "Quarzsand"  # stands in every text of a victim, and in no answer to anyone else
PLATFORM = "/v1/platform/memories"
LABELS = {"room": {"number": 5, "description": "The room."}}


@dataclass
class Victim:
    """An agent with one of everything that has an id."""

    api: Api
    agent: str
    record: str  # active, at agent scope
    replaced: str  # superseded by `record`
    deleted: str
    preview: str
    staged: str  # by `turn`
    turn: str  # open
    committed: str  # its review has failed (`Unreadable`)
    execution: str  # of `committed`
    platform: str
    pending: str
    said: str  # by the user, in `committed`: an event of the session's history

    @property
    def records(self) -> list[str]:
        """Of the agent's own, committed."""
        return [self.record, self.replaced, self.deleted, self.preview]

    @property
    def ids(self) -> dict[str, str]:
        return {name: value for name, value in vars(self).items() if isinstance(value, str)}


PARTS = {
    "R": ({"grant": "RUN"},),
    "S": ({"grant": "SELECT", "on": "document"}, {"grant": "SELECT", "on": "indexes"}),
    "U": ({"grant": "UPDATE", "on": "document"},),
    "I": ({"grant": "INSERT", "on": "document"},),
    "A": ({"grant": "APPROVE"},),
    "C": ({"grant": "CONFIGURE"},),
    "O": ({"grant": "OPERATE"},),
}


@dataclass(frozen=True)
class Call:
    """How an owner calls a route. grants: what opens it, each alone: letters as in `PARTS`, all of them needed. id: the
    name of the victim's that stands for {id}; turn: for {turn}."""

    grants: tuple[str, ...]
    id: str = "record"
    turn: str = "turn"
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    success: int = 200

    def path(self, victim: Victim) -> dict[str, str]:
        return {"agent": victim.agent, "turn": victim.ids[self.turn], "id": victim.ids[self.id], "n": "1"} | {
            "tool": "search_memory"
        }


class Unreadable:
    """A reviewer that nobody understands: reviews of victims fail, so that there is one to do again."""

    kind = model = "unreadable"

    def propose(self, asked: Any, correction: Any = None) -> Said:
        return Said("?", 1, 1)

    decide = propose


_SAID = {"messages": [{"role": "user", "text": "Hello."}]}
_NEW = {"summary": f"{SECRET} is written by a person.", "kind": "fact"}

_AGENT, _TURN = "/v1/agents/{agent}", "/v1/agents/{agent}/turns/{turn}"
_MEMORIES = f"{_AGENT}/memories"

CALLS: dict[tuple[str, str], Call] = {
    ("PUT", f"{_AGENT}/config"): Call(("C",), body={"memory": {"labels": LABELS}}, headers={"If-Match": '"1"'}),
    ("GET", f"{_AGENT}/config"): Call(("C", "R", "S")),
    ("GET", f"{_AGENT}/config/versions"): Call(("C", "S")),
    ("GET", f"{_AGENT}/tools"): Call(("R",)),
    ("POST", f"{_AGENT}/turns"): Call(("R",), body={"session_id": "s1"}, success=201),
    ("GET", f"{_AGENT}/turns"): Call(("R", "S")),
    ("GET", _TURN): Call(("R", "S")),
    ("POST", f"{_TURN}/messages"): Call(("R",), body=_SAID),
    ("POST", f"{_TURN}/recall"): Call(("R",), body={"query": SECRET}),
    ("POST", f"{_TURN}/tools/{{tool}}"): Call(("R",), body={"input": {"query": SECRET}}),
    ("POST", f"{_TURN}/judgements"): Call(("R",), body={"verdict": "accepted"}, success=201),
    ("POST", f"{_TURN}/end"): Call(("R",), body={"outcome": "failed"}),
    ("POST", f"{_TURN}/review"): Call(("R", "O"), turn="committed", success=202),
    ("GET", f"{_TURN}/transcript"): Call(("S",)),
    ("GET", f"{_AGENT}/executions/{{id}}"): Call(("S",), id="execution"),
    ("GET", f"{_AGENT}/sessions"): Call(("S", "O")),
    ("GET", f"{_AGENT}/usage"): Call(("O",)),
    ("GET", _MEMORIES): Call(("S",)),
    ("POST", _MEMORIES): Call(("SI",), body=_NEW | {"scope": "agent"}, success=201),
    ("GET", f"{_MEMORIES}/{{id}}"): Call(("S",)),
    ("DELETE", f"{_MEMORIES}/{{id}}"): Call(("SU",)),
    ("GET", f"{_MEMORIES}/{{id}}/versions"): Call(("S",)),
    ("GET", f"{_MEMORIES}/{{id}}/versions/{{n}}"): Call(("S",)),
    ("POST", f"{_MEMORIES}/{{id}}/restore"): Call(("SU",), id="deleted"),
    ("GET", PLATFORM): Call(("S",)),
    ("POST", PLATFORM): Call(("A",), body=_NEW | {"scope": "platform"}, success=201),
    ("GET", f"{PLATFORM}/{{id}}"): Call(("S",), id="platform"),
    ("DELETE", f"{PLATFORM}/{{id}}"): Call(("SUA",), id="platform"),
    ("GET", f"{PLATFORM}/{{id}}/versions"): Call(("S",), id="platform"),
    ("POST", f"{PLATFORM}/{{id}}/approval"): Call(
        ("A",), id="pending", body={"decision": "approve"}, headers={"If-Match": '"1"'}
    ),
    ("GET", "/v1/agents"): Call(("O",)),
    ("GET", "/v1/status"): Call(("O",)),
    ("GET", "/v1/openapi.json"): Call(()),
}


def send(
    api: Api,
    method: str,
    resource: str,
    victim: Victim,
    *,
    raw: bool = False,
    headers: Mapping[str, str] | None = None,
    **other: str,
) -> httpx.Response:
    """The owner's call with some part of its path put in place of its own. raw: it is escaped already."""
    call = CALLS[method, resource]
    path = call.path(victim) | other
    if not raw:
        path = {name: quote(value, safe="") for name, value in path.items()}
    options: dict[str, Any] = {"params": dict(call.query), "headers": {**call.headers, **(headers or {})}}
    if method in ("POST", "PUT"):
        options["json"] = _body(call, victim)
    return api.request(method, resource.format(**path), **options)


def _body(call: Call, victim: Victim) -> Any:
    """What is written is the victim's own: equal records would be one."""
    body = call.body or {}
    return body | {"summary": f"{body['summary']} {victim.agent}"} if "summary" in body else body


def make_victim(api: Api, agent: str | None = None) -> Victim:
    scopes = [*EVERY_SCOPE, "platform"]
    memory = {"scope": {"read": scopes, "write": scopes}, "labels": LABELS, "pinned": {"max_tokens": 500}}
    agent = api.configure(agent, memory=memory, history={"index": "messages_and_tools"})
    first = api.begin(agent)
    message = {"role": "user", "text": f"{SECRET} is what we talk about."}
    said = ok(api.post(f"{first.path}/messages", {"messages": [message]}))["messages"][0]["event_id"]
    replaced = first.add(f"{SECRET} one.", scope="agent", content=f"{SECRET} in full.", labels={"room": "7"})["id"]
    deleted = first.add(f"{SECRET} two.", scope="agent")["id"]
    pending = first.add(f"{SECRET} for all, says {agent}.", scope="platform")["id"]
    execution = first.call("search_memory", {"query": SECRET})["tool_execution_id"]
    first.end()
    second = api.begin(agent)
    record = second.add(f"{SECRET} three.", scope="agent", replaces=replaced, pinned=True)["id"]
    second.call("delete_memory", {"id": deleted})
    second.end()
    tried = api.begin(agent, preview=True)
    preview = tried.add(f"{SECRET} four.", scope="agent")["id"]
    tried.end()
    for_all = {"summary": f"{SECRET} of {agent}.", "kind": "fact", "scope": "platform"}
    platform = ok(api.post(PLATFORM, for_all), 201)["id"]
    last = api.begin(agent)
    staged = last.add(f"{SECRET} five.", scope="agent")["id"]
    return Victim(
        api, agent, record, replaced, deleted, preview, staged, last.id, first.id, execution, platform, pending, said
    )


def snapshot(victim: Victim) -> list[Any]:
    """All that the victim's owner can see: nothing of it may differ after an attack."""
    api, agent = victim.api, f"/v1/agents/{victim.agent}"
    paths = [f"{agent}/turns/{victim.turn}", f"{agent}/turns/{victim.committed}", f"{agent}/config"]
    paths += [f"{agent}/turns/{id}/transcript" for id in (victim.turn, victim.committed)]
    told = [ok(api.get(path)) for path in paths]
    told.append(ok(api.get(f"{agent}/memories", status="all")))
    told += [ok(api.get(f"{PLATFORM}/{id}")) for id in (victim.platform, victim.pending)]
    return told

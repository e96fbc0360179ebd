"""Attacks on grants: half of what a route needs, the right grants for another agent, for all or for the platform; and
keys of other callers. Which grants open a route, `attack_table` says for itself.

Whoever may not is told so before anything is looked up, whether what the call names exists or not (GR-5).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from attack_table import CALLS, PARTS, SECRET, Unreadable, Victim, make_victim, send, snapshot
from http_api import NOWHERE, Api, problem, running

from agent_memory.local.edition import Edition
from agent_memory.local.gateway import Gateway
from agent_memory.local.principals import read_principals
from agent_memory.runtime.routes import ROUTES

Half = dict[str, Any]  # one entry of a principal's grants, without its agents

ROUTE = {(route.method, route.resource): route for route in ROUTES}
BUILT = [key for key in CALLS if key in ROUTE]
GUARDED = [key for key in BUILT if CALLS[key].grants]
POSTS = [key for key in BUILT if key[0] == "POST"]
EVERY_HALF = [half for halves in PARTS.values() for half in halves]


class Attacked:
    """A server with principals. `as_owner` needs no token; `caller` is one with these grants for these agents."""

    def __init__(self, edition: Edition, folder: Path) -> None:
        self.edition, self.folder = edition, folder
        self.as_owner = Api(Gateway(edition.switches).app())

    def caller(self, halves: Iterable[Half], agents: Sequence[str], name: str = "caller") -> Caller:
        file = self.folder / "principals.json"
        grants = [half | {"agents": list(agents)} for half in halves]
        file.write_text(json.dumps({f"token-of-{name}": {"name": name, "grants": grants}}))
        return Caller(Api(Gateway(self.edition.switches, principals=read_principals(file)).app()), f"token-of-{name}")


class Caller:
    def __init__(self, api: Api, token: str) -> None:
        self.api, self.headers = api, {"Authorization": f"Bearer {token}"}

    def send(self, key: tuple[str, str], victim: Victim, *, idempotency: str | None = None, **o: Any) -> httpx.Response:
        named = {"Idempotency-Key": idempotency} if idempotency else {}
        return send(self.api, *key, victim, headers=self.headers | named, **o)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with running(tmp_path_factory.mktemp("attacked"), reviewer=Unreadable()) as edition:
        yield Attacked(edition, tmp_path_factory.mktemp("principals"))


@pytest.fixture(scope="module")
def victim(attacked: Attacked) -> Victim:
    return make_victim(attacked.as_owner)


def each(keys: Sequence[tuple[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("key", keys, ids=[" ".join(key) for key in keys])


def halves_of(grants: str) -> list[Half]:
    return [half for letter in grants for half in PARTS[letter]]


def agent_of(key: tuple[str, str], victim: Victim) -> str:
    """Whom a grant must be for to open the route."""
    if "/v1/platform/" in key[1]:
        return "platform"
    return victim.agent if "agent" in ROUTE[key].parameters else "*"


def opens(key: tuple[str, str], halves: Sequence[Half]) -> bool:
    return any(all(half in halves for half in halves_of(grants)) for grants in CALLS[key].grants)


def is_refused(answer: httpx.Response) -> None:
    problem(answer, 403, "forbidden")
    assert SECRET not in answer.text


# ---------------------------------------------------------------- what opens a route


@pytest.mark.rule("GR-1", "GR-7")
@each(GUARDED)
def test_the_grants_of_a_route_open_it_and_no_others_are_needed(attacked: Attacked, key: tuple[str, str]) -> None:
    for grants in CALLS[key].grants:
        victim = make_victim(attacked.as_owner)
        answer = attacked.caller(halves_of(grants), [agent_of(key, victim)]).send(key, victim)
        assert answer.status_code == CALLS[key].success, answer.text


@pytest.mark.rule("GR-1", "GR-5")
@each(GUARDED)
def test_half_of_what_a_route_needs_opens_nothing(attacked: Attacked, victim: Victim, key: tuple[str, str]) -> None:
    before = snapshot(victim)
    for grants in CALLS[key].grants:
        for missing in halves_of(grants):
            half = [other for other in halves_of(grants) if other != missing]
            is_refused(attacked.caller(half, [agent_of(key, victim)]).send(key, victim))
    assert snapshot(victim) == before


@pytest.mark.rule("GR-1", "GR-5", "TL-7")
@each(GUARDED)
def test_all_the_other_grants_together_do_not_open_a_route(
    attacked: Attacked, victim: Victim, key: tuple[str, str]
) -> None:
    """RUN opens no record, SELECT deletes none, and so on: one part of each way in is left out."""
    before = snapshot(victim)
    for part in range(2):
        missing = [halves_of(grants)[-part] for grants in CALLS[key].grants]
        others = [half for half in EVERY_HALF if half not in missing]
        assert not opens(key, others)
        is_refused(attacked.caller(others, [agent_of(key, victim)]).send(key, victim))
    assert snapshot(victim) == before


@pytest.mark.rule("GR-1", "GR-5", "SC-1")
@each(GUARDED)
def test_every_grant_for_another_opens_nothing(attacked: Attacked, victim: Victim, key: tuple[str, str]) -> None:
    """For agents whose ids look alike; for all agents, which do not include the platform; for the platform alone."""
    before = snapshot(victim)
    alike = [victim.agent[:-1], f"{victim.agent}1", victim.agent.upper(), f"{victim.agent}_"]
    right = agent_of(key, victim)
    others = {
        "platform": [[*alike, victim.agent], ["*"], ["*", victim.agent]],
        "*": [[*alike, victim.agent], ["platform"]],
        victim.agent: [alike, ["platform"], [*alike, "platform"]],
    }
    for agents in others[right]:
        is_refused(attacked.caller(EVERY_HALF, agents).send(key, victim))
    assert snapshot(victim) == before


@pytest.mark.rule("GR-1", "GR-7")
@each([key for key in GUARDED if "agent" in ROUTE[key].parameters])
def test_a_grant_for_all_agents_opens_each_of_them(attacked: Attacked, key: tuple[str, str]) -> None:
    victim = make_victim(attacked.as_owner)
    answer = attacked.caller(EVERY_HALF, ["*"]).send(key, victim)
    assert answer.status_code == CALLS[key].success, answer.text


# ---------------------------------------------------------------- before anything is looked up


@pytest.mark.rule("GR-5")
@each(GUARDED)
def test_without_the_grant_all_is_the_same_whether_it_exists_or_not(
    attacked: Attacked, victim: Victim, key: tuple[str, str]
) -> None:
    caller = attacked.caller(EVERY_HALF, [f"{victim.agent}x"])
    there = caller.send(key, victim)
    is_refused(there)
    for other in ({"agent": "nobody"}, {"turn": NOWHERE}, {"id": NOWHERE}, {"id": victim.staged}, {"id": "x"}):
        elsewhere = caller.send(key, victim, **other)
        if elsewhere.status_code != 404:  # what has not the form of an id is no path at all
            is_refused(elsewhere)
            assert without_id(elsewhere) == without_id(there)
        else:
            assert other == {"id": "x"}


@pytest.mark.rule("GR-5")
@each([key for key in GUARDED if key[0] in ("POST", "PUT")])
def test_without_the_grant_a_body_is_not_even_read(attacked: Attacked, victim: Victim, key: tuple[str, str]) -> None:
    caller = attacked.caller([], [victim.agent])
    path = key[1].format(**CALLS[key].path(victim))
    for body in (b"{", b'{"colour": 1}', b"[]", b"\xff"):
        answer = caller.api.request(key[0], path, content=body, headers=caller.headers)
        is_refused(answer)


def without_id(answer: httpx.Response) -> dict[str, Any]:
    return {name: value for name, value in answer.json().items() if name != "request_id"}


@pytest.mark.rule("GR-7")
@each(BUILT)
def test_without_a_token_nobody_is_answered(attacked: Attacked, victim: Victim, key: tuple[str, str]) -> None:
    caller = attacked.caller(EVERY_HALF, [victim.agent, "*", "platform"])
    for token in ("", "Bearer", "Bearer x", "Bearer token-of-caller ", "Bearer TOKEN-OF-CALLER", "token-of-caller"):
        caller.headers = {"Authorization": token} if token else {}
        if token.strip() != "Bearer token-of-caller":
            answer = caller.send(key, victim)
            problem(answer, 401, "unauthenticated")
            assert SECRET not in answer.text


# ---------------------------------------------------------------- keys of others


@pytest.mark.rule("IF-2", "GR-5")
@each(POSTS)
def test_a_key_of_another_caller_brings_none_of_its_answer(attacked: Attacked, key: tuple[str, str]) -> None:
    victim = make_victim(attacked.as_owner)
    agents = [victim.agent, "*", "platform"]
    first = attacked.caller(EVERY_HALF, agents, "first").send(key, victim, idempotency="the-key")
    assert first.status_code == CALLS[key].success, first.text
    again = attacked.caller(EVERY_HALF, agents, "first").send(key, victim, idempotency="the-key")
    assert (again.headers.get("idempotency-replayed"), again.json()) == ("true", first.json())
    other = attacked.caller(EVERY_HALF, agents, "second").send(key, victim, idempotency="the-key")
    assert "idempotency-replayed" not in other.headers
    is_refused(attacked.caller([], agents, "third").send(key, victim, idempotency="the-key"))
    is_refused(attacked.caller([], agents, "first").send(key, victim, idempotency="the-key"))


@pytest.mark.rule("IF-2", "SC-1")
@each([key for key in POSTS if "agent" in ROUTE[key].parameters])
def test_a_key_belongs_to_one_path(attacked: Attacked, key: tuple[str, str]) -> None:
    caller = attacked.caller(EVERY_HALF, ["*"])
    victims = [make_victim(attacked.as_owner) for _ in range(2)]
    for victim in victims:
        answer = caller.send(key, victim, idempotency="a-key-of-all")
        assert answer.status_code == CALLS[key].success, answer.text
        assert "idempotency-replayed" not in answer.headers

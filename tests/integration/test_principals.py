"""Grants by tokens: the file, and what each grant opens on the server (GR-1, GR-5, GR-7)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_api import NOWHERE, Api, faults, ok, problem
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.local.edition import Edition
from agent_memory.local.gateway import CALLER, Gateway
from agent_memory.local.principals import Principals, PrincipalsError, read_principals
from agent_memory.runtime.grants import Part, concerns, ways
from agent_memory.runtime.routes import ROUTES, Route

EVERY_PART = {
    "RUN": ("RUN", None),
    "SELECT-indexes": ("SELECT", "indexes"),
    "SELECT-document": ("SELECT", "document"),
    "UPDATE": ("UPDATE", "document"),
    "INSERT": ("INSERT", "document"),
    "CONFIGURE": ("CONFIGURE", None),
    "OPERATE": ("OPERATE", None),
    "APPROVE": ("APPROVE", None),
}
AGENTS = ("mine", "*", "platform")
Grant = dict[str, Any]


def grant(name: str, on: str | None = None, *agents: str) -> Grant:
    return {"grant": name, "agents": list(agents or ("mine",))} | ({"on": on} if on else {})


BOTH = [grant("SELECT", "document"), grant("SELECT", "indexes")]


def entries(**grants: Sequence[Grant]) -> dict[str, Any]:
    """Each token, named as itself in capitals."""
    return {token: {"name": token.upper(), "grants": list(given)} for token, given in grants.items()}


def principals(folder: Path, given: object) -> Principals:
    file = folder / "principals.json"
    file.write_text(given if isinstance(given, str) else json.dumps(given))
    return read_principals(file)


class Door:
    """The server with a file of principals; calls by their tokens."""

    def __init__(self, edition: Edition, known: Principals) -> None:
        self.api = Api(Gateway(edition.switches, principals=known).app())

    def call(self, token: str | None, method: str, path: str, **options: Any) -> httpx.Response:
        headers = options.pop("headers", {}) | ({"Authorization": f"Bearer {token}"} if token else {})
        return self.api.request(method, path, headers=headers, **options)


@pytest.fixture
def door(edition: Edition, api: Api, tmp_path: Path) -> Door:
    for agent in ("mine", "other"):
        if api.get(f"/v1/agents/{agent}/config").status_code == 404:
            api.configure(agent)
    given = entries(
        runner=[grant("RUN")],
        reader=BOTH,
        half=[BOTH[0]],
        everywhere=[grant("SELECT", half, "*") for half in ("document", "indexes")],
        nothing=[],
        operator=[grant("OPERATE", None, "*")],
        twin=[grant("RUN")],
    )
    return Door(edition, principals(tmp_path, given))


# ---------------------------------------------------------------- who calls


@pytest.mark.rule("GR-7")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer  "},
        {"Authorization": "runner"},
        {"Authorization": "Basic runner"},
        {"Authorization": "Bearer runner runner"},
        {"Authorization": "Bearer RUNNER"},
        {"Authorization": "Bearer runner, Bearer runner"},
    ],
    ids=lambda headers: headers.get("Authorization", "none"),
)
@pytest.mark.parametrize("path", ["/v1/agents/mine/turns", "/v1/agents/nobody/turns", "/v1/openapi.json"])
def test_without_a_token_that_is_known_nobody_is_answered(door: Door, headers: dict[str, str], path: str) -> None:
    refused = door.call(None, "POST" if "turns" in path else "GET", path, headers=headers)
    problem(refused, 401, "unauthenticated")
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert "runner" not in refused.text.lower()


@pytest.mark.rule("GR-7")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
def test_the_scheme_is_spelled_as_one_likes(door: Door, scheme: str) -> None:
    ok(door.call(None, "GET", "/v1/openapi.json", headers={"Authorization": f"{scheme} nothing"}))


@pytest.mark.rule("GR-7")
def test_without_a_file_everyone_has_all(api: Api) -> None:
    agent = api.configure()
    turn = api.begin(agent)
    turn.add("The depot closes at noon.")
    turn.end()
    assert ok(api.get(f"/v1/agents/{agent}/memories"))["memories"]
    assert ok(api.get(f"/v1/agents/{agent}/config"))["created_by"] == CALLER


@pytest.mark.rule("GR-7", "RC-8")
def test_the_principals_name_is_who_wrote(edition: Edition, tmp_path: Path) -> None:
    door = Door(edition, principals(tmp_path, entries(maker=[grant("CONFIGURE", None, "*")])))
    made = door.call("maker", "PUT", "/v1/agents/made-by/config", json={}, headers={"If-None-Match": "*"})
    assert ok(made, 201)["created_by"] == "MAKER"


@pytest.mark.rule("IF-2", "GR-7")
def test_a_key_of_another_caller_is_another_key(door: Door) -> None:
    path, body = "/v1/agents/mine/turns", {"session_id": "keys"}
    key = {"Idempotency-Key": "k"}
    first = door.call("runner", "POST", path, json=body, headers=key)
    assert ok(first, 201)
    other = door.call("twin", "POST", path, json={"session_id": "others"}, headers=key)
    assert ok(other, 201)["turn_id"] != first.json()["turn_id"]
    again = door.call("runner", "POST", path, json=body, headers=key)
    assert (again.headers["Idempotency-Replayed"], again.text) == ("true", first.text)
    problem(door.call("reader", "POST", path, json=body, headers=key), 403, "forbidden")


# ---------------------------------------------------------------- what is refused, and when


@pytest.mark.rule("GR-5")
def test_without_the_grant_it_is_403_whether_the_thing_exists_or_not(door: Door, api: Api) -> None:
    record = api.remember("mine", "The depot closes at noon.")["id"]
    answers = [
        door.call("runner", "GET", f"/v1/agents/{agent}/memories/{id}")
        for agent in ("mine", "other", "nobody", "no such agent!")
        for id in (record, NOWHERE, "no id")
    ]
    told = [problem(answer, 403, "forbidden") for answer in answers]
    assert len({json.dumps(body | {"request_id": ""}) for body in told}) == 1
    assert len({answer.headers["content-length"] for answer in answers}) == 1


@pytest.mark.rule("GR-5")
@pytest.mark.parametrize("body", ["{", '{"unknown": 1}', "x" * 6_000_000], ids=["no JSON", "fault", "too large"])
def test_without_the_grant_no_body_is_looked_at(door: Door, body: str) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": "two words"}
    for path in ("/v1/agents/mine/turns", "/v1/agents/mine/turns?unknown=%FF"):
        problem(door.call("reader", "POST", path, content=body, headers=headers), 403, "forbidden")
        problem(door.call(None, "POST", path, content=body, headers=headers), 401, "unauthenticated")


@pytest.mark.rule("GR-5")
def test_with_the_grant_what_belongs_to_another_agent_is_not_found(door: Door, api: Api) -> None:
    record = api.remember("other", "The depot closes at noon.")["id"]
    problem(door.call("everywhere", "GET", f"/v1/agents/mine/memories/{record}"), 404, "not_found")
    ok(door.call("everywhere", "GET", f"/v1/agents/other/memories/{record}"))
    problem(door.call("everywhere", "GET", "/v1/agents/nobody/memories"), 404, "not_found")


@pytest.mark.rule("GR-1")
def test_half_of_select_opens_nothing(door: Door) -> None:
    problem(door.call("half", "GET", "/v1/agents/mine/memories"), 403, "forbidden")
    ok(door.call("reader", "GET", "/v1/agents/mine/memories"))


@pytest.mark.rule("GR-1", "TL-7", "TR-3")
def test_running_an_agent_does_not_open_its_records(door: Door) -> None:
    turn = ok(door.call("runner", "POST", "/v1/agents/mine/turns", json={"session_id": "s"}), 201)["turn_id"]
    ok(door.call("runner", "GET", f"/v1/agents/mine/turns/{turn}"))
    for path in ("memories", f"turns/{turn}/transcript"):
        problem(door.call("runner", "GET", f"/v1/agents/mine/{path}"), 403, "forbidden")
        ok(door.call("reader", "GET", f"/v1/agents/mine/{path}"))


@pytest.mark.rule("GR-7")
def test_a_path_and_a_method_that_are_not_there_are_told_with_any_token(door: Door) -> None:
    problem(door.call("nothing", "GET", "/v1/nothing"), 404, "not_found")
    problem(door.call("nothing", "DELETE", "/v1/status"), 405, "method_not_allowed")
    problem(door.call(None, "DELETE", "/v1/status"), 401, "unauthenticated")


@pytest.mark.rule("GR-7")
def test_routes_of_no_agent_take_their_grant_for_all(door: Door, edition: Edition, tmp_path: Path) -> None:
    ok(door.call("operator", "GET", "/v1/status"))
    only = Door(edition, principals(tmp_path, entries(some=[grant("OPERATE", None, "mine", "other", "platform")])))
    problem(only.call("some", "GET", "/v1/status"), 403, "forbidden")


@pytest.mark.rule("IF-3", "GR-7")
def test_the_document_is_open_to_any_token(door: Door) -> None:
    assert ok(door.call("nothing", "GET", "/v1/openapi.json"))["openapi"] == "3.1.0"


# ---------------------------------------------------------------- every route, every set of grants


def reference(route: Route, agent: str, held: Mapping[str, set[str]]) -> bool:
    """GR-1 and GR-7 in the words of the specification, beside the product's own reading."""
    if not route.grants:
        return True
    if route.resource.startswith("/v1/platform/"):
        mine = held.get("platform", set())
    elif "{agent}" in route.resource:
        mine = held.get(agent, set()) | held.get("*", set())
    else:
        mine = held.get("*", set())
    needed = [grants.replace("SELECT", "SELECT-indexes+SELECT-document").split("+") for grants in route.grants]
    return any(set(parts) <= mine for parts in needed)


HELD = st.dictionaries(st.sampled_from(AGENTS), st.sets(st.sampled_from(sorted(EVERY_PART))))


@pytest.mark.rule("GR-1", "GR-7")
@given(HELD, st.sampled_from(ROUTES))
def test_a_route_opens_to_exactly_those_who_hold_a_grant_for_it(held: dict[str, set[Part]], route: Route) -> None:
    names = [name for name in AGENTS if concerns(route, name)]
    parts = frozenset(part for name in names for part in held.get(name, ()))
    opens = not route.grants or any(way <= parts for way in ways(route))
    assert opens == reference(route, "mine", held)


@pytest.mark.rule("GR-1", "GR-5", "GR-7")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_over_http_a_route_opens_to_each_of_its_grants_and_to_nothing_less(
    edition: Edition, api: Api, tmp_path: Path, route: Route
) -> None:
    """Whole: 4xx of the route itself. Without any one part, or for others than it is about: 403."""
    path = route.resource.replace("{agent}", "mine").replace("{tool}", "search_memory").replace("{n}", "1")
    path = path.replace("{turn}", NOWHERE).replace("{id}", NOWHERE)
    subject = next(name for name in ("mine", "platform", "*") if concerns(route, name))
    others = [name for name in ("other", "platform", "*") if not concerns(route, name)] or ["other"]
    if route.resource.startswith("/v1/platform/"):
        others = ["mine", "*"]
    tokens: dict[str, tuple[list[Grant], bool]] = {"none": ([], not route.grants)}
    for at, way in enumerate(ways(route)):
        whole = [grant(*EVERY_PART[part], subject) for part in sorted(way)]
        tokens[f"whole{at}"] = (whole, True)
        tokens[f"elsewhere{at}"] = ([g | {"agents": others} for g in whole], False)
        for missing in range(len(whole)):
            tokens[f"less{at}-{missing}"] = (whole[:missing] + whole[missing + 1 :], False)
    door = Door(edition, principals(tmp_path, entries(**{name: given for name, (given, _) in tokens.items()})))
    for name, (_, opens) in tokens.items():
        answer = door.call(name, route.method, path, content="{" if route.body else None)
        assert (answer.status_code != 403) == opens, (name, answer.text)


# ---------------------------------------------------------------- the file


def told(folder: Path, given: object) -> str:
    with pytest.raises(PrincipalsError) as refused:
        principals(folder, given)
    return str(refused.value)


@pytest.mark.rule("GR-7")
@pytest.mark.parametrize(
    ("grants", "said"),
    [
        ([{"grant": "READ", "agents": ["a"]}], "grants[0].grant takes"),
        ([{"grant": "SELECT", "agents": ["a"]}], "grants[0] takes with SELECT on: document or indexes"),
        ([{"grant": "SELECT", "on": "all", "agents": ["a"]}], "grants[0].on takes"),
        ([{"grant": "UPDATE", "on": "indexes", "agents": ["a"]}], "grants[0] takes with UPDATE on: document"),
        ([{"grant": "RUN", "on": "document", "agents": ["a"]}], "grants[0] takes with RUN no on"),
        ([{"grant": "RUN", "agents": []}], "grants[0].agents takes"),
        ([{"grant": "RUN"}], "grants[0].agents is required"),
        ([{"grant": "RUN", "agents": "a"}], "grants[0].agents takes"),
        ([{"grant": "RUN", "agents": ["a", "no such"]}], "grants[0].agents[1] takes the id of an agent"),
        ([{"grant": "RUN", "agents": ["a"], "until": "x"}], "grants[0].until is not a field here"),
        ({"grant": "RUN"}, "grants takes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_of_a_grant_is_told_with_its_place_and_without_the_token(
    tmp_path: Path, grants: object, said: str
) -> None:
    message = told(tmp_path, {"fine": {"name": "fine", "grants": []}, "s3cret": {"name": "desk", "grants": grants}})
    assert message.startswith("entry 2: ")
    assert said in message
    assert "s3cret" not in message


@pytest.mark.rule("GR-7")
def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    wrong = [grant("READ"), {"grant": "RUN", "agents": []}]
    message = told(tmp_path, {"a": {"grants": wrong}, "two words": {"name": "", "grants": []}, "c": 5})
    for said in ("entry 1: name is required", "grants[0].grant", "grants[1].agents", "entry 2: a token", "entry 3:"):
        assert said in message


@pytest.mark.rule("GR-7")
@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a": 1, "a": 2}', "null", '{"\\ud800": {"name": "x", "grants": []}}']
)
def test_a_file_that_is_no_object_of_tokens_is_refused(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text)


@pytest.mark.rule("GR-7")
def test_grants_of_one_token_add_up(tmp_path: Path, edition: Edition, api: Api) -> None:
    api.configure("adding-up")
    given = [grant("SELECT", "indexes", "*"), grant("SELECT", "document", "adding-up", "platform")]
    door = Door(edition, principals(tmp_path, entries(both=given)))
    ok(door.call("both", "GET", "/v1/agents/adding-up/memories"))
    problem(door.call("both", "GET", "/v1/agents/other/memories"), 403, "forbidden")


# ---------------------------------------------------------------- with the rate


@pytest.mark.rule("IF-7", "GR-5")
def test_who_has_no_grant_takes_none_of_an_agents_calls(edition: Edition, tmp_path: Path, api: Api) -> None:
    """See test_http_rate for the rate itself."""
    door = Door(edition, principals(tmp_path, entries(nobody=[], runner=[grant("RUN")])))
    for _ in range(3):
        problem(door.call("nobody", "GET", "/v1/agents/mine/config"), 403, "forbidden")
    assert faults(problem(door.call("runner", "POST", "/v1/agents/mine/turns", json={"x": 1}), 400, "unknown_field"))

"""What each grant opens, proved on the synthesised policies by an offline evaluator of IAM: every grant and every pair
of grants × every route × own agent, another, ones whose id begins or goes on alike, platform.

`TABLE` is the specification's table of routes, also of those that are not built: what is not there, nobody may call. A
route that is not in it fails the tests. One thing IAM cannot say: a grant for all agents also opens the paths of an
agent named `platform`, which cannot exist; the functions answer 404 (`tests/integration`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import needs_node  # noqa: F401
import pytest
from evaluator import Principal, Request, evaluate, install
from granted import AGENT, HALVES, OTHER, Caller, arn_of, callers, deployment, principals
from resolved import ACCOUNT, API_ID

from agent_memory.runtime.routes import ROUTES

# Method, path, and what opens it: any of the ways between bars, each of which needs all of its letters. R RUN, S both
# SELECTs, U UPDATE, I INSERT, A APPROVE, C CONFIGURE, O OPERATE; `any`: any caller who has a grant at all.
TABLE = """
PUT    /v1/agents/{agent}/config                          C
GET    /v1/agents/{agent}/config                          C | R | S
GET    /v1/agents/{agent}/config/versions                 C | S
GET    /v1/agents/{agent}/tools                           R
GET    /v1/agents                                         O
POST   /v1/agents/{agent}/turns                           R
GET    /v1/agents/{agent}/turns                           R | S
GET    /v1/agents/{agent}/turns/{turn}                    R | S
POST   /v1/agents/{agent}/turns/{turn}/messages           R
POST   /v1/agents/{agent}/turns/{turn}/recall             R
POST   /v1/agents/{agent}/turns/{turn}/tools/{tool}       R
POST   /v1/agents/{agent}/turns/{turn}/judgements         R
POST   /v1/agents/{agent}/turns/{turn}/end                R
POST   /v1/agents/{agent}/turns/{turn}/review             R | O
GET    /v1/agents/{agent}/turns/{turn}/transcript         S
GET    /v1/agents/{agent}/executions/{id}                 S
GET    /v1/agents/{agent}/sessions                        S | O
GET    /v1/agents/{agent}/memories                        S
GET    /v1/agents/{agent}/memories/{id}                   S
GET    /v1/agents/{agent}/memories/{id}/versions          S
GET    /v1/agents/{agent}/memories/{id}/versions/{n}      S
DELETE /v1/agents/{agent}/memories/{id}                   S+U
POST   /v1/agents/{agent}/memories/{id}/restore           S+U
POST   /v1/agents/{agent}/memories                        S+I
GET    /v1/platform/memories                              S
POST   /v1/platform/memories                              A
GET    /v1/platform/memories/{id}                         S
DELETE /v1/platform/memories/{id}                         S+U+A
GET    /v1/platform/memories/{id}/versions                S
POST   /v1/platform/memories/{id}/approval                A
POST   /v1/agents/{agent}/events                          O
POST   /v1/events                                         O
GET    /v1/cleanups                                       O
GET    /v1/cleanups/{id}                                  O
POST   /v1/cleanups/{id}/retry                            O
POST   /v1/agents/{agent}/merges                          O
GET    /v1/agents/{agent}/merges                          S+O
POST   /v1/agents/{agent}/merges/{id}                     S+U+O
GET    /v1/agents/{agent}/export                          S+O
POST   /v1/agents/{agent}/import                          I+O
GET    /v1/agents/{agent}/usage                           O
GET    /v1/status                                         O
GET    /v1/openapi.json                                   any
"""

LETTERS = {
    "R": {"RUN"},
    "S": set(HALVES),
    "U": {"UPDATE"},
    "I": {"INSERT"},
    "A": {"APPROVE"},
    "C": {"CONFIGURE"},
    "O": {"OPERATE"},
}

ANY = "any"
INVOKE = "execute-api:Invoke"
ROWS = {(method, path): ways for method, path, ways in (line.split(None, 2) for line in TABLE.strip().split("\n"))}
BUILT = {(route.method, route.resource) for route in ROUTES}
TARGETS = (AGENT, OTHER, AGENT[:-1], AGENT + "x", AGENT + "-2", AGENT.upper(), "platform")

ULID = "01HZZZZZZZZZZZZZZZZZZZZZZZ"
IDS = {"{turn}": ULID, "{id}": ULID, "{tool}": "add_memory", "{n}": "1"}

# ---------------------------------------------------------------- the grants


@pytest.fixture(scope="module")
def given() -> list[Caller]:
    return list(callers())


@pytest.fixture(scope="module")
def roles(given: list[Caller]) -> Mapping[str, Principal]:
    install()
    return principals(deployment(), given)


def test_every_route_is_in_the_specifications_table() -> None:
    for route in ROUTES:
        spelled = {frozenset(part for word in way.split("+") for part in parts_of(word)) for way in route.grants}
        assert spelled == set(ways_of((route.method, route.resource))), route.operation


@pytest.mark.rule("GR-1", "GR-5")
def test_each_grant_and_each_pair_opens_what_the_table_says_and_nothing_else(
    given: list[Caller], roles: Mapping[str, Principal]
) -> None:
    cells = [(caller, row, target) for caller in given for row in ROWS for target in targets_of(row)]
    answers = evaluate(ACCOUNT, roles, [call(caller, row, target) for caller, row, target in cells])
    expected = [row in BUILT and opens(caller, row, target) for caller, row, target in cells]
    wrong = [
        f"{caller}: {row[0]} {path_of(row, target)} is {'open' if answer else 'closed'}"
        for (caller, row, target), answer, right in zip(cells, answers, expected, strict=True)
        if answer != right
    ]
    assert wrong == []
    assert any(answers)
    assert not all(answers)


@pytest.mark.rule("GR-1")
def test_half_of_what_a_route_needs_opens_nothing(given: list[Caller], roles: Mapping[str, Principal]) -> None:
    parts = (*HALVES, "UPDATE", "INSERT")
    halves = [caller for caller in given if len(caller.given) == 1 and caller.given[0][0] in parts]
    assert len(halves) == 12  # on the agent, on all, on platform
    rows = [row for row in BUILT if ROWS[row] != ANY]
    assert not any(evaluate(ACCOUNT, roles, [call(caller, row, AGENT) for caller in halves for row in rows]))


@pytest.mark.rule("GR-1", "SC-1")
def test_a_tag_of_another_deployment_or_of_another_agent_completes_nothing(
    given: list[Caller], roles: Mapping[str, Principal]
) -> None:
    half = next(caller for caller in given if caller.given == ((HALVES[0], AGENT),))
    whole = next(caller for caller in given if caller.given == ((HALVES[0], AGENT), (HALVES[1], AGENT)))
    key = next(tag for tag in roles[whole.name].context if tag.endswith(HALVES[1]))
    right = roles[whole.name].context[key]
    foreign = [
        right.replace(AGENT, AGENT + "x"),
        right.replace(AGENT, "x" + AGENT),
        right.replace(AGENT, "platform"),
        right.replace(API_ID, "zyxwv98765"),
        right.replace(":", "-"),
        AGENT,
        "*",
    ]
    role = roles[half.name]
    tagged = {value: Principal(role.arn, role.policies, {**role.context, key: value}) for value in (right, *foreign)}
    path = arn_of("GET", f"/v1/agents/{AGENT}/memories")
    answers = evaluate(ACCOUNT, tagged, [Request(value, INVOKE, path) for value in tagged])
    assert dict(zip(tagged, answers, strict=True)) == {value: value == right for value in tagged}


def test_a_grant_opens_no_other_interface_stage_region_or_action(
    given: list[Caller], roles: Mapping[str, Principal]
) -> None:
    path = arn_of("GET", f"/v1/agents/{AGENT}/config")
    elsewhere = [path.replace(API_ID, "zyxwv98765"), path.replace("/dev/", "/prod/"), path.replace("eu-", "us-")]
    asked = [Request(caller.name, INVOKE, arn) for caller in given for arn in elsewhere]
    asked += [Request(caller.name, "execute-api:InvalidateCache", path) for caller in given]
    assert not any(evaluate(ACCOUNT, roles, asked))


# ---------------------------------------------------------------- the table, read


@cache
def ways_of(row: tuple[str, str]) -> tuple[frozenset[str], ...]:
    """The sets of parts, each of which opens the row."""
    if ROWS[row] == ANY:
        return ()
    ways = [way.strip().split("+") for way in ROWS[row].split("|")]
    return tuple(frozenset(part for letter in way for part in LETTERS[letter]) for way in ways)


def opens(caller: Caller, row: tuple[str, str], target: str) -> bool:
    """What counts is what the caller holds for the target: the agent of the path, platform for platform's own paths,
    and what was given for all, of which platform is none. A route of no agent opens to what was given for all."""
    if ROWS[row] == ANY:
        return True
    if "{agent}" in row[1]:
        counts = {target, "*"} if target != "platform" else {"*"}  # no agent has that id: the function says 404
    else:
        counts = {"platform"} if row[1].startswith("/v1/platform/") else {"*"}
    held = {part for given, agent in caller.given if agent in counts for part in parts_of(given)}
    return any(way <= held for way in ways_of(row))


def parts_of(given: str) -> set[str]:
    return set(HALVES) if given == "SELECT" else {given}


def call(caller: Caller, row: tuple[str, str], target: str) -> Request:
    return Request(caller.name, INVOKE, arn_of(row[0], path_of(row, target)))


def targets_of(row: tuple[str, str]) -> tuple[str, ...]:
    return TARGETS if "{agent}" in row[1] else (AGENT,)


def path_of(row: tuple[str, str], target: str) -> str:
    names = {**IDS, "{agent}": target}
    return "/".join(names.get(part, part) for part in row[1].split("/"))

"""Attacks on what belongs to others: ids of others, ids that look alike, cursors, filters, and what a model may name.

Every attack changes one thing of a call that its owner makes with success (`attack_table`), and must find nothing,
change nothing, and answer as for what does not exist (GR-5). Grants and tokens are attacked in
`test_attacks_on_grants.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from attack_table import CALLS, PLATFORM, SECRET, Unreadable, Victim, make_victim, send, snapshot
from http_api import NOWHERE, Api, faults, ok, problem, running

from agent_memory.local.gateway import Gateway
from agent_memory.runtime.routes import ROUTES

BY_RESOURCE = {(route.method, route.resource): route for route in ROUTES}
BUILT = [key for key in CALLS if key in BY_RESOURCE]
WITH_IDS = [key for key in BUILT if {"turn", "id"} & set(BY_RESOURCE[key].parameters)]
OF_AGENTS = [key for key in WITH_IDS if "agent" in BY_RESOURCE[key].parameters]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One of its own, since these tests move its clock."""
    with running(tmp_path_factory.mktemp("attacked"), reviewer=Unreadable()) as edition:
        yield Api(Gateway(edition.switches).app())


@pytest.fixture(scope="module")
def victim(api: Api) -> Victim:
    return make_victim(api)


@pytest.fixture(scope="module")
def rivals(api: Api, victim: Victim) -> list[str]:
    """Agents of other people, whose ids look like the victim's; with all that the victim's configuration allows."""
    ids = [victim.agent[:-1], f"{victim.agent}1", victim.agent.swapcase(), f"{victim.agent}_", f"-{victim.agent}"]
    return [make_victim(api, id).agent for id in ids]


def named(keys: list[tuple[str, str]]) -> dict[str, Any]:
    return {"argvalues": keys, "ids": [f"{method} {resource}" for method, resource in keys]}


def reveals_nothing(answer: httpx.Response) -> None:
    assert SECRET not in answer.text


# ---------------------------------------------------------------- the table itself


@pytest.mark.rule("SC-1", "GR-5")
def test_every_route_stands_in_the_table_of_attacks() -> None:
    assert set(BY_RESOURCE) <= set(CALLS)


@pytest.mark.parametrize(("method", "resource"), **named(BUILT))
def test_the_owners_own_call_succeeds(api: Api, method: str, resource: str) -> None:
    answer = send(api, method, resource, make_victim(api))
    assert answer.status_code == CALLS[method, resource].success, answer.text


# ---------------------------------------------------------------- ids in the path


@pytest.mark.rule("SC-1", "GR-5")
@pytest.mark.parametrize(("method", "resource"), **named(OF_AGENTS))
def test_an_id_of_another_agent_is_not_found(
    api: Api, victim: Victim, rivals: list[str], method: str, resource: str
) -> None:
    before = snapshot(victim)
    for rival in rivals:
        answer = send(api, method, resource, victim, agent=rival)
        problem(answer, 404, "not_found")
        reveals_nothing(answer)
    assert snapshot(victim) == before


@pytest.mark.rule("SC-1", "SC-5")
@pytest.mark.parametrize(("method", "resource"), **named(OF_AGENTS))
@pytest.mark.parametrize(
    "agent",
    [
        "platform",
        "*",
        "%2A",
        "..",
        ".",
        "{agent}%2F{agent}",
        "{agent}%23",
        "{agent}%00",
        "{agent}%20",
        "{agent}%2523",
        "%23{agent}",
        "{agent},x",
        "{agent}*",
        "{agent}%3F",
        "x%2F..%2F{agent}",
        "{agent}%0A",
        "＊",
    ],
)
def test_what_only_looks_like_the_agents_id_is_not_found(
    api: Api, victim: Victim, method: str, resource: str, agent: str
) -> None:
    answer = send(api, method, resource, victim, raw=True, agent=agent.replace("{agent}", victim.agent))
    reveals_nothing(answer)
    assert answer.status_code in (404, 405), answer.text


@pytest.mark.rule("SC-1", "SC-5")
@pytest.mark.parametrize(("method", "resource"), **named(WITH_IDS))
def test_what_only_looks_like_an_id_is_not_found(api: Api, victim: Victim, method: str, resource: str) -> None:
    name = "id" if "id" in BY_RESOURCE[method, resource].parameters else "turn"
    real = CALLS[method, resource].path(victim)[name]
    before = snapshot(victim)
    for id in looking_like(real):
        answer = send(api, method, resource, victim, raw=True, **{name: id})
        reveals_nothing(answer)
        assert answer.status_code in (404, 405), f"{id}: {answer.text}"
    assert snapshot(victim) == before


def looking_like(id: str) -> list[str]:
    swapped = id[:-1] + ("0" if id[-1] != "0" else "1")
    around = [
        f"{id}%23",
        f"%23{id}",
        f"{id}%2F",
        f"{id}%00",
        f"{id}%20",
        f"{id}%0A",
        f"..%2F{id}",
        f"{id}*",
        f"I%23{id}",
    ]
    return [id.lower(), id[:-1], id[1:], f"{id}0", f"0{id}", swapped, NOWHERE, "*", "%2A", "{id}", *around]


@pytest.mark.rule("SC-1")
@pytest.mark.parametrize(("method", "resource"), **named(WITH_IDS))
def test_an_id_of_another_kind_is_not_found(api: Api, victim: Victim, method: str, resource: str) -> None:
    """A record is no turn, an execution no record, a platform record none of an agent's, a staged one none at all."""
    name = "id" if "id" in BY_RESOURCE[method, resource].parameters else "turn"
    before = snapshot(victim)
    for kind in set(victim.ids) - {"agent", *of_the_same_kind(resource, name)}:
        answer = send(api, method, resource, victim, **{name: victim.ids[kind]})
        assert answer.status_code == 404, f"{kind}: {answer.text}"
        reveals_nothing(answer)
    assert snapshot(victim) == before


def of_the_same_kind(resource: str, name: str) -> set[str]:
    if name == "turn":
        return {"turn", "committed"}
    if "executions" in resource:
        return {"execution"}
    return {"platform", "pending"} if "platform" in resource else {"record", "replaced", "deleted", "preview"}


# ---------------------------------------------------------------- what a model and a harness name in a body

NAMED_BY_A_MODEL = ("record", "replaced", "deleted", "preview", "staged", "pending", "turn", "execution")


@pytest.mark.rule("SC-1", "SC-2", "TL-2", "TL-3", "TL-4", "PV-1", "SC-4")
@pytest.mark.parametrize("name", NAMED_BY_A_MODEL)
def test_a_model_of_another_agent_reaches_no_record_by_its_id(
    api: Api, victim: Victim, rivals: list[str], name: str
) -> None:
    id, before = victim.ids[name], snapshot(victim)
    for rival in rivals[:2]:
        for preview in (False, True):
            turn = api.begin(rival, preview=preview)
            not_found(turn.call("read_memory", {"id": id}))
            not_found(turn.call("delete_memory", {"id": id}))
            not_found(turn.call("add_memory", {"summary": "x", "kind": "fact", "scope": "agent", "replaces": id}))
            assert turn.call("search_memory", {"ids": [id]})["output"]["missing"] == [id]
            turn.end("failed")
    assert snapshot(victim) == before


@pytest.mark.rule("HI-6", "SC-1", "SC-5")
def test_no_other_agent_and_no_other_session_reaches_what_was_said(api: Api, victim: Victim, rivals: list[str]) -> None:
    before = snapshot(victim)
    places = [(rival, "s1") for rival in rivals]
    places += [(victim.agent, session) for session in ("s", "s11", "S1", "s1#live", "s1%23live", "*")]
    for agent, session in places:
        for preview in (False, True):
            turn = api.begin(agent, session, preview=preview)
            for id in (victim.said, victim.said.lower(), victim.committed):
                assert turn.call("search_history", {"ids": [id]})["output"]["missing"] == [id]
            found = turn.call("search_history", {"query": SECRET, "limit": 50})["output"]["events"]
            assert victim.said not in {event["id"] for event in found}
            turn.end("failed")
    honest = api.begin(victim.agent)
    assert [event["id"] for event in honest.call("search_history", {"query": SECRET})["output"]["events"]] == [
        victim.said
    ]
    honest.end("failed")
    assert snapshot(victim) == before


@pytest.mark.rule("PV-1", "TU-3", "SC-4")
@pytest.mark.parametrize("name", ["preview", "staged", "pending"])
def test_a_live_turn_of_the_same_agent_reaches_nothing_preview_staged_or_pending(
    api: Api, victim: Victim, name: str
) -> None:
    id, before = victim.ids[name], snapshot(victim)
    turn = api.begin(victim.agent)
    not_found(turn.call("read_memory", {"id": id}))
    not_found(turn.call("delete_memory", {"id": id}))
    not_found(turn.call("add_memory", {"summary": "x", "kind": "fact", "scope": "agent", "replaces": [id]}))
    assert turn.call("search_memory", {"ids": [id]})["output"]["missing"] == [id]
    assert id not in turn.search(limit=50) + turn.search(SECRET, limit=50)
    recalled = turn.recall(SECRET)
    assert id not in [item["id"] for item in recalled["memories"] + recalled["constraints"] + recalled["pinned"]]
    turn.end("failed")
    assert snapshot(victim) == before


def not_found(answer: dict[str, Any]) -> None:
    assert answer["error"]["code"] == "not_found"
    assert SECRET not in str(answer)


@pytest.mark.rule("SC-1", "TU-6", "HI-5")
@pytest.mark.parametrize("name", ["retry_of", "replay_of"])
def test_a_turn_of_another_agent_is_not_run_again(api: Api, victim: Victim, rivals: list[str], name: str) -> None:
    before = snapshot(victim)
    for id in (victim.turn, victim.committed, victim.record, victim.turn.lower(), f"{victim.turn}#", victim.agent):
        for rival in rivals:
            problem(api.post(f"/v1/agents/{rival}/turns", {name: id}), 404, "not_found")
    assert snapshot(victim) == before


@pytest.mark.rule("SC-1", "GR-9")
@pytest.mark.parametrize("name", ["record", "replaced", "preview", "staged", "platform", "pending", "turn"])
def test_a_person_replaces_nothing_of_another_agent(api: Api, victim: Victim, rivals: list[str], name: str) -> None:
    before = snapshot(victim)
    body = {"summary": "Mine.", "kind": "fact", "scope": "agent", "replaces": [victim.ids[name]]}
    for rival in rivals:
        problem(api.post(f"/v1/agents/{rival}/memories", body), 404, "not_found")
    assert snapshot(victim) == before


@pytest.mark.rule("SC-6", "SC-4", "GR-9")
@pytest.mark.parametrize("name", ["record", "replaced", "preview", "staged", "turn"])
def test_a_platform_record_replaces_nothing_of_an_agent(api: Api, victim: Victim, name: str) -> None:
    before = snapshot(victim)
    body = {"summary": "For all.", "kind": "fact", "scope": "platform", "replaces": [victim.ids[name]]}
    problem(api.post(PLATFORM, body), 404, "not_found")
    assert snapshot(victim) == before


# ---------------------------------------------------------------- lists, filters, labels

LISTS = ["memories", "turns", "sessions", "config/versions"]


@pytest.mark.rule("SC-1", "GR-3")
@pytest.mark.parametrize("path", ["memories?status=all", "turns", "sessions", "usage?by=session", "usage?by=user"])
def test_no_list_of_another_agent_holds_anything_of_the_victims(
    api: Api, victim: Victim, rivals: list[str], path: str
) -> None:
    ids = set(victim.ids.values())
    stranger = api.configure()
    for agent in (*rivals, stranger):
        answer = api.request("GET", f"/v1/agents/{agent}/{path}")
        told = str(ok(answer))
        assert not [id for id in ids if f"'{id}'" in told]
        assert agent != stranger or SECRET not in told


@pytest.mark.rule("SC-1", "SC-5", "GR-3")
@pytest.mark.parametrize(
    "session", ["s", "s11", "S1", "s1#", "s1%", "s1%23", "#s1", "s1 ", "s*", "*", "s1\u200b", "ｓ1"]
)
def test_a_filter_takes_an_id_whole(api: Api, session: str) -> None:
    agent = api.configure()
    api.remember(agent, f"{SECRET} of a session.", session="s1")
    for path, name in (("memories", "memories"), ("turns", "turns"), ("sessions", "sessions")):
        assert ok(api.get(f"/v1/agents/{agent}/{path}", session_id=session))[name] == [], path
        assert len(ok(api.get(f"/v1/agents/{agent}/{path}", session_id="s1"))[name]) == 1, path


@pytest.mark.rule("IF-1", "SC-1")
@pytest.mark.parametrize(
    "name", ["agent", "agent_id", "agents", "owner", "partition", "filter", "Session_id", "id", "_"]
)
def test_a_filter_that_is_none_is_refused(api: Api, victim: Victim, rivals: list[str], name: str) -> None:
    for path in ("memories", "turns", "sessions"):
        answer = problem(api.get(f"/v1/agents/{rivals[0]}/{path}", **{name: victim.agent}), 400, "unknown_field")
        assert list(faults(answer)) == [name]
    problem(api.get(PLATFORM, **{name: victim.agent}), 400, "unknown_field")


@pytest.mark.rule("RC-2", "GR-3")
@pytest.mark.parametrize(
    "label",
    ["agent_id", "partition", "5", "5=7", "Room", "room ", "room.x", "*", "room\u0000", 'room"', "部屋", "summary"],
)
def test_a_filter_by_a_label_that_is_not_declared_is_refused(api: Api, victim: Victim, label: str) -> None:
    answer = api.get(f"/v1/agents/{victim.agent}/memories", **{f"label.{label}": "7"})
    assert answer.status_code == 400, answer.text
    reveals_nothing(answer)
    turn = api.begin(victim.agent)
    error = turn.call("search_memory", {"labels": {label: "7"}})["error"]
    assert error["code"] in ("label_not_declared", "invalid_input")
    turn.end("failed")


@pytest.mark.rule("RC-2", "GR-3")
@pytest.mark.parametrize("value", ["", "*", "7*", "07", "7 ", " 7", "７", "7,8", '7"', "5=7", "null"])
def test_a_label_is_filtered_by_exactly(api: Api, victim: Victim, value: str) -> None:
    path = f"/v1/agents/{victim.agent}/memories"
    answer = api.get(path, **{"label.room": value, "status": "SUPERSEDED"})
    assert answer.status_code == 400 if value == "" else ok(answer)["memories"] == []
    found = ok(api.get(path, **{"label.room": "7", "status": "SUPERSEDED"}))["memories"]
    assert [record["id"] for record in found] == [victim.replaced]


# ---------------------------------------------------------------- cursors


@pytest.fixture(scope="module")
def paged(api: Api) -> Victim:
    """Each of its lists has a second page, that of agents too."""
    make_victim(api)
    victim = make_victim(api)
    turn = api.begin(victim.agent, "s2")
    turn.add(f"{SECRET} of another session.")
    turn.end()
    ok(api.put(f"/v1/agents/{victim.agent}/config", {"memory": wider(api, victim)}, If_Match='"1"'))
    return victim


def wider(api: Api, victim: Victim) -> dict[str, Any]:
    memory: dict[str, Any] = ok(api.get(f"/v1/agents/{victim.agent}/config"))["config"]["memory"]
    return memory | {"pinned": {"max_tokens": 600}}


def paged_lists(victim: Victim) -> dict[str, dict[str, str]]:
    """Paths that have pages, and for each a filter that makes another list of it."""
    agent = f"/v1/agents/{victim.agent}"
    return {
        f"{agent}/memories": {"kind": "fact"},
        f"{agent}/memories/{victim.replaced}/versions": {},
        f"{agent}/turns": {"session_id": "s1"},
        f"{agent}/sessions": {"user_id": "u"},
        f"{agent}/config/versions": {},
        f"{agent}/turns/{victim.committed}/transcript": {"type": "execution"},
        "/v1/agents": {},
    }


def cursors(api: Api, victim: Victim) -> dict[str, str]:
    return {path: ok(api.get(path, limit=1))["next"] for path in paged_lists(victim)}


@pytest.mark.rule("IF-4")
def test_a_cursor_that_was_altered_is_refused(api: Api, paged: Victim) -> None:
    for path, given in cursors(api, paged).items():
        assert given, path
        first = "B" if given[0] == "A" else "A"
        for wrong in (given[:-1], given[1:], f"{given}A", given.swapcase(), first + given[1:], given[::-1], "x", "*"):
            problem(api.get(path, after=wrong), 400, "invalid_cursor")


@pytest.mark.rule("IF-4", "SC-1")
def test_a_cursor_of_another_list_is_refused(api: Api, paged: Victim, victim: Victim, rivals: list[str]) -> None:
    given = cursors(api, paged)
    for path, filters in paged_lists(paged).items():
        for other, cursor in given.items():
            if other != path:
                problem(api.get(path, after=cursor), 400, "invalid_cursor")
        if filters:
            problem(api.get(path, after=given[path], **filters), 400, "invalid_cursor")
        if paged.agent in path:
            for agent in (victim.agent, rivals[0]):
                answer = api.get(path.replace(paged.agent, agent), after=given[path])
                assert answer.status_code in (400, 404), answer.text


@pytest.mark.rule("TL-1", "IF-4", "SC-2")
def test_a_cursor_of_a_search_is_bound_to_its_agent_filters_and_scopes(
    api: Api, paged: Victim, rivals: list[str]
) -> None:
    turn = api.begin(paged.agent)
    cursor = turn.call("search_memory", {"limit": 1})["output"]["next"]
    assert cursor
    again = api.begin(paged.agent).call("search_memory", {"limit": 1, "after": cursor})  # it outlives its turn
    assert len(again["output"]["memories"]) == 1
    others: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        (rivals[0], {}, {}),
        (paged.agent, {"session": "s2"}, {}),
        (paged.agent, {"user_id": "u"}, {}),
        (paged.agent, {"workflow_id": "w"}, {}),
        (paged.agent, {"preview": True}, {}),
        (paged.agent, {}, {"kind": "fact"}),
        (paged.agent, {}, {"labels": {"room": "7"}}),
    ]
    for agent, fields, filters in others:
        answer = api.begin(agent, **fields).call("search_memory", {"limit": 1, "after": cursor, **filters})
        assert answer.get("error", {}).get("code") == "invalid_cursor", (fields, filters, answer)
    for path in (f"/v1/agents/{paged.agent}/memories", f"/v1/agents/{paged.agent}/turns"):
        problem(api.get(path, after=cursor), 400, "invalid_cursor")


@pytest.mark.rule("IF-4")
def test_a_cursor_of_ten_days_ago_goes_on_where_it_was(api: Api, paged: Victim) -> None:
    given = cursors(api, paged)
    whole = {path: rest(api, path) for path in paged_lists(paged)}
    ok(api.post("/v1/dev/clock", {"advance": "240h"}))
    for path, cursor in given.items():
        then, now = whole[path], rest(api, path, after=cursor)
        assert set(now) <= set(then[1:]), path  # what has ended meanwhile is gone, and nothing came in its place
        assert "memories" in path or now == then[1:], path


def rest(api: Api, path: str, after: str | None = None) -> list[str]:
    """What the pages from there on hold, one entry a page."""
    found: list[str] = []
    while True:
        page = ok(api.get(path, limit=1, **({"after": after} if after else {})))
        entries = next(value for value in page.values() if isinstance(value, list))
        found += [naming(entry) for entry in entries]
        if (after := page["next"]) is None:
            return found


def naming(entry: dict[str, Any]) -> str:
    names = ("turn_id", "session_id", "sequence", "id", "agent_id", "version")
    return next(f"{entry[name]} {entry.get('version')}" for name in names if name in entry)

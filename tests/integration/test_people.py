"""Records as people change them, over HTTP: saved, deleted, restored, and proposals decided on (routes 22–26)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from http_api import EVERY_SCOPE, NOWHERE, Api, faults, ok, problem

PLATFORM = "/v1/platform/memories"


@pytest.fixture
def agent(api: Api) -> str:
    memory = {
        "kinds": {"fact": {}, "rule": {"precedence": "broader"}},
        "labels": {"topic": {"number": 5, "description": "What it is about."}},
        "pinned": {"max_tokens": 60},
        "scope": {"read": [*EVERY_SCOPE, "platform"], "write": [*EVERY_SCOPE, "platform"]},
    }
    return api.configure(memory=memory)


def save(api: Api, agent: str, summary: str, code: int = 201, **fields: Any) -> dict[str, Any]:
    body = {"summary": summary, "kind": "fact", "scope": "agent", **fields}
    return ok(api.post(f"/v1/agents/{agent}/memories", body), code)


def propose(api: Api, agent: str, summary: str, session: str = "s1", **fields: Any) -> dict[str, Any]:
    view = api.remember(agent, summary, session, scope="platform", **fields)
    assert view["status"] == "PENDING"
    return view


def read(api: Api, agent: str, id: str) -> dict[str, Any]:
    return ok(api.get(f"/v1/agents/{agent}/memories/{id}"))


def delete(api: Api, path: str, **headers: str) -> httpx.Response:
    return api.request("DELETE", path, headers={name.replace("_", "-"): value for name, value in headers.items()})


def post(api: Api, path: str, body: Any = None, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.request("POST", path, json=body or {}, headers=names)


# ---------------------------------------------------------------- saving


@pytest.mark.rule("GR-9", "RC-8")
def test_a_person_saves_a_record_that_the_next_turn_recalls(api: Api, agent: str) -> None:
    answer = api.post(
        f"/v1/agents/{agent}/memories",
        {"summary": "The lift is out of order.", "kind": "fact", "scope": "user", "user_id": "u#1"},
    )
    record = ok(answer, 201)
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["location"] == f"/v1/agents/{agent}/memories/{record['id']}"
    assert (record["status"], record["source"], record["user_id"], record["about"]) == (
        "ACTIVE", "person", "u#1", ["u#1"],
    )  # fmt: skip
    assert (record["written_by"]["caller"], record["written_by"]["turn_id"]) == ("local", None)
    turn = api.begin(agent, "s1", user_id="u#1")
    assert [item["id"] for item in turn.recall("lift")["memories"]] == [record["id"]]
    assert api.begin(agent, "s1", user_id="u%231").recall("lift")["memories"] == []


@pytest.mark.rule("GR-9", "TL-2")
def test_saving_the_same_again_gives_the_record_that_is_there(api: Api, agent: str) -> None:
    first = save(api, agent, "Twice.")
    assert save(api, agent, "Twice.", 200)["id"] == first["id"]
    assert api.begin(agent).call("add_memory", {"summary": "Twice.", "kind": "fact", "scope": "agent"})["output"][
        "duplicate"
    ]


@pytest.mark.rule("GR-9", "SC-5")
@pytest.mark.parametrize("scope", ["session", "workflow", "user"])
def test_an_id_that_the_scope_needs_is_required(api: Api, agent: str, scope: str) -> None:
    body = {"summary": "Whose?", "kind": "fact", "scope": scope}
    told = problem(api.post(f"/v1/agents/{agent}/memories", body), 400, "id_required")
    assert faults(told) == {f"{scope}_id": "id_required"}


@pytest.mark.rule("GR-9", "RC-2", "PN-3")
@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"scope": None}, 400, "invalid_request"),
        ({"scope": "platform"}, 400, "invalid_request"),
        ({"kind": "constraint"}, 422, "kind_not_declared"),
        ({"labels": {"colour": "red"}}, 422, "label_not_declared"),
        ({"summary": "x" * 225, "pinned": True}, 422, "pin_over_budget"),
        ({"replaces": NOWHERE}, 404, "not_found"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 400, "invalid_request"),
        ({"memory_key": ""}, 400, "invalid_request"),
        ({"status": "PENDING"}, 400, "unknown_field"),
        ({"summary": "two\nlines"}, 400, "invalid_request"),
    ],
)
def test_what_is_not_allowed_is_refused_and_nothing_is_saved(
    api: Api, agent: str, fields: dict[str, Any], status: int, code: str
) -> None:
    body = {"summary": "Refused.", "kind": "fact", "scope": "agent", **fields}
    problem(api.post(f"/v1/agents/{agent}/memories", body), status, code)
    assert ok(api.get(f"/v1/agents/{agent}/memories", status="all"))["memories"] == []


@pytest.mark.rule("GR-9", "RC-3", "RC-5")
def test_a_person_replaces_and_takes_keys_as_a_turn_does(api: Api, agent: str) -> None:
    old = save(api, agent, "Old.", memory_key="colour")
    new = save(api, agent, "New.", memory_key="colour")
    assert new["replaces"] == [old["id"]]
    assert (read(api, agent, old["id"])["status"], read(api, agent, old["id"])["replaced_by"]) == (
        "SUPERSEDED", new["id"],
    )  # fmt: skip
    rule = save(api, agent, "Rule.", kind="rule", memory_key="colour")
    body = {"summary": "Weaker.", "kind": "fact", "scope": "agent", "memory_key": "colour"}
    told = problem(api.post(f"/v1/agents/{agent}/memories", body), 409, "key_held")
    assert told["current"]["id"] == rule["id"]
    assert save(api, agent, "Express.", memory_key="colour", replaces=rule["id"])["replaces"] == [rule["id"]]
    body = {"summary": "Late.", "kind": "fact", "scope": "agent", "replaces": old["id"]}
    assert problem(api.post(f"/v1/agents/{agent}/memories", body), 409, "not_active")["current"]["version"] == 2


@pytest.mark.rule("GR-9", "TL-2")
def test_a_person_replaces_nothing_of_a_broader_scope_and_nothing_of_another_agent(api: Api, agent: str) -> None:
    broad = save(api, agent, "Broad.")
    body = {"summary": "Narrow.", "kind": "fact", "scope": "session", "session_id": "s1", "replaces": broad["id"]}
    problem(api.post(f"/v1/agents/{agent}/memories", body), 422, "broader_target")
    problem(api.post(f"/v1/agents/{api.configure()}/memories", {**body, "scope": "agent"}), 404, "not_found")


@pytest.mark.rule("RL-1")
def test_one_scope_takes_twenty_constraints(api: Api, agent: str) -> None:
    for n in range(20):
        save(api, agent, f"Rule {n}.", kind="rule")
    body = {"summary": "One more.", "kind": "rule", "scope": "agent"}
    problem(api.post(f"/v1/agents/{agent}/memories", body), 409, "too_many_constraints")
    save(api, agent, "One more.", kind="rule", scope="session", session_id="s1")
    recalled = api.begin(agent, "s1").recall("")
    assert len(recalled["constraints"]) == 21
    assert [item["scope"] for item in recalled["constraints"]][-1] == "session"


# ---------------------------------------------------------------- deleting


@pytest.mark.rule("RC-6", "GR-4")
def test_deleting_twice_gives_the_same_answer_and_one_version(api: Api, agent: str) -> None:
    record = save(api, agent, "Going.", memory_key="k", pinned=True)
    path = f"/v1/agents/{agent}/memories/{record['id']}"
    first, second = delete(api, path), delete(api, path)
    assert ok(first) == ok(second)
    assert (first.json()["status"], first.json()["version"], first.headers["etag"]) == ("DELETED", 2, '"2"')
    assert ok(api.get(f"/v1/agents/{agent}/memories"))["memories"] == []
    turn = api.begin(agent)
    recalled = turn.recall("going")
    assert (recalled["memories"], recalled["pinned"]) == ([], [])
    assert turn.search() == []
    assert [v["status"] for v in ok(api.get(f"{path}/versions"))["versions"]] == ["DELETED", "ACTIVE"]
    assert save(api, agent, "Next.", memory_key="k")["replaces"] == []


@pytest.mark.rule("GR-4", "RC-7")
@pytest.mark.parametrize("match", ['"7"', 'W/"1"', "1", "*", '"1", "2"', "nonsense"])
def test_a_delete_of_another_version_changes_nothing(api: Api, agent: str, match: str) -> None:
    record = save(api, agent, "Staying.")
    path = f"/v1/agents/{agent}/memories/{record['id']}"
    told = problem(delete(api, path, If_Match=match), 412, "version_mismatch")
    assert told["current"] == {"id": record["id"], "version": 1, "status": "ACTIVE"}
    assert ok(api.get(path))["status"] == "ACTIVE"
    assert ok(delete(api, path, If_Match='"1"'))["status"] == "DELETED"


@pytest.mark.rule("RC-7", "RC-6")
def test_of_many_who_delete_and_restore_at_once_each_gets_a_whole_answer(api: Api, agent: str) -> None:
    record = save(api, agent, "Contested.")
    path = f"/v1/agents/{agent}/memories/{record['id']}"

    def act(n: int) -> httpx.Response:
        return delete(api, path) if n % 2 else api.post(f"{path}/restore")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(act, range(16)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    versions = ok(api.get(f"{path}/versions"))["versions"]
    statuses = [version["status"] for version in reversed(versions)]
    assert statuses == [["ACTIVE", "DELETED"][n % 2] for n in range(len(statuses))]
    listed = [r["id"] for r in ok(api.get(f"/v1/agents/{agent}/memories"))["memories"]]
    assert listed == ([record["id"]] if statuses[-1] == "ACTIVE" else [])


# ---------------------------------------------------------------- restoring


@pytest.mark.rule("GR-8", "RC-5")
def test_restoring_puts_a_record_in_the_place_of_what_replaced_it(api: Api, agent: str) -> None:
    a = save(api, agent, "First.", memory_key="k")
    b = save(api, agent, "Second.", memory_key="k")
    c = save(api, agent, "Third.", replaces=b["id"])
    restored = ok(api.post(f"/v1/agents/{agent}/memories/{a['id']}/restore"))
    assert (restored["status"], restored["version"], restored["replaced_by"]) == ("ACTIVE", 3, None)
    assert (read(api, agent, c["id"])["status"], read(api, agent, c["id"])["replaced_by"]) == ("SUPERSEDED", a["id"])
    assert read(api, agent, b["id"])["replaced_by"] == c["id"]
    assert save(api, agent, "Fourth.", memory_key="k")["replaces"] == [a["id"]]


@pytest.mark.rule("GR-8")
def test_a_record_whose_key_is_held_is_not_restored(api: Api, agent: str) -> None:
    a = save(api, agent, "First.", memory_key="k")
    ok(delete(api, f"/v1/agents/{agent}/memories/{a['id']}"))
    holder = save(api, agent, "Holder.", memory_key="k")
    told = problem(api.post(f"/v1/agents/{agent}/memories/{a['id']}/restore"), 409, "key_held")
    assert told["current"]["id"] == holder["id"]
    assert read(api, agent, a["id"])["status"] == "DELETED"


@pytest.mark.rule("GR-8", "RC-3")
def test_a_preview_record_is_restored_beside_the_live_holder_of_its_key(api: Api, agent: str) -> None:
    preview = api.begin(agent, preview=True)
    tried = preview.add("Tried.", scope="agent", memory_key="k")
    preview.end()
    ok(delete(api, f"/v1/agents/{agent}/memories/{tried['id']}"))
    live = save(api, agent, "Live.", memory_key="k")
    assert ok(api.post(f"/v1/agents/{agent}/memories/{tried['id']}/restore"))["status"] == "ACTIVE"
    assert read(api, agent, live["id"])["status"] == "ACTIVE"
    other = save(api, agent, "Next.", memory_key="k")
    assert other["replaces"] == [live["id"]]


@pytest.mark.rule("GR-8", "RC-5")
def test_only_what_has_ended_is_restored(api: Api, agent: str) -> None:
    active = save(api, agent, "Active.")
    told = problem(api.post(f"/v1/agents/{agent}/memories/{active['id']}/restore"), 409, "not_restorable")
    assert told["current"]["status"] == "ACTIVE"
    live = save(api, agent, "Hidden by preview.")
    preview = api.begin(agent, preview=True)
    hiding = preview.call("delete_memory", {"id": live["id"]})["output"]["memories"][0]
    preview.end()
    problem(api.post(f"/v1/agents/{agent}/memories/{hiding['id']}/restore"), 409, "not_restorable")
    problem(api.post(f"/v1/agents/{agent}/memories/{NOWHERE}/restore"), 404, "not_found")


@pytest.mark.rule("GR-8", "RL-1")
def test_a_constraint_is_not_restored_beyond_twenty(api: Api, agent: str) -> None:
    gone = save(api, agent, "Gone.", kind="rule")
    ok(delete(api, f"/v1/agents/{agent}/memories/{gone['id']}"))
    for n in range(20):
        save(api, agent, f"Rule {n}.", kind="rule")
    problem(api.post(f"/v1/agents/{agent}/memories/{gone['id']}/restore"), 409, "too_many_constraints")


# ---------------------------------------------------------------- platform


@pytest.mark.rule("SC-4", "RC-8")
def test_a_proposal_is_on_no_list_of_an_agent_and_on_the_platforms_own(api: Api, agent: str) -> None:
    pending = propose(api, agent, "Quote prices in euro.")
    for status in ("all", "PENDING"):
        assert ok(api.get(f"/v1/agents/{agent}/memories", status=status))["memories"] == []
    problem(api.get(f"/v1/agents/{agent}/memories/{pending['id']}"), 404, "not_found")
    listed = ok(api.get(PLATFORM, status="PENDING"))["memories"]
    assert pending["id"] in [record["id"] for record in listed]
    record = ok(api.get(f"{PLATFORM}/{pending['id']}"))
    assert (record["agent_id"], record["scope"], record["source"]) == (None, "platform", "tool")
    assert record["written_by"]["links"]["turn"].startswith(f"/v1/agents/{agent}/turns/")
    assert ok(api.get(record["written_by"]["links"]["tool_execution"]))["tool"] == "add_memory"


@pytest.mark.rule("SC-4", "RC-5")
def test_approval_takes_the_key_and_supersedes_what_was_proposed(api: Api, agent: str) -> None:
    key = f"currency-{agent}"
    holder = ok(
        api.post(PLATFORM, {"summary": "Dollars.", "kind": "fact", "scope": "platform", "memory_key": key}), 201
    )
    own = save(api, agent, "Euro here.")
    pending = propose(api, agent, "Euro everywhere.", memory_key=key, replaces=own["id"])
    assert ok(api.get(f"{PLATFORM}/{holder['id']}"))["status"] == "ACTIVE"
    path = f"{PLATFORM}/{pending['id']}/approval"
    problem(api.post(path, {"decision": "approve"}), 428, "if_match_required")
    problem(post(api, path, {"decision": "approve"}, If_Match='"2"'), 412, "version_mismatch")
    approved = ok(post(api, path, {"decision": "approve", "reason": "Agreed."}, If_Match='"1"'))
    assert (approved["status"], approved["version"]) == ("ACTIVE", 2)
    assert set(approved["replaces"]) == {own["id"], holder["id"]}
    assert ok(api.get(f"{PLATFORM}/{holder['id']}"))["replaced_by"] == pending["id"]
    assert read(api, agent, own["id"])["status"] == "SUPERSEDED"
    problem(post(api, path, {"decision": "approve"}, If_Match='"2"'), 409, "not_pending")


@pytest.mark.rule("SC-4")
def test_a_proposal_whose_target_has_changed_is_not_approved(api: Api, agent: str) -> None:
    own = save(api, agent, "Target.")
    pending = propose(api, agent, "Instead.", replaces=own["id"])
    ok(delete(api, f"/v1/agents/{agent}/memories/{own['id']}"))
    path = f"{PLATFORM}/{pending['id']}/approval"
    told = problem(post(api, path, {"decision": "approve"}, If_Match='"1"'), 409, "target_changed")
    assert told["current"] == {"id": own["id"], "version": 2, "status": "DELETED"}
    assert ok(post(api, path, {"decision": "reject"}, If_Match='"1"'))["status"] == "REJECTED"
    problem(api.post(f"{PLATFORM}/{pending['id']}/restore"), 404, "not_found")


@pytest.mark.rule("SC-4", "RC-7")
def test_of_two_who_decide_at_once_one_wins(api: Api, agent: str) -> None:
    pending = propose(api, agent, "Contested.")
    path = f"{PLATFORM}/{pending['id']}/approval"
    decisions = ["approve", "reject"] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda d: post(api, path, {"decision": d}, If_Match='"1"'), decisions))
    assert sorted(answer.status_code for answer in answers)[0] == 200
    assert [answer.status_code for answer in answers].count(200) == 1
    assert {answer.status_code for answer in answers} <= {200, 409, 412}


@pytest.mark.rule("SC-6", "RL-1")
def test_a_platform_constraint_binds_every_agent_with_memory(api: Api) -> None:
    body = {"summary": "Never promise a date.", "kind": "constraint", "scope": "platform"}
    rule = ok(api.post(PLATFORM, body), 201)
    other = api.configure(memory={"scope": {"read": ["session"], "write": ["session"]}})
    turn = api.begin(other)
    recalled = turn.recall("anything at all")
    assert rule["id"] in [item["id"] for item in recalled["constraints"]]
    assert rule["id"] in turn.search()
    assert rule["id"] in turn.search("promise a date")
    assert turn.call("read_memory", {"id": rule["id"]})["output"]["sources"][0]["summary"] == "Never promise a date."
    assert turn.call("delete_memory", {"id": rule["id"]})["error"]["code"] == "needs_person"
    assert api.begin(api.configure(memory={"enabled": False})).recall("anything")["constraints"] == []
    ok(delete(api, f"{PLATFORM}/{rule['id']}"))
    assert rule["id"] not in [item["id"] for item in api.begin(other).recall("x")["constraints"]]


@pytest.mark.rule("SC-6")
def test_other_platform_records_are_seen_where_platform_is_read(api: Api, agent: str) -> None:
    body = {"summary": "The canteen opens at noon.", "kind": "fact", "scope": "platform"}
    record = ok(api.post(PLATFORM, body), 201)
    assert record["id"] in api.begin(agent).search("canteen")
    assert record["id"] not in api.begin(api.configure()).search("canteen")
    problem(api.post(PLATFORM, {**body, "kind": "rule"}), 422, "kind_not_declared")
    problem(api.post(PLATFORM, {**body, "session_id": "s"}), 400, "unknown_field")

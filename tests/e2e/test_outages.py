"""The index or the embedding model away: answers go on, say what is missing, and what was missed is made up for."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from embedding_server import Drop, Hang, ScriptedServer
from server import MakeServer, Server, Turn, answered, ids, problem, run

TRIES = 600
ALIKE = [1.0] + [0.0] * 15  # what the scripted model says of every text that speaks of the same thing


@pytest.fixture(scope="module")
def agent(shared: Server) -> str:
    return shared.configure("outages")


def degraded(answer: dict[str, Any]) -> str | None:
    assert answer["degraded"] == (answer["degraded_reason"] is not None)
    reason: str | None = answer["degraded_reason"]
    return reason


def comes(ask: Callable[[], bool]) -> None:
    """What the server does by itself after a while."""
    patience = Event()
    assert any(ask() or patience.wait(0.1) for _ in range(TRIES))


def meaning(embedder: ScriptedServer, *alike: str) -> None:
    """Texts that hold one of the words mean the same; all others nothing to each other."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        status, answer = embedder.answer(body)
        for row in answer["data"]:
            if any(word in body["input"][row["index"]] for word in alike):
                row["embedding"] = ALIKE
        return status, answer

    embedder.script = script


# ---------------------------------------------------------------- the index


@pytest.mark.rule("RK-5", "RK-6", "RK-8", "TU-4")
def test_while_the_index_is_down_the_store_answers_and_says_so(server: Server, agent: str) -> None:
    indexed = server.remember(agent, "The depot closes at noon.", "down")
    server.settled()
    server.switch("index", state="off")
    waiting = server.remember(agent, "The depot opens at eight.", "down")
    recalled = server.recall(agent, "depot", "down")
    assert (degraded(recalled), recalled["ranked"]) == ("index_down", 2)
    assert set(ids(recalled)) == {indexed, waiting}
    turn = server.begin(agent, "down")
    staged = turn.add("The depot is red.")
    found = turn.search("depot")
    assert (found["degraded"], set(ids(found))) == (True, {indexed, waiting, staged})
    assert ids(turn.search()) == [staged, waiting, indexed]
    assert turn.call("read_memory", id=waiting)["output"]["sources"][0]["status"] == "ACTIVE"
    turn.call("delete_memory", id=indexed)
    turn.commit()
    assert set(ids(server.recall(agent, "depot", "down"))) == {waiting, staged}
    state = server.get("/v1/status")["index"]
    assert (state["state"], state["unindexed"]) == ("down", 2)
    assert state["oldest_s"] >= 0
    server.switch("index", state="on")
    server.settled()
    recalled = server.recall(agent, "depot", "down")
    assert (degraded(recalled), set(ids(recalled))) == (None, {waiting, staged})


@pytest.mark.rule("RK-5", "RK-8", "TU-4", "RC-6")
def test_while_the_index_is_paused_what_is_committed_is_seen_at_once(server: Server, agent: str) -> None:
    gone = server.remember(agent, "The depot closes at noon.", "paused")
    server.settled()
    server.switch("index", state="paused")
    reader = server.begin(agent, "paused")
    writer = server.begin(agent, "paused")
    new = writer.add("The depot opens at eight.", replaces=gone)
    assert ids(reader.recall("depot")) == [gone]
    writer.commit()
    recalled = reader.recall("depot")
    assert (degraded(recalled), ids(recalled)) == (None, [new])
    state = server.get("/v1/status")["index"]
    assert (state["state"], state["unindexed"]) == ("lagging", 1)
    server.switch("index", state="on")
    server.settled()
    assert ids(reader.recall("depot")) == [new]


@pytest.mark.rule("RK-8")
def test_a_backlog_beyond_what_is_ranked_along_is_said(server: Server, agent: str) -> None:
    server.switch("index", state="paused")
    for _ in range(7):
        turn = server.begin(agent, "behind")
        for n in range(15):
            turn.add(f"Of turn {turn.id}: depot {n}.")
        turn.commit()
    assert degraded(server.recall(agent, "depot", "behind")) == "index_behind"
    server.switch("index", state="on")
    server.settled()
    recalled = server.recall(agent, "depot", "behind")
    assert degraded(recalled) is None
    assert 100 <= recalled["ranked"] <= 105, "each ranking gives its hundred best, and they need not be the same"


@pytest.mark.rule("RK-5", "RK-6", "IF-5")
def test_an_index_that_was_wiped_is_built_again_by_itself_or_by_command(serve: MakeServer) -> None:
    server = serve()
    agent = server.configure("wiped")
    gone = server.remember(agent, "The depot closes at noon.")
    kept = [server.remember(agent, f"The depot has a gate {n}.") for n in range(5)]
    turn = server.begin(agent)
    kept.append(turn.add("The depot closes at one.", replaces=gone))
    turn.commit()
    for wipe in ("delete", "spoil", "rebuild"):
        assert server.stop() == 0
        for file in server.folder.glob("index-*.sqlite*"):
            if wipe == "delete":
                file.unlink()
            elif wipe == "spoil":
                file.write_bytes(b"this is no database " * 500)
        if wipe == "rebuild":
            rebuilt = run("reindex", "--data", str(server.folder), *server.flags[1:])
            told = f"The index holds {len(kept)} records.\nThe index holds 0 turns.\n"
            assert (rebuilt.returncode, rebuilt.stdout) == (0, told)
        server.start()
        recalled = server.recall(agent, "depot gate")  # while it is being built, from the store
        assert degraded(recalled) in (None, "index_down")
        assert gone not in ids(recalled)
        server.settled()
        found = server.begin(agent).search("depot", limit=50)
        assert (found["degraded"], set(ids(found))) == (False, set(kept))


# ---------------------------------------------------------------- the embedding model


@pytest.mark.rule("RK-6")
def test_while_the_model_is_switched_to_fail_hybrid_and_vector_go_on_by_words(server: Server) -> None:
    for mode in ("hybrid", "vector"):
        agent = server.configure(f"failing-{mode}", search={"mode": mode})
        saved = server.remember(agent, f"The depot closes at noon, {mode}.")
        turn = server.begin(agent)
        server.switch("faults", embedder=1)
        recalled = turn.recall(f"the depot of {mode}")
        assert (degraded(recalled), ids(recalled), recalled["usage"]) == ("embedder_down", [saved], None)
        server.switch("faults", embedder=1)
        found = turn.search(f"which depot, {mode}?")
        assert (found["degraded"], ids(found)) == (True, [saved])
        assert degraded(turn.recall(f"the depot of {mode}")) is None


def refusing(body: dict[str, Any]) -> tuple[int, Any]:
    return 500, {"error": {"message": "no"}}


def hanging(body: dict[str, Any]) -> tuple[int, Any]:
    raise Hang


def dropping(body: dict[str, Any]) -> tuple[int, Any]:
    raise Drop


def prattling(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, b"I am a proxy page, not JSON."


@pytest.mark.rule("RK-6", "TU-1")
@pytest.mark.parametrize("script", [refusing, dropping, prattling, hanging])
def test_what_is_saved_while_the_model_is_away_is_embedded_later_and_found_by_meaning(
    server: Server, agent: str, embedder: ScriptedServer, script: Any
) -> None:
    session = f"away, {script.__name__}"
    embedder.script = script
    saved = server.remember(agent, f"The dépôt shuts at noon ({session}).", session)
    recalled = server.recall(agent, "dépôt", session)
    assert (degraded(recalled), ids(recalled)) == ("embedder_down", [saved])
    meaning(embedder, "dépôt", "warehouse")
    turn = server.begin(agent, session)
    comes(lambda: ids(turn.recall("When does our warehouse close?")) == [saved])
    assert degraded(turn.recall("Which warehouse?")) is None
    server.settled()


@pytest.mark.rule("RK-6")
def test_one_text_that_the_model_always_refuses_holds_up_no_other(
    server: Server, agent: str, embedder: ScriptedServer
) -> None:
    embedder.script = embedder.refusing("unspeakable")
    turn = server.begin(agent, "refused")
    refused, taken = turn.add("The unspeakable depot."), turn.add("The red depot.")
    turn.commit()
    server.settled()
    assert set(ids(server.recall(agent, "depot", "refused"))) == {refused, taken}


@pytest.mark.rule("RK-6", "CF-6")
def test_a_server_starts_and_answers_before_the_model_ever_did(serve: MakeServer, embedder: ScriptedServer) -> None:
    embedder.script = refusing
    server = serve(min_score=None)  # so its floor is to be measured, which needs the model
    agent = server.configure("early")
    saved = server.remember(agent, "The depot closes at noon.")
    assert server.get("/v1/status")["embedder"] == {
        "model": "scripted",
        "dimensions": 16,
        "min_score": None,
        "near_score": None,
    }
    turn = server.begin(agent)
    recalled = turn.recall("depot")
    assert (degraded(recalled), ids(recalled)) == ("embedder_down", [saved])
    assert turn.search("depot")["degraded"] is True
    embedder.script = embedder.answer
    assert degraded(turn.recall("The depot?")) is None
    assert server.get("/v1/status")["embedder"]["min_score"] is not None


@pytest.mark.rule("RK-6", "RK-8")
def test_with_index_and_model_both_away_words_are_found_in_the_store(
    server: Server, agent: str, embedder: ScriptedServer
) -> None:
    server.switch("index", state="off")
    embedder.script = refusing
    saved = server.remember(agent, "The depot closes at noon.", "both")
    recalled = server.recall(agent, "depot", "both")
    assert (degraded(recalled), ids(recalled)) == ("index_down", [saved])
    server.switch("index", state="on")
    embedder.script = embedder.answer
    server.settled()


# ---------------------------------------------------------------- the switches themselves


def test_a_switch_that_is_wrong_is_told(server: Server) -> None:
    for name, body in (("index", {"state": "broken"}), ("faults", {"index": 1}), ("faults", {"embedder": -1})):
        answer = server.http.post(f"/v1/dev/{name}", json=body)
        assert answer.status_code == 400
        assert answered(answer, 400)["faults"]
    problem(server.http.post("/v1/dev/nowhere", json={}), 404, "not_found")


def test_turns_of_the_shared_server_are_still_answered(server: Server, agent: str) -> None:
    assert isinstance(server.begin(agent, "after all"), Turn)

"""Calls that come at the same moment: every one is answered in order, and together they leave one state."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import httpx
import pytest
from server import Server, Turn, ids, problem

T = TypeVar("T")
THREADS = 8


@pytest.fixture(scope="module")
def agent(shared: Server) -> str:
    return shared.configure("many", search={"mode": "lexical"})


def at_once(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Each in a thread of its own, begun together."""
    several = list(calls)
    barrier = Barrier(len(several))

    def call(one: Callable[[], T]) -> T:
        barrier.wait(60)
        return one()

    with ThreadPoolExecutor(len(several)) as threads:
        return list(threads.map(call, several))


def ending(turn: Turn, outcome: str, **fields: Any) -> Callable[[], httpx.Response]:
    return lambda: turn.server.http.post(f"{turn.path}/end?wait=25", json={"outcome": outcome, **fields})


# ---------------------------------------------------------------- ends


@pytest.mark.rule("TU-1", "TU-2")
def test_a_turn_ended_many_times_at_once_is_committed_once(server: Server, agent: str) -> None:
    turn = server.begin(agent, "same ends")
    saved = turn.add("The depot closes at noon.")
    said = [{"role": "agent", "text": "Done."}]
    answers = at_once([ending(turn, "completed", messages=said)] * THREADS)
    assert [answer.status_code for answer in answers] == [200] * THREADS
    assert len({answer.text for answer in answers}) == 1
    events = server.get(f"{turn.path}/transcript")["events"]
    kinds = Counter(event["type"] for event in events)
    assert (kinds["turn.committed"], kinds["message"]) == (1, 1)
    assert list(server.records(agent, session_id="same ends", status="all")) == [saved]


@pytest.mark.rule("TU-1", "TU-2")
def test_of_different_ends_at_once_the_first_stands(server: Server, agent: str) -> None:
    for n in range(4):
        turn = server.begin(agent, f"different ends {n}")
        saved = turn.add("The depot closes at noon.")
        answers = at_once(ending(turn, outcome) for outcome in ["completed", "failed"] * (THREADS // 2))
        ended = {answer.json()["status"] for answer in answers if answer.status_code == 200}
        assert len(ended) == 1
        for answer in answers:
            if answer.status_code != 200:
                problem(answer, 409, "outcome_differs")
        assert len([answer for answer in answers if answer.status_code == 200]) == THREADS // 2
        found = list(server.records(agent, session_id=f"different ends {n}", status="all"))
        assert found == ([saved] if ended == {"committed"} else [])


@pytest.mark.rule("TU-1", "TU-2", "TU-4")
def test_a_commit_whose_answer_was_lost_is_found_by_asking_again(server: Server) -> None:
    not_due = {"every": {"messages": 1000}}  # the call itself commits
    agent = server.configure("loses", search={"mode": "lexical"}, extraction=not_due)
    turn = server.begin(agent, "lost answer")
    saved = turn.add("The depot closes at noon.")
    server.switch("faults", commit_answer_lost=1)
    end = ending(turn, "completed", messages=[{"role": "agent", "text": "Done."}])
    server.announced += 1
    lost = end()
    problem(lost, 503, "unavailable")
    assert lost.headers["retry-after"]
    assert ids(server.recall(agent, "depot", "lost answer")) == [saved]
    again = [end().json() for _ in range(2)]
    assert again[0] == again[1] == turn.state()
    assert (again[0]["status"], [memory["id"] for memory in again[0]["memories"]]) == ("committed", [saved])
    problem(ending(turn, "failed")(), 409, "outcome_differs")
    kinds = Counter(event["type"] for event in server.get(f"{turn.path}/transcript")["events"])
    assert (kinds["turn.committed"], kinds["message"]) == (1, 1)
    assert list(server.records(agent, session_id="lost answer", status="all")) == [saved]


@pytest.mark.rule("TU-1", "TU-2")
def test_a_turn_can_be_ended_while_its_helpers_go_on_asking(server: Server, agent: str) -> None:
    turn = server.begin(agent, "busy")
    saved = [turn.add(f"The depot {n} closes at noon.") for n in range(3)]

    def ask() -> None:
        while server.http.post(f"{turn.path}/recall", json={"query": "depot"}).status_code == 200:
            pass

    *_, ended = at_once([*[ask] * THREADS, turn.commit])
    assert ended is not None
    assert [memory["id"] for memory in ended["memories"]] == saved


# ---------------------------------------------------------------- adds and messages


@pytest.mark.rule("TU-1", "TU-5")
def test_of_more_adds_at_once_than_a_turn_takes_as_many_are_saved_as_it_takes(server: Server, agent: str) -> None:
    turn = server.begin(agent, "full")
    answers = at_once(
        (lambda n=n: turn.call("add_memory", summary=f"Depot {n}.", kind="fact"))  # type: ignore[misc]
        for n in range(20)
    )
    codes = Counter("saved" if "output" in answer else answer["error"]["code"] for answer in answers)
    assert codes == {"saved": 15, "turn_full": 5}
    saved = {answer["output"]["memories"][0]["id"] for answer in answers if "output" in answer}
    assert {memory["id"] for memory in turn.commit()["memories"]} == saved
    assert set(server.records(agent, session_id="full")) == saved
    executions = server.get(f"{turn.path}/transcript", type="execution", limit=200)["events"]
    assert len({event["sequence"] for event in executions}) == 20


@pytest.mark.rule("TL-2")
def test_of_equal_adds_at_once_one_is_saved_and_the_rest_are_duplicates(server: Server, agent: str) -> None:
    turn = server.begin(agent, "equal")
    answers = at_once([lambda: turn.call("add_memory", summary="The depot.", kind="fact")["output"]] * THREADS)
    assert Counter(answer["duplicate"] for answer in answers) == {False: 1, True: THREADS - 1}
    assert len({answer["memories"][0]["id"] for answer in answers}) == 1
    assert len(turn.commit()["memories"]) == 1


@pytest.mark.rule("TU-10")
def test_messages_sent_at_once_are_all_kept_each_call_in_its_order(server: Server, agent: str) -> None:
    turn = server.begin(agent, "messages")

    def say(caller: int) -> list[int]:
        said = [{"role": "user", "text": f"{caller} {n}"} for n in range(5)]
        return [m["sequence"] for m in server.post(f"{turn.path}/messages", {"messages": said})["messages"]]

    taken = at_once((lambda caller=caller: say(caller)) for caller in range(THREADS))  # type: ignore[misc]
    assert all(numbers == list(range(numbers[0], numbers[0] + 5)) for numbers in taken)
    events = server.pages(f"{turn.path}/transcript", "events", type="message")
    told = {event["sequence"]: event["text"] for event in events}
    assert told == {number: f"{caller} {n}" for caller, numbers in enumerate(taken) for n, number in enumerate(numbers)}


# ---------------------------------------------------------------- turns


@pytest.mark.rule("TU-7")
def test_turns_of_a_session_begun_at_once_take_every_number_once(server: Server, agent: str) -> None:
    begun = at_once([lambda: server.begin(agent, "numbers").made["number"]] * 20)
    assert sorted(begun) == list(range(1, 21))
    assert server.begin(agent, "numbers").made["number"] == 21


@pytest.mark.rule("TU-6")
def test_of_retries_at_once_one_attempt_is_open_and_one_can_commit(server: Server, agent: str) -> None:
    first = server.begin(agent, "retries")
    first.end("failed")
    attempts = at_once([lambda: server.begin(agent, "retries", retry_of=first.id)] * 6)
    assert sorted(turn.made["attempt"] for turn in attempts) == [2, 3, 4, 5, 6, 7]
    assert {turn.made["number"] for turn in attempts} == {first.made["number"]}
    assert Counter(turn.state()["status"] for turn in attempts) == {"open": 1, "rolled_back": 5}
    answers = at_once(ending(turn, "completed") for turn in attempts)
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 5}
    for answer in answers:
        if answer.status_code == 409:
            problem(answer, 409, "turn_not_open")


@pytest.mark.rule("TU-6", "TU-2")
def test_an_end_and_a_retry_at_once_never_both_succeed(server: Server, agent: str) -> None:
    for n in range(THREADS):
        turn = server.begin(agent, f"race {n}")
        turn.add("The depot closes at noon.")
        again = {"session_id": f"race {n}", "retry_of": turn.id}
        retrying = lambda: server.http.post(f"/v1/agents/{agent}/turns", json=again)  # noqa: E731, B023
        ended, retried = at_once([ending(turn, "completed"), retrying])
        if ended.status_code == 200:
            problem(retried, 409, "not_retryable")
        else:
            problem(ended, 409, "turn_not_open")
            assert (retried.status_code, turn.state()["reason"]) == (201, "superseded")
        committed = ended.status_code == 200
        assert len(server.records(agent, session_id=f"race {n}", status="all")) == committed


# ---------------------------------------------------------------- replacing


@pytest.mark.rule("TU-8", "RC-5")
@pytest.mark.parametrize("turns", [8, 32])
def test_of_turns_that_replace_one_record_at_once_every_one_commits_and_the_chain_is_whole(
    server: Server, agent: str, turns: int
) -> None:
    target = server.remember(agent, "The depot closes at noon.", scope="agent")
    replacing = [server.begin(agent, f"replacing {turns} {n}") for n in range(turns)]
    new = [turn.add(f"Depot {n}.", scope="agent", replaces=target) for n, turn in enumerate(replacing)]
    ended = at_once(turn.commit for turn in replacing)
    found = server.records(agent, status="all", scope="agent")
    chain = [target]
    while (heir := found[chain[-1]]["replaced_by"]) is not None:
        assert found[heir]["replaces"] == [chain[-1]]
        chain.append(heir)
    assert sorted(chain) == sorted([target, *new])
    assert [found[id]["status"] for id in chain] == ["SUPERSEDED"] * turns + ["ACTIVE"]
    conflicts = {turn["memories"][0]["id"]: turn["conflicts"] for turn in ended}
    assert conflicts[chain[1]] == []
    for before, id in itertools.pairwise(chain[1:]):
        (conflict,) = conflicts[id]
        assert (conflict["change"], conflict["target"], conflict["outcome"]) == ("replace", target, "retargeted")
        assert conflict["current"] == {"id": before, "version": 1, "status": "ACTIVE"}
    assert ids(server.begin(agent, "reader").search("depot", limit=50)).count(chain[-1]) == 1


@pytest.mark.rule("TU-8", "RC-6")
def test_of_turns_that_delete_one_record_at_once_every_one_commits_and_it_is_deleted_once(
    server: Server, agent: str
) -> None:
    target = server.remember(agent, "The depot closes at noon.", scope="agent")
    deleting = [server.begin(agent, f"deleting {n}") for n in range(THREADS)]
    for turn in deleting:
        assert "output" in turn.call("delete_memory", id=target)
    ended = at_once(turn.commit for turn in deleting)
    assert Counter(len(turn["conflicts"]) for turn in ended) == {0: 1, 1: THREADS - 1}
    versions = server.get(f"/v1/agents/{agent}/memories/{target}/versions")["versions"]
    assert [version["status"] for version in versions] == ["DELETED", "ACTIVE"]

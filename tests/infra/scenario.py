"""Everything that the functions do, once: each route in each of its ways, the stream, the schedule, an outage."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any
from unittest.mock import patch

import boto3
import httpx
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from embedders import HashEmbedder
from http_api import EVERY_SCOPE, TurnOverHttp, ok
from moto import mock_aws
from node_js import give_up
from opensearch_node.node import NodeMissing, running_node
from recorded import RecordedApi, Recorder, Use, noted, noted_server
from review_questions import conversed
from states import Call, Execution
from table_fixtures import create_tables

from agent_memory.adapters.change_feed import FeedRow
from agent_memory.domain.ports import Clock, Key
from agent_memory.domain.turns import TurnStatus
from agent_memory.local.feed import stream_event
from agent_memory.local.gateway import Gateway
from agent_memory.operations.enter import find_turn
from agent_memory.runtime import settings, wiring
from agent_memory.runtime.routes import Route
from agent_memory.store.keys import UNINDEXED
from functions.commit.handler import handler as commit_handler
from functions.index.handler import handler as index_handler
from functions.review.handler import handler as review_handler
from functions.upkeep.handler import handler as upkeep_handler
from infra.constructs.turn_end import definition

TABLES = ("Memory", "Execution")
MODEL = "amazon.titan-embed-text-v2:0"
DIMENSIONS = 256
MACHINE = "TurnEnd"

MEMORY = {
    "kinds": ["fact", "constraint"],
    "pinned": {"max_tokens": 2000},
    "tools": ["add_memory", "read_memory", "delete_memory"],
    "labels": {"customer": {"number": 5, "description": "Whose account it is."}},
    "search": {"min_score": None},
    "retention": {"scope": {"session": "12h"}, "preview": "12h"},
}
NEVER = {"every": {"messages": 1000}}  # is a review due
EVERYWHERE = [*EVERY_SCOPE, "platform"]
PLATFORM = "/v1/platform/memories"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "eu-central-1",
    settings.MEMORY_TABLE: TABLES[0],
    settings.EXECUTION_TABLE: TABLES[1],
    settings.EMBEDDER: f"bedrock:{MODEL}",
    settings.TURN_END: f"arn:aws:states:eu-central-1:111122223333:stateMachine:{MACHINE}",
    settings.EMBEDDER_DIMENSIONS: str(DIMENSIONS),
}


STEPS = {"review": review_handler, "commit": commit_handler}


@dataclass(frozen=True)
class Recorded:
    """uses: by function. called: the routes that were driven, and whether with an Idempotency-Key."""

    uses: Mapping[str, set[Use]]
    called: set[tuple[Route, bool]]


def recorded() -> Recorded:
    """Skips the test where no node is to be had: one of its own, since the index has its real name."""
    recorder = Recorder()
    with ExitStack() as stack:
        try:
            node = stack.enter_context(running_node())
        except NodeMissing as reason:
            give_up(f"no OpenSearch node: {reason}")
        url = stack.enter_context(noted_server(recorder, node))
        stack.enter_context(patch.dict(os.environ, {**ENVIRONMENT, settings.OPENSEARCH_URL: url}))
        stack.enter_context(mock_aws())
        model = Model()
        ends = TurnEnds()
        answers = {"bedrock-runtime": model.answer, "stepfunctions": ends.start}
        made = noted(recorder, BaseClient._make_api_call, answers)
        stack.enter_context(patch.object(BaseClient, "_make_api_call", made))
        create_tables(boto3.client("dynamodb"), *TABLES)
        stack.callback(wiring.use, None)
        wiring.use(None)
        scenario = Scenario(recorder, model, ends, node)
        ends.call = scenario.step
        scenario.play()
    return Recorded(recorder.uses, scenario.api.called)


@dataclass
class Model:
    """Bedrock's answers without a network. down: none. proposed: by the one that reviews, at the next question alone;
    of each it decides to correct the nearest record that it may."""

    down: bool = False
    proposed: list[dict[str, Any]] = field(default_factory=list)
    vectors = HashEmbedder(DIMENSIONS)

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        if self.down:
            raise ClientError({"Error": {"Code": "ServiceUnavailableException"}}, "InvokeModel")
        return self._review(asked) if "messages" in asked else self._embed(asked)

    def _review(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        question = json.loads(asked["messages"][0]["content"][0]["text"])
        if "messages" in question:
            proposed, self.proposed = self.proposed, []
            return conversed(json.dumps({"candidates": proposed}))
        return conversed(json.dumps({"decisions": [_decided(each) for each in question["candidates"]]}))

    def _embed(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        vector = self.vectors.vector(json.loads(asked["body"])["inputText"])
        return {"body": io.BytesIO(json.dumps({"embedding": vector, "inputTextTokenCount": 3}).encode())}


def told(summary: str, key: str, **more: Any) -> dict[str, Any]:
    """A candidate that a review proposes."""
    return {"retracts": False, "summary": summary, "kind": "fact", "scope": "agent", "memory_key": key, **more}


def _decided(candidate: Mapping[str, Any]) -> dict[str, Any]:
    target = next((each["id"] for each in candidate["neighbours"] if each["writable"]), None)
    action = ("delete" if candidate["retracts"] else "replace") if target else "skip"
    return {"candidate": candidate["candidate"], "action": action, "memory_id": target, "reason": "As was said."}


@dataclass
class TurnEnds:
    """Step Functions, whose executions are over when they have begun. call: of its functions. down: begins none."""

    call: Call | None = None
    down: bool = False
    machine = definition("review", "commit")
    names: set[str] = field(default_factory=set)

    def start(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        if self.down:
            raise ClientError({"Error": {"Code": "ServiceUnavailable"}}, "StartExecution")
        if asked["name"] in self.names:
            raise ClientError({"Error": {"Code": "ExecutionAlreadyExists"}}, "StartExecution")
        self.names.add(asked["name"])
        assert self.call
        Execution(self.machine, self.call).run(json.loads(asked["input"]))
        return {}


@dataclass
class LateClock:
    inner: Clock
    late: timedelta = timedelta()

    def now(self) -> datetime:
        return self.inner.now() + self.late


class Processes:
    """Each function works with what it has made itself, as in a process of its own; `restart` ends them all."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._wired: dict[str, wiring.Wired] = {}
        self._now: wiring.Wired | None = None
        self.late = timedelta()

    @contextmanager
    def of(self, function: str) -> Iterator[None]:
        with self._recorder.driving(function):
            if function not in self._wired:
                self._wired[function] = self._started()
            before, self._now = self._now, self._wired[function]
            wiring.use(self._now)
            try:
                yield
            finally:
                self._now = before
                wiring.use(before)

    def _started(self) -> wiring.Wired:
        wiring.use(None)
        wired = wiring.wired()
        return replace(wired, services=replace(wired.services, clock=LateClock(wired.services.clock, self.late)))

    def restart(self, *, hours_later: int = 0) -> None:
        self._wired.clear()
        self.late += timedelta(hours=hours_later)


class Scenario:
    def __init__(self, recorder: Recorder, model: Model, ends: TurnEnds, node: str) -> None:
        self.recorder, self.model, self.ends, self.node = recorder, model, ends, node
        self.processes = Processes(recorder)
        self.api = RecordedApi(Gateway().app(), self.processes.of)
        self.dynamodb = boto3.client("dynamodb")
        self.before_commit: Callable[[], object] | None = None
        self._said = 0

    def play(self) -> None:
        agent = self.configurations()
        self.recalls(agent)  # before there is an index, and a floor of the model
        self.upkeep()  # makes both
        for careful in (False, True):
            # The second time every POST is sent twice with one key, and the answers of all transactions are lost.
            self.api.repeats = self.recorder.loses_answers = careful
            self.processes.restart()
            self.turns(agent)
            self.binding()
            self.stream()
            self.recalls(agent)
            self.people(agent)
            self.platform(agent)
            for messages in ([], [{"role": "user", "text": "By post."}]):  # without a review, and with one
                self.previews(agent, messages)
            self.records(agent)
            self.activity(agent)
            self.history()
            self.reviews()
        self.long_answer(agent)
        self.outage(agent)
        self.lost_index(agent)
        self.told_twice(agent)

    def configurations(self) -> str:
        agent = self.api.configure("support", memory=MEMORY)
        self.api.put(f"/v1/agents/{agent}/config", {"memory": {"enabled": True}}, If_Match='"7"')
        newer = {"memory": {"enabled": True, "scope": {"read": EVERYWHERE, "write": EVERYWHERE}, **MEMORY}}
        newer["memory"]["recall"] = {"max_tokens": 3000}
        ok(self.api.put(f"/v1/agents/{agent}/config", newer, If_Match='"1"'))
        for path in ("config", "config/versions", "tools"):
            ok(self.api.get(f"/v1/agents/{agent}/{path}"))
        ok(self.api.get(f"/v1/agents/{agent}/config", version="1"))
        for path in ("status", "openapi.json"):
            ok(self.api.get(f"/v1/{path}"))
        return agent

    def turns(self, agent: str) -> None:
        turn = self.api.begin(agent, user_id="u", workflow_id="w", messages=[{"role": "user", "text": "By post."}])
        ok(self.api.post(f"{turn.path}/messages", {"messages": [{"role": "agent", "text": "x" * 100_000}] * 5}))
        kept = turn.add("Wants invoices by post.", scope="user", labels={"customer": "1187"})
        wrong = turn.add("The depot closes at noon.", scope="agent", content="As told by phone.")
        turn.search("invoices")
        turn.search(ids=[kept["id"]])
        turn.call("read_memory", {"id": kept["id"]})
        turn.call("add_memory", {"summary": "", "kind": "fact"})
        ok(self.api.get(turn.path, wait=0))
        judged = {"verdict": "rejected", "feedback": "Ask for the number first."}
        ok(self.api.post(f"{turn.path}/judgements", judged), 201)
        turn.end(messages=[{"role": "agent", "text": "Noted."}])
        ok(self.api.get(turn.path))
        ok(self.api.get(f"{turn.path}/transcript"))

        second = self.api.begin(agent, "s2", user_id="u")
        second.add("The depot closes at one.", scope="agent", replaces=wrong["id"])
        second.call("delete_memory", {"id": kept["id"]})
        second.add("Wants invoices by mail.", scope="user")
        second.end()
        failed = self.api.begin(agent, "s3", agent_version=1)
        failed.add("Never said.")
        failed.end("failed", error="crashed")
        self.api.begin(agent, "s3", retry_of=failed.id).end()
        self.api.begin(agent, "left-open").add("Staged for ever.")

    def binding(self) -> None:
        """A kind that binds from one version of a configuration on."""
        agent = self.api.configure()
        self.api.remember(agent, "The depot closes at noon.")
        kinds = {"fact": {"precedence": "broader"}}
        ok(self.api.put(f"/v1/agents/{agent}/config", {"memory": {"enabled": True, "kinds": kinds}}, If_Match='"1"'))

    def recalls(self, agent: str) -> None:
        for session in ("s1", "s4"):
            turn = self.api.begin(agent, session, user_id="u")
            turn.recall("invoices depot", explain=True)
            turn.search("depot")
            turn.add("The depot has moved.", scope="agent")
            turn.search("depot moved")
            messages = [{"role": "user", "text": "When does the depot close?"}]
            ok(self.api.post(f"{turn.path}/recall", {"messages": messages}))
            turn.end()
            self.api.begin(agent, session, user_id="u").recall("moved")

    def people(self, agent: str) -> None:
        """What is saved, deleted and restored beside turns; keys, pins and constraints too."""
        path = f"/v1/agents/{agent}/memories"
        owned = {"kind": "fact", "scope": "user", "user_id": "u", "memory_key": "opening", "pinned": True}
        first = self.saved(path, **owned)
        ok(self.api.post(path, {"summary": first["summary"], **owned}))  # known already
        second = self.saved(path, **owned)
        rule = self.saved(path, kind="constraint", scope="agent", memory_key="opening")
        third = self.saved(path, kind="fact", scope="session", session_id="s1", labels={"customer": "1187"})
        self.saved(path, kind="fact", scope="session", session_id="s1", replaces=[third["id"]])
        turn = self.api.begin(agent, user_id="u")
        turn.recall("When does it open?")
        turn.add("It opens at seven.", scope="session", memory_key="opening", pinned=True)
        turn.add("Never say when.", kind="constraint", scope="workflow" if turn.made["workflow_id"] else "user")
        turn.end()
        for record in (rule, second):
            for _ in range(2):
                ok(self.api.request("DELETE", f"{path}/{record['id']}"))
        self.request("POST", f"{path}/{first['id']}/restore", version=2)
        self.request("POST", f"{path}/{first['id']}/restore", version=1, code=412)
        self.request("DELETE", f"{path}/{first['id']}", version=3)

    def platform(self, agent: str) -> None:
        """Two proposals by a tool, one approved and one refused; and what a person writes."""
        turn = self.api.begin(agent, user_id="u")
        proposed = [
            turn.add(f"Proposed in {turn.id}: {word}.", scope="platform", memory_key=key)
            for word, key in (("one", "offices"), ("two", None))
        ]
        turn.end()
        self.saved(PLATFORM, kind="fact", scope="platform", memory_key="offices")
        rule = self.saved(PLATFORM, kind="constraint", scope="platform")
        for proposal, decision in zip(proposed, ("approve", "reject"), strict=True):
            body = {"decision": decision, "reason": "As agreed."}
            self.request("POST", f"{PLATFORM}/{proposal['id']}/approval", body, version=1)
            self.request("POST", f"{PLATFORM}/{proposal['id']}/approval", body, version=2, code=409)
        self.api.begin(agent, "s6").recall("offices")
        for query in ({}, {"status": "all", "limit": 2}, {"query": "offices"}):
            ok(self.api.get(PLATFORM, **query))
        for below in ("", "/versions"):
            ok(self.api.get(f"{PLATFORM}/{proposed[0]['id']}{below}"))
        ok(self.api.request("DELETE", f"{PLATFORM}/{rule['id']}"))

    def previews(self, agent: str, messages: list[dict[str, Any]]) -> None:
        """A preview turn that replaces what is live, hides it, and looks at what comes of it."""
        live = self.api.remember(agent, f"Said before preview {self.count()}.", scope="agent")
        gone = self.api.remember(agent, f"Said before preview {self.count()}.", scope="agent")
        for n in range(2):
            turn = self.api.begin(agent, "s7", preview=True, messages=messages)
            turn.recall("said before preview")
            if n == 0:
                turn.add(f"Said in preview {turn.id}.", scope="agent", replaces=live["id"])
                turn.call("delete_memory", {"id": gone["id"]})
            turn.search("preview")
            turn.end()

    def long_answer(self, agent: str) -> None:
        """One that a single row cannot keep: it is kept in several, and found again."""
        turn, random = self.api.begin(agent, "s8"), Random(8)
        contents = ["".join(chr(random.randrange(0x4E00, 0x9FFF)) for _ in range(16_000)) for _ in range(13)]
        self.api.repeats = False
        ids = [turn.add("Long.", content=content)["id"] for content in contents]
        self.api.repeats = True
        assert len(turn.search(ids=ids)) == len(ids)
        turn.end("failed")

    def records(self, agent: str) -> None:
        path = f"/v1/agents/{agent}/memories"
        listed = ok(self.api.get(path, status="all", limit=2))
        ok(self.api.get(path, status="all", limit=2, after=listed["next"]))
        for filters in (
            {"scope": "user", "user_id": "u"},
            {"session_id": "s1"},
            {"kind": "fact", "preview": "true"},
            {"expired": "true"},
            {"memory_key": "opening", "pinned": "true"},
            {"query": "depot", "explain": "true"},
            {"query": "depot", "label.customer": "1187"},
        ):
            ok(self.api.get(path, **filters))
        for filters in ({}, {"scope": "agent", "explain": "true"}, {"session_id": "s1"}):
            ok(self.api.get(path, query="the depot", **filters))
        id = listed["memories"][0]["id"]
        for below in ("", "/versions", "/versions/1"):
            ok(self.api.get(f"{path}/{id}{below}"))

    def history(self) -> None:
        """What turns said, told to the index, found, and read in a transcript; with the model down too."""
        agent = self.api.configure(history={"index": "messages"}, memory={"extraction": NEVER})
        for down in (False, True):
            self.model.down = down
            self.said(agent)
            look = self.api.begin(agent)
            (event,) = look.call("search_history", {"query": "said", "limit": 1})["output"]["events"]
            look.call("search_history", {"ids": [event["id"]]})
            self.stream()
            ok(self.api.get(f"{look.path}/transcript"))
            look.end("failed")
        self.model.down = False
        self.upkeep()

    def reviews(self) -> None:
        """What a review adds, corrects and takes away, and proposes for platform; what it finds known; lessons; a
        target that changes before the commit, so that it decides again; a review that fails, done again, and one whose
        messages the next one reads."""
        agent = self.api.configure(memory={**MEMORY, "scope": {"read": EVERYWHERE, "write": EVERYWHERE}})
        colour, size, offices = (f"{what} {self.count()}" for what in ("colour", "size", "offices"))
        self.reviewed(agent, told("It is red.", colour), told("It is large.", size))
        self.reviewed(agent, told("It is blue.", colour), told("It is large.", size), told("", size, retracts=True))
        self.reviewed(agent, told("Offices close at one.", offices, scope="platform"), judged=True)
        path = f"/v1/agents/{agent}/memories"
        (held,) = ok(self.api.get(path, memory_key=colour))["memories"]
        self.before_commit = lambda: ok(self.api.request("DELETE", f"{path}/{held['id']}"))
        self.reviewed(agent, told("It is green.", colour))
        self.model.down = True
        turn = self.reviewed(agent, told("It is grey.", colour))
        self.model.down = False
        (failed,) = ok(self.api.get(f"/v1/agents/{agent}/turns", review="failed"))["turns"]
        assert failed["turn_id"] == turn.id
        ok(self.api.post(f"{turn.path}/review"), 202)
        assert ok(self.api.get(turn.path))["review"]["status"] == "done"
        (held,) = ok(self.api.get(path, memory_key=colour))["memories"]
        assert held["summary"] == "It is grey."
        self.model.down = True
        self.reviewed(agent, told("It is white.", colour))
        self.model.down = False
        self.reviewed(agent, told("It is black.", colour))  # and what the turn before it said

    def reviewed(self, agent: str, *proposed: dict[str, Any], judged: bool = False) -> TurnOverHttp:
        turn = self.api.begin(agent, user_id="u", messages=[{"role": "user", "text": f"Said {self.count()}."}])
        if judged:
            rejected = {"verdict": "rejected", "feedback": f"Ask first, {self.count()}."}
            ok(self.api.post(f"{turn.path}/judgements", rejected), 201)
        self.model.proposed = list(proposed)
        assert turn.end()["status"] == "committed"
        return turn

    def activity(self, agent: str) -> None:
        """With a turn left open that has staged what replaces and what goes."""
        open_turn = self.api.begin(agent, "s5", user_id="u")
        wrong = self.api.remember(agent, f"The depot is closed, {open_turn.id} says.", scope="agent")
        open_turn.add("The depot is open again.", scope="agent", replaces=wrong["id"])
        executed = open_turn.call("search_memory", {"query": "depot"})["tool_execution_id"]
        path = f"/v1/agents/{agent}"
        page = ok(self.api.get(f"{path}/turns", limit=2))
        ok(self.api.get(f"{path}/turns", limit=2, after=page["next"]))
        ok(self.api.get(f"{path}/executions/{executed}"))
        for below, queries in {
            "turns": ({"status": "open", "user_id": "u"}, {"since": "2026-01-01T00:00:00Z"}),
            "sessions": ({}, {"user_id": "u"}, {"session_id": "s5", "user_id": "u"}),
            "usage": ({}, {"by": "day"}),
        }.items():
            for query in queries:
                ok(self.api.get(f"{path}/{below}", **query))
        ok(self.api.get("/v1/agents", limit=1))
        open_turn.end("failed")

    def outage(self, agent: str) -> None:
        """The model is down at two commits: the stream embeds one of them, upkeep the other. It finds a turn left open
        too, ends that were cut off, a commit that the stream lost, and records whose time is over."""
        self.cut_off(agent)
        self.ends.down = True
        begun = self.api.begin(agent, messages=[{"role": "user", "text": "By post."}])
        ok(self.api.post(f"{begun.path}/end", {"outcome": "completed"}), 202)
        self.ends.down = False
        for repair in (self.stream, self.upkeep):
            self.model.down = True
            self.say(agent, "Said while the model was away")
            self.stream()
            self.model.down = False
            self.say(agent, "Said after that")
            self.processes.restart(hours_later=25)
            repair()
        assert ok(self.api.get(begun.path))["status"] == "committed"
        ok(self.api.get("/v1/status"))

    def cut_off(self, agent: str) -> None:
        """A turn whose call ended it, and was not there any more to commit it."""
        live = [self.api.remember(agent, f"Said before: {self.count()}.", scope="agent") for _ in range(2)]
        begun = self.api.begin(agent, user_id="u")
        begun.add(f"Said instead: {self.count()}.", scope="agent", replaces=live[0]["id"], memory_key="cut off")
        begun.add("Never say this.", kind="constraint", scope="agent", pinned=True)
        begun.call("delete_memory", {"id": live[1]["id"]})
        wiring.use(None)
        services = wiring.services()
        turn = find_turn(services, agent, begun.id)
        ending = replace(turn, status=TurnStatus.ENDING, outcome="completed", ended_at=turn.started_at)
        services.turns.transact([services.turns.change(turn, ending), *services.turns.ending(turn)])

    def lost_index(self, agent: str) -> None:
        """Every index is gone: upkeep fills a new one from the table, and the stream goes on."""
        self.delete_indices()
        self.upkeep()
        self.say(agent, "Said after the index was made anew")
        self.stream()

    def told_twice(self, agent: str) -> None:
        """Marks whose removal was lost are told again, also while another index is filled beside this one."""
        historic = self.api.configure(history={"index": "messages"}, memory={"extraction": NEVER})
        for filling in (False, True):
            if filling:
                for index in self.replaceables():
                    index.start_next()
            for tell in (self.stream, self.upkeep):
                self.say(agent, "Told more than once")
                self.said(historic)
                self.processes.restart(hours_later=1)
                marks = self.marks()
                tell()
                for mark in marks:
                    self.dynamodb.put_item(TableName=TABLES[0], Item=mark)
                tell()
                assert self.marks() == []

    def say(self, agent: str, what: str) -> None:
        self.api.remember(agent, f"{what}: {self.count()} times.", scope="agent")

    def said(self, agent: str) -> None:
        """In a turn of its own, whose history keeps it."""
        turn = self.api.begin(agent, messages=[{"role": "user", "text": f"Said {self.count()}."}])
        turn.end()

    def saved(self, path: str, **fields: Any) -> dict[str, Any]:
        return ok(self.api.post(path, {"summary": f"The office opens at {self.count()}.", **fields}), 201)

    def count(self) -> int:
        """Makes each text another, since what is known already is not saved again."""
        self._said += 1
        return self._said

    def request(self, method: str, path: str, body: Any = None, *, version: int, code: int = 200) -> None:
        answer = self.api.request(method, path, json=body or {}, headers={"If-Match": f'"{version}"'})
        assert answer.status_code == code, answer.text[:1000]

    def stream(self) -> None:
        keys = [Key("memory", mark["pk"]["S"], mark["sk"]["S"]) for mark in self.marks()]
        event = stream_event([FeedRow(number, key) for number, key in enumerate(keys)])
        with self.processes.of("index"):
            index_handler(event, None)

    def upkeep(self) -> None:
        with self.processes.of("upkeep"):
            upkeep_handler({}, None)

    def step(self, function: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Of a turn's end."""
        if function == "commit" and self.before_commit:
            change, self.before_commit = self.before_commit, None
            change()
        with self.processes.of(function):
            return STEPS[function](told, None)

    # -- what no function does

    def marks(self) -> list[dict[str, Any]]:
        """Of commits that the index has not shown, oldest first."""
        items = self.dynamodb.scan(TableName=TABLES[0])["Items"]
        return sorted(
            (each for each in items if each["sk"]["S"].startswith(UNINDEXED)), key=lambda each: each["sk"]["S"]
        )

    def replaceables(self) -> list[Any]:
        wiring.use(None)
        wired = wiring.wired()
        assert wired.replaceable
        assert wired.replaceable_history
        return [wired.replaceable(), wired.replaceable_history()]

    def delete_indices(self) -> None:
        for name in httpx.get(f"{self.node}/memories*,history*").json():
            httpx.delete(f"{self.node}/{name}").raise_for_status()

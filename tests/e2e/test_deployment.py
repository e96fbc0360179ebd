"""The synthesised stack, deployed to an emulator of AWS with a real OpenSearch node behind it, and called over signed
HTTP with the product's own client: by roles with grants, with too few, and unsigned.

All resources are made but one: the domain's own roles, since the node has no security plugin (proved in
`tests/infra/test_search_access.py`). The functions run on this machine's Python, with the layer's dependencies built
for it (`tests/infra/test_bundling.py` looks at the real one), ask models on the loopback, and have more time. A step of
the state machine that failed is tried again at once.

The emulator checks signatures, the callers' policies and those of the functions' roles on the tables. What it does not,
and where that is proved instead:

- tags of a caller: what needs two grants given apart stays closed (`tests/infra/test_grant_matrix.py`);
- policies of the domain, of the models, and of the state machine (`tests/infra/test_reach.py`, `test_roles.py`,
  `test_turn_end.py`);
- the interface's own refusal of a signed caller without a grant is 403, though not as the problem that the template
  says (`tests/infra/test_api_template.py`); that of an unsigned call is;
- bodies above 10 MB reach the functions, which refuse them as well;
- throttling, alarms, tracing, the schedule (a test invokes `upkeep`), batches that fail or are split, and the queue of
  failures (`tests/infra`, `tests/integration`);
- time to live, point-in-time recovery, encryption and retention (`tests/infra/test_template.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from embedding_server import ScriptedServer, scripted_server
from emulator.deploying import Deployed, deploy
from emulator.environment import environment
from emulator.process import OWNER, REGION, running_emulator
from emulator.stack import STACK, synthesise
from node_js import give_up
from opensearch_node.node import NodeMissing, running_node
from review_questions import completion

from agent_memory.client import AgentMemory, Forbidden, NotAllowed, Resending, SigV4
from agent_memory.client.agent import Agent
from agent_memory.runtime import settings
from agent_memory.runtime.shapes import Problem

AGENT, OTHER = "support", "support-2"
MARK = "Zanzibar"  # stands in what is remembered, so that a log which quotes it gives itself away
ANSWER_TIMEOUT_S = 300.0  # of patience with cold starts, on whatever machine this is
CONFIG = {
    "memory": {
        "enabled": True,
        "scope": {"read": ["session", "agent", "platform"], "write": ["session", "agent", "platform"]},
        "tools": ["add_memory", "read_memory", "delete_memory"],
        "search": {"min_score": -1},
    },
    "history": {"index": "messages"},
}

Client = Callable[[str], AgentMemory]


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    """Of its own: the deployment gives its index its real name."""
    try:
        with running_node() as url:
            yield url
    except NodeMissing as reason:
        give_up(f"no OpenSearch node: {reason}")


@dataclass
class Reviewing:
    """The model that reviews. proposed: summaries of facts, at the next question alone. down: it answers nothing.
    may_answer: until then it thinks."""

    server: ScriptedServer
    proposed: list[str] = field(default_factory=list)
    down: bool = False
    may_answer: Event = field(default_factory=Event)

    def script(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self.down:
            return 503, {}
        self.may_answer.wait()
        if body["response_format"]["json_schema"]["name"] == "memory_decisions":
            asked = json.loads(body["messages"][1]["content"])["candidates"]
            added = [
                {"candidate": each["candidate"], "action": "add", "memory_id": None, "reason": ""} for each in asked
            ]
            return 200, completion(json.dumps({"decisions": added}))
        proposed, self.proposed = self.proposed, []
        candidates = [{"retracts": False, "summary": summary, "kind": "fact"} for summary in proposed]
        return 200, completion(json.dumps({"candidates": candidates}))


@pytest.fixture(scope="module")
def reviewer() -> Iterator[Reviewing]:
    with scripted_server() as server:
        reviewing = Reviewing(server)
        reviewing.may_answer.set()
        server.path, server.script = "/v1/chat/completions", reviewing.script
        yield reviewing
        reviewing.may_answer.set()


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cdk.out")
    synthesise(folder, agent=AGENT, other=OTHER)
    return folder


@pytest.fixture(scope="module")
def deployed(
    assembly: Path,
    node: str,
    embedder: ScriptedServer,
    reviewer: Reviewing,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployed]:
    from infra.bundling import dependencies

    made = environment(dependencies())
    told = {
        settings.OPENSEARCH_URL: node,
        settings.EMBEDDER: f"openai:{embedder.url}",
        settings.EMBEDDER_MODEL: "scripted",
        settings.EMBEDDER_DIMENSIONS: str(embedder.hash.dimensions),
        settings.EMBEDDER_MIN_SCORE: "-1",
        settings.REVIEWER: f"openai:{reviewer.server.url}",
        settings.REVIEWER_MODEL: "scripted",
    }
    with running_emulator(made, tmp_path_factory.mktemp("emulator")) as emulator:
        deployed = deploy(emulator, assembly, STACK, layer=made.layer, environment=told)
        deployed.invoke("upkeep")  # the schedule's first run makes the index
        yield deployed
        lines = [*deployed.logged(), *emulator.log.read_text("utf-8", "replace").splitlines()]
        assert not [line for line in lines if MARK in line]
        assert not [line for line in lines if '"level":"ERROR"' in line]
        assert set(raised(lines)) <= {
            "agent_memory.domain.errors.ReviewerUnavailable: the reviewing server answered 503"
        }
        deployed.destroy()
        assert emulator.client("dynamodb").list_tables()["TableNames"] == []
        assert emulator.client("lambda").list_functions()["Functions"] == []


@pytest.fixture(scope="module")
def by(deployed: Deployed) -> Iterator[Client]:
    """A client of a role, by the role's name."""
    made: dict[str, AgentMemory] = {}

    def client(name: str) -> AgentMemory:
        if name not in made:
            auth = SigV4(REGION, credentials=deployed.emulator.credentials_of(deployed.outputs[f"{name}Role"]))
            made[name] = AgentMemory(
                deployed.api, auth=auth, timeout_s=ANSWER_TIMEOUT_S, resending=Resending(attempts=1)
            )
        return made[name]

    yield client
    for each in made.values():
        each.close()


@pytest.fixture(scope="module")
def harness(by: Client) -> Agent:
    """Of an agent that is configured."""
    by("Configurer").agent(AGENT).configure(CONFIG, if_absent=True)
    return by("Harness").agent(AGENT)


@pytest.fixture(scope="module")
def saved(harness: Agent) -> str:
    """The id of a record that a turn of its own has committed."""
    with harness.begin(session_id="s-1", messages=[{"role": "user", "text": f"By post, {MARK}."}]) as turn:
        return turn.add(f"Wants invoices by post to {MARK}.", kind="fact", scope="agent").memory.id


@pytest.fixture(scope="module")
def indexed(saved: str, by: Client) -> str:
    """The same once the index shows it, which the stream brings about."""
    wait_until(lambda: by("Operator").status().index.unindexed == 0)
    return saved


# ---------------------------------------------------------------- turns


@pytest.mark.rule("TU-1", "TU-4", "SC-1")
def test_what_one_session_saves_another_recalls(harness: Agent, saved: str) -> None:
    with harness.begin(session_id="s-2") as turn:
        recalled = turn.recall("invoices by post")
        assert [item.id for item in recalled.memories] == [saved]
        assert MARK in recalled.block
        assert turn.read(saved).summary == f"Wants invoices by post to {MARK}."
    assert harness.turn(turn.id).state.status == "committed"


@pytest.mark.rule("RK-5")
def test_the_stream_brings_a_commit_to_the_index_and_the_mark_goes(
    deployed: Deployed, harness: Agent, indexed: str, node: str
) -> None:
    table = deployed.outputs["MemoryTable"]
    items = deployed.emulator.client("dynamodb").scan(TableName=table)["Items"]
    assert items
    assert not [item for item in items if item["sk"]["S"].startswith("U#")]
    found = httpx.post(f"{node}/memories/_search", json={"query": {"ids": {"values": [indexed]}}}).json()
    assert found["hits"]["total"]["value"] == 1
    recalled = harness.begin(session_id="s-3").recall("invoices by post")
    assert [item.id for item in recalled.memories] == [indexed]


def test_a_turn_that_fails_leaves_nothing(harness: Agent, by: Client) -> None:
    turn = harness.begin(session_id="s-4")
    lost = turn.add(f"Never said in {MARK}.", kind="fact").memory.id
    assert turn.end("failed", error="crashed").status == "rolled_back"
    assert lost not in {record.id for record in by("Desk").agent(AGENT).memories(status="all")}


# ---------------------------------------------------------------- their ends


@pytest.mark.rule("TU-2", "EX-1", "EX-8")
def test_what_a_turn_said_is_reviewed_and_committed_by_the_state_machine(
    harness: Agent, by: Client, deployed: Deployed, reviewer: Reviewing
) -> None:
    reviewer.proposed = [f"Pays by card in {MARK}."]
    turn = harness.begin(session_id="s-8", messages=says("From now on I pay by card."))
    state = turn.end()
    assert (state.status, state.review.status, state.review.added) == ("committed", "done", 1)
    assert f"Pays by card in {MARK}." in summaries(by)
    (execution,) = executions(deployed, turn.id)
    assert (execution["status"], execution["name"]) == ("SUCCEEDED", f"{turn.id}-0")
    assert json.loads(execution["input"]) == {"agent_id": AGENT, "turn_id": turn.id}


@pytest.mark.rule("EX-6", "GR-1")
def test_a_turn_whose_review_fails_commits_and_is_reviewed_again_when_somebody_asks(
    harness: Agent, by: Client, deployed: Deployed, reviewer: Reviewing
) -> None:
    reviewer.down = True
    turn = harness.begin(session_id="s-9", messages=says("I moved to Kiel."))
    state = turn.end()
    assert (state.status, state.review.status) == ("committed", "failed")
    assert turn.id in {listed.turn_id for listed in harness.turns(review="failed")}
    with pytest.raises(Forbidden):
        by("Desk").agent(AGENT).review_again(turn.id, wait=0)
    reviewer.down, reviewer.proposed = False, [f"Lives in Kiel, {MARK}."]
    assert by("Operator").agent(AGENT).review_again(turn.id, wait=0).review.status == "pending"
    assert turn.wait().review.status == "done"
    assert f"Lives in Kiel, {MARK}." in summaries(by)
    assert [each["status"] for each in executions(deployed, turn.id)] == ["SUCCEEDED", "SUCCEEDED"]


@pytest.mark.rule("TU-2")
def test_an_end_that_is_called_or_begun_twice_is_carried_out_once(
    harness: Agent, deployed: Deployed, reviewer: Reviewing
) -> None:
    turn = harness.begin(session_id="s-10", messages=says("I like tea."))
    first = turn.end()
    asked = len(reviewer.server.asked)
    assert harness.turn(turn.id).end() == first
    step_functions = deployed.emulator.client("stepfunctions")
    with pytest.raises(step_functions.exceptions.ExecutionAlreadyExists):
        step_functions.start_execution(stateMachineArn=deployed.outputs["TurnEnd"], name=f"{turn.id}-0", input="{}")
    assert len(executions(deployed, turn.id)) == 1
    assert len(reviewer.server.asked) == asked


@pytest.mark.rule("TU-2", "GR-1")
def test_a_workflow_of_the_owners_waits_for_a_turn_that_it_has_ended(
    harness: Agent, by: Client, deployed: Deployed, reviewer: Reviewing
) -> None:
    reviewer.proposed = [f"Has a dog in {MARK}."]
    reviewer.may_answer.clear()
    turn = harness.begin(session_id="s-11", messages=says("My dog is ill."))
    assert turn.end(wait=0).status == "ending"
    step_functions = deployed.emulator.client("stepfunctions")
    asked = json.dumps({"agent_id": AGENT, "turn_id": turn.id, "order": "of the workflow's own"})
    begun = step_functions.start_execution(stateMachineArn=deployed.outputs["WorkflowArn"], input=asked)
    reviewer.may_answer.set()
    done = finished(deployed, begun["executionArn"])
    assert done["status"] == "SUCCEEDED", done
    assert json.loads(done["output"])["turn_id"] == turn.id
    assert harness.turn(turn.id).state.status == "committed"
    assert summaries(by).count(f"Has a dog in {MARK}.") == 1


@pytest.mark.rule("HI-1", "HI-2")
def test_what_a_turn_said_is_found_in_the_history_of_its_session_also_once_it_is_indexed(
    harness: Agent, by: Client, node: str
) -> None:
    with harness.begin(session_id="s-12", messages=says(f"The parcel is in {MARK}.")) as turn:
        pass
    for _ in ("not yet indexed, perhaps", "indexed"):
        with harness.begin(session_id="s-12") as later:
            (event,) = later.search_history("parcel").events
        assert event.text.endswith(f"The parcel is in {MARK}.")
        wait_until(lambda: by("Operator").status().index.unindexed == 0)
    found = httpx.post(f"{node}/history/_search", json={"query": {"match_all": {}}}).json()
    assert found["hits"]["total"]["value"] >= 1
    assert turn.id


def raised(lines: Sequence[str]) -> Iterator[str]:
    """What each traceback among the lines ends with."""
    for n, line in enumerate(lines, 1):
        if "Traceback" in line:
            yield next(each for each in lines[n:] if not each.startswith(" "))


def says(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "text": text}]


def summaries(by: Client) -> list[str]:
    return [record.summary for record in by("Desk").agent(AGENT).memories()]


def executions(deployed: Deployed, turn_id: str) -> list[dict[str, Any]]:
    """Of the state machine, of this turn; once they are over."""
    machine = deployed.outputs["TurnEnd"]
    listed = deployed.emulator.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
    arns = [each["executionArn"] for each in listed if each["name"].startswith(turn_id)]
    return sorted((finished(deployed, arn) for arn in arns), key=lambda each: each["name"])


def finished(deployed: Deployed, execution: str) -> dict[str, Any]:
    step_functions = deployed.emulator.client("stepfunctions")
    described: list[dict[str, Any]] = []

    def is_over() -> bool:
        described.append(step_functions.describe_execution(executionArn=execution))
        return described[-1]["status"] != "RUNNING"

    wait_until(is_over)
    return described[-1]


def wait_until(holds: Callable[[], bool]) -> None:
    patience = Event()
    while not holds():
        patience.wait(0.2)


# ---------------------------------------------------------------- grants


@pytest.mark.rule("GR-1", "RC-8")
def test_who_may_select_reads_records_their_versions_and_transcripts(by: Client, saved: str) -> None:
    desk = by("Desk").agent(AGENT)
    assert saved in {record.id for record in desk.memories()}
    record = desk.memory(saved)
    assert record.summary == f"Wants invoices by post to {MARK}."
    assert [version.version for version in desk.memory_versions(saved)] == [1]
    assert desk.memory_version(saved, 1).status == "ACTIVE"
    assert record.written_by.turn_id
    types = [event["type"] for event in desk.turn(record.written_by.turn_id).transcript()]
    assert types[0] == "message"
    assert types[-1] == "turn.committed"


@pytest.mark.rule("GR-1", "GR-5")
@pytest.mark.parametrize("caller", ["Harness", "Half", "Configurer", "Operator", "Stranger"])
@pytest.mark.parametrize("id", ["that is there", "01HZZZZZZZZZZZZZZZZZZZZZZZ"])
def test_who_may_not_select_is_refused_before_any_look_up(by: Client, saved: str, caller: str, id: str) -> None:
    agent = by(caller).agent(AGENT)
    with pytest.raises(Forbidden):
        list(agent.memories())
    with pytest.raises(Forbidden):
        agent.memory(saved if id == "that is there" else id)


@pytest.mark.rule("GR-1")
def test_who_may_select_does_not_save_delete_run_or_configure(by: Client, saved: str) -> None:
    desk = by("Desk").agent(AGENT)
    with pytest.raises(Forbidden):
        desk.begin(session_id="s-1")
    with pytest.raises(Forbidden):
        desk.configure(CONFIG, 1)
    with pytest.raises(Forbidden):
        desk.insert_memory(f"Written by the desk in {MARK}.", kind="fact", scope="agent")
    with pytest.raises(Forbidden):
        desk.delete_memory(saved)


@pytest.mark.rule("GR-1", "GR-8", "GR-9")
def test_who_may_insert_and_update_saves_deletes_and_restores_under_his_own_name(
    by: Client, harness: Agent, deployed: Deployed
) -> None:
    editor = by("Editor").agent(AGENT)
    kept = editor.insert_memory(f"The gate in {MARK} is locked.", kind="fact", scope="agent", memory_key="gate")
    assert f"/{deployed.outputs['EditorRole'].rpartition('/')[2]}/" in str(kept.written_by.caller)
    assert editor.delete_memory(kept.id, version=1).status == "DELETED"
    assert kept.id not in {record.id for record in editor.memories()}
    assert editor.restore_memory(kept.id).status == "ACTIVE"
    assert [version.version for version in editor.memory_versions(kept.id)] == [3, 2, 1]
    assert kept.id in {item.id for item in harness.begin(session_id="s-5").recall("gate locked").memories}


@pytest.mark.rule("GR-1", "SC-4")
def test_what_an_agent_proposes_for_all_holds_once_somebody_approves_it(by: Client, harness: Agent) -> None:
    with harness.begin(session_id="s-6") as turn:
        proposed = turn.add(f"Offices in {MARK} close at five.", kind="fact", scope="platform").memory
    assert proposed.status == "PENDING"
    assert proposed.id not in {item.id for item in harness.begin(session_id="s-6").recall("offices close").memories}
    steward = by("Steward").platform
    for caller in ("Editor", "Operator"):
        with pytest.raises(Forbidden):
            by(caller).platform.decide(proposed.id, "approve", version=1)
    assert [record.id for record in steward.memories(status="PENDING")] == [proposed.id]
    assert steward.decide(proposed.id, "approve", version=1).status == "ACTIVE"
    assert proposed.id in {item.id for item in harness.begin(session_id="s-6").recall("offices close").memories}
    assert steward.delete_memory(proposed.id).status == "DELETED"


@pytest.mark.rule("IF-2")
def test_a_call_that_comes_again_with_its_key_has_one_effect(by: Client, harness: Agent) -> None:
    editor = by("Editor").agent(AGENT)
    said = {"kind": "fact", "scope": "agent", "idempotency_key": "desk-1"}
    first, again = (editor.insert_memory(f"Said once in {MARK}.", **said) for _ in range(2))
    assert again == first
    turn = harness.begin(session_id="s-7", idempotency_key="run-1")
    assert harness.begin(session_id="s-7", idempotency_key="run-1").id == turn.id
    with pytest.raises(NotAllowed, match="key"):
        editor.insert_memory(f"Said otherwise in {MARK}.", **said)


@pytest.mark.rule("GR-1", "SC-1")
def test_a_grant_of_one_agent_opens_no_other_whose_id_begins_alike(by: Client, saved: str) -> None:
    with pytest.raises(Forbidden):
        by("Stranger").agent(AGENT).begin(session_id="s-1")
    with pytest.raises(Forbidden):
        by("Harness").agent(OTHER).begin(session_id="s-1")


def test_a_caller_stands_in_what_he_configured(by: Client, harness: Agent, deployed: Deployed) -> None:
    role = deployed.outputs["ConfigurerRole"].rpartition("/")[2]
    assert f"/{role}/" in by("Configurer").agent(AGENT).config().created_by


# ---------------------------------------------------------------- HTTP


def test_any_grant_opens_the_description_of_the_interface(by: Client) -> None:
    assert by("Half").openapi()["openapi"].startswith("3.1")


@pytest.mark.rule("GR-5", "IF-1")
@pytest.mark.parametrize("path", [f"/v1/agents/{AGENT}/memories", "/v1/status", "/v1/openapi.json", "/v1/nothing"])
def test_an_unsigned_call_is_403_as_a_problem_whatever_it_asks(deployed: Deployed, path: str) -> None:
    problem(httpx.get(deployed.api + path), 403, "forbidden")


def test_a_signature_with_another_secret_is_refused(deployed: Deployed) -> None:
    credentials = deployed.emulator.credentials_of(deployed.outputs["DeskRole"])
    credentials.secret_key += "x"
    answer = httpx.get(
        f"{deployed.api}/v1/agents/{AGENT}/memories", auth=SigV4(REGION, credentials=credentials), timeout=60
    )
    assert answer.status_code == 403


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize("path", ["/v1/nothing", f"/v1/agents/{AGENT}/config/versions/1/more"])
def test_a_path_that_is_not_there_is_a_problem_for_the_owner_too(deployed: Deployed, path: str) -> None:
    """403, since API Gateway does not tell an unknown path from a call that is not signed."""
    answer = httpx.get(deployed.api + path, auth=SigV4(REGION, credentials=OWNER), timeout=60)
    problem(answer, 403, "forbidden")


@pytest.mark.rule("IF-1", "IF-7")
def test_a_body_too_large_is_a_problem(deployed: Deployed, harness: Agent) -> None:
    signed = SigV4(REGION, credentials=deployed.emulator.credentials_of(deployed.outputs["HarnessRole"]))
    body = b'{"session_id": "' + b"x" * (5 * 1024 * 1024) + b'"}'
    answer = httpx.post(f"{deployed.api}/v1/agents/{AGENT}/turns", content=body, auth=signed, timeout=ANSWER_TIMEOUT_S)
    problem(answer, 413, "too_large")


def problem(response: httpx.Response, status: int, code: str) -> None:
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"] == "application/problem+json"
    told = Problem.model_validate(response.json())
    assert (told.status, told.code) == (status, code)
    assert told.request_id == response.headers["request-id"]

"""The synthesised stack, deployed to an emulator of AWS with a real OpenSearch node behind it, and called over signed
HTTP with the product's own client: by roles with grants, with too few, and unsigned.

All resources are made but one: the domain's own roles, since the node has no security plugin (proved in
`tests/infra/test_search_access.py`). The functions run on this machine's Python, with the layer's dependencies built
for it (`tests/infra/test_bundling.py` looks at the real one), ask a model on the loopback, and have more time.

The emulator checks signatures, the callers' policies and those of the functions' roles on the tables. What it does not,
and where that is proved instead:

- tags of a caller: what needs two grants given apart stays closed (`tests/infra/test_grant_matrix.py`);
- policies of the domain, and of the model (`tests/infra/test_reach.py`, `test_roles.py`);
- the interface's own refusal of a signed caller without a grant is 403, though not as the problem that the template
  says (`tests/infra/test_api_template.py`); that of an unsigned call is;
- bodies above 10 MB reach the functions, which refuse them as well;
- throttling, alarms, tracing, the schedule (a test invokes `upkeep`), batches that fail or are split, and the queue of
  failures (`tests/infra`, `tests/integration`);
- time to live, point-in-time recovery, encryption and retention (`tests/infra/test_template.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import httpx
import pytest
from embedding_server import ScriptedServer
from emulator.deploying import Deployed, deploy
from emulator.environment import environment
from emulator.process import OWNER, REGION, running_emulator
from emulator.stack import STACK, synthesise
from node_js import give_up
from opensearch_node.node import NodeMissing, running_node

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
    }
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


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cdk.out")
    synthesise(folder, agent=AGENT, other=OTHER)
    return folder


@pytest.fixture(scope="module")
def deployed(
    assembly: Path, node: str, embedder: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    from infra.bundling import dependencies

    made = environment(dependencies())
    told = {
        settings.OPENSEARCH_URL: node,
        settings.EMBEDDER: f"openai:{embedder.url}",
        settings.EMBEDDER_MODEL: "scripted",
        settings.EMBEDDER_DIMENSIONS: str(embedder.hash.dimensions),
        settings.EMBEDDER_MIN_SCORE: "-1",
    }
    with running_emulator(made, tmp_path_factory.mktemp("emulator")) as emulator:
        deployed = deploy(emulator, assembly, STACK, layer=made.layer, environment=told)
        deployed.invoke("upkeep")  # the schedule's first run makes the index
        yield deployed
        log = emulator.log.read_text("utf-8", "replace")
        assert MARK not in log
        assert '"level":"ERROR"' not in log
        assert "Traceback" not in log
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
    patience = Event()
    while by("Operator").status().index.unindexed:
        patience.wait(0.2)
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

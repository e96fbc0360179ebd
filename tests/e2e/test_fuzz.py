"""Structurally random calls to every route of the OpenAPI document: whatever comes, the answer is in order.

Seeded and counted, so that it does the same each time. Where the random value is built on the schema of the route, it
comes past the first check and reaches what lies behind; where it is not, it tries the check itself.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from server import Server
from wire import head, raw

SEED = 20_260_512
CALLS = 60  # to each operation
STRINGS = ["", "x", "a#b", "a%23b", "\0", "\ud800", "🦊", "ﷺ" * 50, "x" * 400, "2026-05-12T10:00:00Z", "12h", "../.."]
PARAMETERS = ["1", "", "0", "true", "all", "ACTIVE", "x", "%00", "%ff", "%F0%9F%A6%8A", "9" * 40]
NUMBERS = [0, 1, -1, 2**31, -(2**63), 10**40, 0.5, -0.0, 1e308, 5e-324]
NAMES = ["query", "ids", "input", "memory", "scope", "messages", "role", "text", "\ud800", "", "a" * 300, "__proto__"]


class Fuzz:
    """schemas: of the document's components. known: ids that exist, so that not every call ends at a look-up."""

    def __init__(self, chance: random.Random, schemas: dict[str, Any], known: dict[str, list[str]]) -> None:
        self.chance, self.schemas, self.known = chance, schemas, known

    # -- values

    def anything(self, depth: int = 4) -> Any:
        kind = self.chance.randrange(9 if depth else 6)
        match kind:
            case 0:
                return None
            case 1:
                return self.chance.random() < 0.5
            case 2:
                return self.chance.choice(NUMBERS)
            case 3 | 4:
                return self.chance.choice(STRINGS)
            case 5:
                return self.chance.choice([id for several in self.known.values() for id in several])
            case 6 | 7:
                names = [self.chance.choice(NAMES) for _ in range(self.chance.randrange(4))]
                return {name: self.anything(depth - 1) for name in names}
            case _:
                return [self.anything(depth - 1) for _ in range(self.chance.randrange(4))]

    def value(self, schema: dict[str, Any], depth: int = 8) -> Any:
        """Of the schema, mostly; at any place anything."""
        if depth == 0 or self.chance.random() < 0.06:
            return self.anything()
        if "$ref" in schema:
            return self.value(self.schemas[schema["$ref"].rsplit("/", 1)[1]], depth - 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self.value(self.chance.choice(schema[several]), depth - 1)
        return self._plain(schema, depth)

    def _plain(self, schema: dict[str, Any], depth: int) -> Any:
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                items = schema.get("items", {})
                return [self.value(items, depth - 1) for _ in range(self.chance.randrange(4))]
            case "string":
                return self.chance.choice([*STRINGS, "fact", "session", "When does the depot close?"])
            case "integer" | "number":
                return self.chance.choice([*NUMBERS, schema.get("minimum", 1), schema.get("maximum", 5)])
            case "boolean":
                return self.chance.random() < 0.5
            case "null":
                return None
            case _:
                return self.anything()

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        made = {
            name: self.value(field, depth - 1)
            for name, field in schema.get("properties", {}).items()
            if self.chance.random() < (0.95 if name in required else 0.4)
        }
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            made |= {self.chance.choice(NAMES): self.value(more, depth - 1) for _ in range(self.chance.randrange(3))}
        if self.chance.random() < 0.05:
            made[self.chance.choice(NAMES)] = self.anything()
        return made

    # -- calls

    def path(self, resource: str) -> str:
        """Each id exists, mostly."""
        for name, ids in self.known.items():
            bent = [*ids] * 40 + ["x", "%00", "a%2Fb", ids[0].lower() + "0", "%f0%9f%a6%8a"]
            resource = resource.replace(f"{{{name}}}", self.chance.choice(bent))
        return resource

    def query(self, operation: dict[str, Any]) -> str:
        named = [p["name"].replace("<name>", "room") for p in operation["parameters"] if p["in"] == "query"]
        pairs = [f"{name}={self.chance.choice(PARAMETERS)}" for name in [*named, "x"] if self.chance.random() < 0.15]
        return "?" + "&".join(pairs) if pairs else ""

    def body(self, operation: dict[str, Any]) -> bytes:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        value = self.value(schema) if self.chance.random() < 0.9 else self.anything()
        text = json.dumps(value, ensure_ascii=True).encode()
        return text if self.chance.random() < 0.97 else text[: self.chance.randrange(len(text) + 1)]

    def headers(self, operation: dict[str, Any]) -> dict[str, str]:
        named = [p["name"] for p in operation["parameters"] if p["in"] == "header"]
        return {name: self.chance.choice(["*", '"1"', "x"]) for name in named if self.chance.random() < 0.7}


@pytest.mark.rule("IF-1", "IF-3")
def test_whatever_is_sent_to_any_route_the_answer_is_in_order(server: Server) -> None:
    document = server.get("/v1/openapi.json")
    agent = server.configure("fuzzed")
    record = server.remember(agent, "The depot closes at noon.", scope="agent")
    chance = random.Random(SEED)
    tools = ["add_memory", "search_memory", "read_memory", "delete_memory"]
    known = {"agent": [agent], "turn": [], "id": [record], "tool": tools, "n": ["1"]}
    fuzz = Fuzz(chance, document["components"]["schemas"], known)
    operations = [
        (resource, method, operation)
        for resource, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    for _ in range(CALLS):
        known["turn"] = [*known["turn"][-2:], server.begin(agent, agent_version=1).id]
        for resource, method, operation in operations:
            has_body = "requestBody" in operation
            server.http.request(
                method.upper(),
                fuzz.path(resource) + fuzz.query(operation),
                content=fuzz.body(operation) if has_body else None,
                headers=fuzz.headers(operation),
            )
    assert server.statuses[503] == 0
    assert server.get("/v1/status")["edition"] == "one machine"
    assert set(server.statuses) >= {200, 201, 400, 404, 409}  # it came past the checks, and against each of them


TOOL_INPUTS = 400


@pytest.mark.rule("TL-5", "IF-1")
def test_whatever_a_model_gives_a_tool_the_answer_is_its_to_read(server: Server) -> None:
    agent = server.configure("fuzzed-tools", labels={"room": {"number": 5, "description": "The room."}})
    record = server.remember(agent, "The depot closes at noon.", scope="agent")
    schemas = {tool["name"]: tool["input_schema"] for tool in server.get(f"/v1/agents/{agent}/tools")["tools"]}
    chance = random.Random(SEED + 1)
    fuzz = Fuzz(chance, {}, {"id": [record]})
    turn = server.begin(agent)
    for n in range(TOOL_INPUTS):
        if n % 40 == 0:
            turn.end(chance.choice(["completed", "failed"]))
            turn = server.begin(agent)
        name = chance.choice(list(schemas))
        text = json.dumps({"input": fuzz.value(schemas[name])})
        answer = server.http.post(f"{turn.path}/tools/{name}", content=text.encode())
        told = answer.json()
        assert answer.status_code == 200, answer.text
        assert ("output" in told) != ("error" in told)
        assert told.get("error", {}).get("code") != "unavailable"
    assert len(server.pages(f"{turn.path}/transcript", "events", type="execution")) == 40


@pytest.mark.rule("IF-1")
def test_whatever_bytes_come_the_server_lives(server: Server) -> None:
    chance = random.Random(SEED + 2)
    whole = head("POST", "/v1/agents/fuzzed/turns", "Content-Length: 20") + b'{"session_id": "s"}\n'
    for _ in range(150):
        sent = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(sent))
            sent[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        with server.connection() as connection:
            connection.settimeout(0.05)  # one that waits for more of the request never answers
            try:
                server.judge(raw(connection, bytes(sent)))
            except (TimeoutError, ValueError, ConnectionError):
                continue
    assert server.get("/v1/status")["edition"] == "one machine"

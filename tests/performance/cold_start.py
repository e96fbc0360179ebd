"""What a function's first call costs beside what every Lambda function pays: importing boto3 and making one client.

Each function runs in a fresh process as Lambda would start it: `import functions.<name>.handler`, then one call, which
DynamoDB, OpenSearch and Bedrock answer in an instant (a stub in this process). Seconds are of processor time, so that a
busy machine changes them little; the least of several runs counts. Compare ratios, the machine's own speed is in both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from agent_memory.adapters.dynamodb_values import to_attributes
from agent_memory.adapters.system import SystemClock, SystemIds
from agent_memory.domain.configuration import parse_config
from agent_memory.runtime import metrics, settings
from agent_memory.store import keys

RUNS = 5
AGENT, TURN = "support", SystemIds().new(SystemClock().now())
PATH = {"agent": AGENT, "turn": TURN, "tool": "search_memory"}
BASELINE = "import boto3; boto3.client('dynamodb')"
IMPORT = "import functions.{name}.handler"
CALL = "; functions.{name}.handler.handler(json.loads(os.environ['EVENT']), Context())"
MEASURED = """
import json, os, sys, time
class Context:
    function_name, memory_limit_in_mb, aws_request_id = "cold", 1024, "r"
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:cold"
    def get_remaining_time_in_millis(self): return 100000
before = time.process_time()
{code}
print(time.process_time() - before, file=sys.stderr)
"""


def event(method: str, resource: str, body: Any = None, **path: str) -> dict[str, Any]:
    given = {name: PATH[name] for name in PATH if f"{{{name}}}" in resource}
    sent = json.dumps(body) if body is not None else None
    return {"httpMethod": method, "resource": resource, "pathParameters": given | path, "body": sent, "headers": {}}


TURNS = "/v1/agents/{agent}/turns"
EVENTS: Mapping[str, dict[str, Any]] = {
    "recall": event("POST", f"{TURNS}/{{turn}}/recall", {"query": "Where do invoices go?"}),
    "tools": event("POST", f"{TURNS}/{{turn}}/tools/{{tool}}", {"input": {"query": "Where do invoices go?"}}),
    "turns": event("POST", TURNS, {"session_id": "s-1"}),
    "records": event("GET", "/v1/agents/{agent}/memories"),
    "write": event("POST", "/v1/agents/{agent}/memories", {"summary": "By post.", "kind": "fact", "scope": "agent"}),
    "activity": event("GET", TURNS),
    "agents": event("GET", "/v1/agents/{agent}/config"),
    "index": {"Records": []},
    "upkeep": {},
}


class Stub(BaseHTTPRequestHandler):
    """Answers as an empty store, index and model would; there is one agent, and its turn is open."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(self.answer_to(body))

    def do_GET(self) -> None:
        self.answer({"memories-m-1": {"aliases": {"memories": {}}}})

    def answer_to(self, body: bytes) -> Any:
        if target := self.headers.get("X-Amz-Target"):
            return table_answer(target.partition(".")[2], json.loads(body))
        if self.path.endswith("/_msearch"):
            return {"responses": [search_answer(json.loads(line)) for line in body.splitlines()[1::2]]}
        if self.path.endswith("/_bulk"):
            return {"items": []}
        return {"embedding": [1.0] + [0.0] * 1023, "inputTextTokenCount": 5}

    def answer(self, answer: Any) -> None:
        sent = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def table_answer(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    configuration = to_attributes(keys.configuration(AGENT, 1), CONFIGURED)
    match operation:
        case "UpdateItem":
            return {"Attributes": to_attributes(keys.turn(AGENT, TURN), OPEN)}
        case "GetItem" if request["Key"]["sk"]["S"].startswith(keys.CONFIGURATION):
            return {"Item": configuration}
        case "Query":
            asked = request["ExpressionAttributeValues"].get(":sk", {}).get("S")
            return {"Items": [configuration] if asked == keys.CONFIGURATION else []}
        case "BatchGetItem":
            return {"Responses": {}}
        case _:
            return {}


CONFIGURED = {
    "config": json.dumps(parse_config({"memory": {"enabled": True, "search": {"min_score": 0.5}}}).stored()),
    "at": "2026-05-12T08:00:00.000Z",
    "by": "operator",
}
OPEN = {
    "status": "open",
    "first_turn_id": TURN,
    "attempt": 1,
    "agent_version": 1,
    "execution_id": TURN,
    "started_at": "2026-05-12T08:00:00.000Z",
    "session_id": "s-1",
    "number": 1,
    "sequence": 4,
}


def search_answer(request: dict[str, Any]) -> dict[str, Any]:
    words = request.get("aggs", {}).get("containing", {}).get("filters", {}).get("filters", ())
    buckets = [{"doc_count": 0} for _ in words]
    aggregations = {"scores": {"count": 0}, "tokens": {"value": 0}, "containing": {"buckets": buckets}}
    return {"status": 200, "hits": {"total": {"value": 0}, "hits": []}, "aggregations": aggregations}


@contextmanager
def stub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def environment(url: str) -> dict[str, str]:
    names = ("DYNAMODB", "BEDROCK_RUNTIME")
    return {
        **os.environ,
        **{f"AWS_ENDPOINT_URL_{name}": url for name in names},
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_LAMBDA_FUNCTION_NAME": "cold",
        settings.MEMORY_TABLE: "Memory",
        settings.EXECUTION_TABLE: "Execution",
        settings.OPENSEARCH_URL: url,
        settings.OPENSEARCH_SIGNED: "es",
        metrics.NAMESPACE: "cold",
    }


def seconds(code: str, variables: Mapping[str, str]) -> tuple[float, str]:
    """Of processor time, and what the process wrote to standard output."""
    command = [sys.executable, "-c", MEASURED.format(code=code)]
    ran = subprocess.run(command, env=dict(variables), capture_output=True, text=True, check=True)
    return float(ran.stderr.splitlines()[-1]), ran.stdout


def main(names: Sequence[str] = ()) -> int:
    """names: of functions; none: all."""
    with stub() as url:
        variables = environment(url)
        rows = {"boto3.client": (BASELINE, variables)}
        for name in names or EVENTS:
            given = EVENTS[name]
            rows[f"{name}, import"] = (IMPORT.format(name=name), variables)
            rows[name] = ((IMPORT + CALL).format(name=name), {**variables, "EVENT": json.dumps(given)})
        least = dict.fromkeys(rows, float("inf"))
        for _ in range(RUNS):
            for row, (code, given) in rows.items():
                took, wrote = seconds(code, given)
                assert not any(f'"status":{kind}' in wrote for kind in "45"), wrote
                least[row] = min(least[row], took)
    print(f"{'':<20}{'ms':>8}{'ratio':>8}")
    for row, took in least.items():
        print(f"{row:<20}{took * 1000:>8.0f}{took / least['boto3.client']:>8.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

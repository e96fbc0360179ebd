"""The custom resource that maps IAM roles to the domain's own, against a domain and a CloudFormation of the test."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from infra import search_access
from infra.roles import search_roles

ROLE = "arn:aws:iam::111122223333:role"
INLINE = 4096  # characters of a function's code in a template (CloudFormation)
ROLES = search_roles({"memories": [f"{ROLE}/recall"]}, [f"{ROLE}/index"], [f"{ROLE}/upkeep"])


@contextmanager
def listening(refusals: int = 0) -> Iterator[tuple[str, list]]:
    """A server that refuses the first calls; its URL, and what it took."""
    taken: list = []
    left = [refusals]

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            refuse = left[0] > 0
            left[0] -= 1
            if not refuse:
                taken.append((self.path, json.loads(body), self.headers))
            self.send_response(403 if refuse else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    for name, value in (("ACCESS_KEY_ID", "AKIDEXAMPLE"), ("SECRET_ACCESS_KEY", "secret"), ("REGION", "eu-central-1")):
        monkeypatch.setenv(f"AWS_{name}", value)


def event(kind, domain, url):
    ids = {"StackId": "stack", "RequestId": "request", "LogicalResourceId": "Roles"}
    given = {"Endpoint": domain, "Roles": json.dumps(ROLES)}
    return {"RequestType": kind, "ResponseURL": f"{url}/answer", "ResourceProperties": given, **ids}


def test_it_fits_into_a_template():
    assert len(Path(search_access.__file__).read_text("utf-8")) <= INLINE


def test_each_role_is_made_and_mapped_by_signed_calls():
    with listening() as (domain, taken), listening() as (cloudformation, answers):
        search_access.handler(event("Create", domain, cloudformation), None)
    api, made = "/_plugins/_security/api", {path: body for path, body, _ in taken}
    for name, role in ROLES.items():
        assert made.pop(f"{api}/rolesmapping/{name}") == {"backend_roles": role["backend_roles"]}
        rights = made.pop(f"{api}/roles/{name}")
        assert rights == {key: role[key] for key in ("cluster_permissions", "index_permissions")}
    assert made == {}
    assert all("/eu-central-1/es/aws4_request" in headers["Authorization"] for _, _, headers in taken)
    assert [body["Status"] for _, body, _ in answers] == ["SUCCESS"]


def test_a_domain_that_is_not_ready_is_asked_again():
    with listening(refusals=3) as (domain, taken):
        search_access.give_roles(domain, ROLES, pause_s=0)
    assert len(taken) == 2 * len(ROLES)


def test_a_failure_is_told_to_cloudformation(monkeypatch):
    monkeypatch.setattr(search_access, "PAUSE_S", 0)
    with listening() as (cloudformation, answers):
        broken = event("Create", "http://127.0.0.1:1", cloudformation)
        broken["ResourceProperties"]["Roles"] = "no json"
        search_access.handler(broken, None)
    assert [(body["Status"], bool(body["Reason"])) for _, body, _ in answers] == [("FAILED", True)]


def test_a_deletion_changes_nothing():
    with listening() as (domain, taken), listening() as (cloudformation, answers):
        search_access.handler(event("Delete", domain, cloudformation), None)
    assert taken == []
    assert [body["Status"] for _, body, _ in answers] == ["SUCCESS"]

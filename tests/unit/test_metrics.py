"""Metrics and logs as CloudWatch is to read them: names, no dimensions, no text."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_memory.runtime import metrics, observability
from agent_memory.runtime.lambda_handler import lambda_handler

HOUSE = Path(__file__).parents[2]
DECLARED = re.compile(r"^([A-Z_]+) = (?:Metric\(|\{)", re.MULTILINE)


def constants() -> list[str]:
    return DECLARED.findall(Path(metrics.__file__).read_text())


def every_metric() -> list[metrics.Metric]:
    several = [getattr(metrics, name) for name in constants()]
    return [metric for one in several for metric in (one.values() if isinstance(one, dict) else [one])]


def test_names_are_different_and_each_has_its_meaning() -> None:
    found = every_metric()
    assert len(found) == len(constants()) + 2  # one of the constants holds three
    assert len({metric.name for metric in found}) == len(found)
    assert all(re.fullmatch("[A-Z][A-Za-z]+", metric.name) and len(metric.meaning) > 10 for metric in found)


@pytest.mark.parametrize("name", constants())
def test_each_is_written_somewhere(name: str) -> None:
    sources = [*(HOUSE / "functions").rglob("*.py"), *(HOUSE / "shared/agent_memory/runtime").rglob("*.py")]
    assert any(f"metrics.{name}" in source.read_text() for source in sources)


def test_a_line_has_no_dimension_and_all_values_of_the_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(metrics.NAMESPACE, "AgentMemory/test")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "whatever")
    metrics.write({metrics.COMMITS: 1, metrics.OLDEST_UNINDEXED: 2.5})
    written = json.loads(capsys.readouterr().out)
    (told,) = written.pop("_aws")["CloudWatchMetrics"]
    assert (told["Namespace"], told["Dimensions"]) == ("AgentMemory/test", [[]])
    assert told["Metrics"] == [
        {"Name": "Commits", "Unit": "Count"},
        {"Name": "OldestUnindexedCommit", "Unit": "Seconds"},
    ]
    assert written == {"Commits": [1.0], "OldestUnindexedCommit": [2.5]}


def test_nothing_is_written_where_nobody_asked(capsys: pytest.CaptureFixture[str]) -> None:
    metrics.write({metrics.COMMITS: 1})
    assert capsys.readouterr().out == ""


def test_lines_name_the_function_and_its_request() -> None:
    def handle(event: object, context: object) -> dict[str, object]:
        observability.info("said", turn_id="t", count=2)
        return {}

    context = SimpleNamespace(
        function_name="recall",
        memory_limit_in_mb=1024,
        invoked_function_arn="arn:aws:lambda:eu-central-1:123456789012:function:recall",
        aws_request_id="r-1",
    )
    out = io.StringIO()
    handler = lambda_handler(handle)
    logger = observability.configure_logging()
    stream = logger.registered_handler
    before, stream.stream = stream.stream, out  # type: ignore[attr-defined]
    try:
        handler({}, context)
        handler({}, None)
    finally:
        stream.stream = before  # type: ignore[attr-defined]
        logger.structure_logs()
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    said = {"level": "INFO", "message": "said", "service": "agent-memory", "turn_id": "t", "count": 2}
    assert said.items() <= first.items()
    assert (first["function_name"], first["function_request_id"]) == ("recall", "r-1")
    assert "handle" in first["location"]
    assert said.items() <= second.items()
    assert "cold_start" in first

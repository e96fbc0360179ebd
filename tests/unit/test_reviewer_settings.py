"""Who reviews, as the environment and the command line say it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from embedding_server import scripted_server
from review_questions import CANDIDATES, PROPOSED, reviewing

from agent_memory.runtime.settings import (
    DEFAULT_REVIEWER,
    ReviewerSettings,
    SettingsError,
    reviewer_settings,
    settings_of,
)
from agent_memory.runtime.wiring import reviewer_of

pytestmark = pytest.mark.rule("EX-8")

FUNCTION = {
    "AGENT_MEMORY_MEMORY_TABLE": "Memory",
    "AGENT_MEMORY_EXECUTION_TABLE": "Execution",
    "AGENT_MEMORY_OPENSEARCH_URL": "http://127.0.0.1:1",
}
URL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, reviewer_settings(DEFAULT_REVIEWER)),
        ({"AGENT_MEMORY_REVIEWER": "bedrock:a.model:0"}, ReviewerSettings("bedrock", "a.model:0", "a.model:0")),
        ({"AGENT_MEMORY_REVIEWER": "rules"}, ReviewerSettings("rules", "", "rules")),
        (
            {"AGENT_MEMORY_REVIEWER": f"openai:{URL}", "AGENT_MEMORY_REVIEWER_MODEL": "m"},
            ReviewerSettings("openai", URL, "m"),
        ),
    ],
)
def test_the_environment_says_who_reviews(environment: Mapping[str, str], expected: ReviewerSettings) -> None:
    settings = settings_of(FUNCTION | environment).reviewer
    assert settings == expected
    made = reviewer_of(settings, key=None)
    assert (made.kind, made.model) == (expected.kind, expected.model)


def test_without_a_word_it_is_a_model_on_bedrock_that_is_called_by_its_own_name() -> None:
    """No inference profile, which would route to other regions and need grants of its own."""
    settings = settings_of(FUNCTION).reviewer
    assert settings.kind == "bedrock"
    assert not settings.target.startswith(("us.", "eu.", "apac.", "global.", "arn:"))


@pytest.mark.parametrize(
    ("spelled", "model"),
    [
        ("", None),
        ("rules:", None),
        ("rules", "m"),
        ("openai", "m"),
        ("openai:127.0.0.1:1", "m"),
        (f"openai:{URL}", None),
        ("bedrock:", None),
        ("bedrock:a.model", "another.model"),
        ("local", None),
    ],
)
def test_what_names_no_reviewer_is_refused(spelled: str, model: str | None) -> None:
    with pytest.raises(SettingsError):
        reviewer_settings(spelled, model=model)


def test_the_key_is_sent_to_the_server_that_was_named() -> None:
    with scripted_server() as server:
        server.path, server.script = "/v1/chat/completions", reviewing()
        said = reviewer_of(reviewer_settings(f"openai:{server.url}", model="m"), key="sesame").propose(CANDIDATES)
    assert json.loads(said.text) == PROPOSED
    assert server.headers["Authorization"] == "Bearer sesame"

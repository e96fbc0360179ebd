"""What a function is told by its environment, typed. The deployment writes these names, the functions read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

N = TypeVar("N", int, float)

MEMORY_TABLE = "AGENT_MEMORY_MEMORY_TABLE"
EXECUTION_TABLE = "AGENT_MEMORY_EXECUTION_TABLE"
OPENSEARCH_URL = "AGENT_MEMORY_OPENSEARCH_URL"
OPENSEARCH_SIGNED = "AGENT_MEMORY_OPENSEARCH_SIGNED"  # the service to sign for (es, aoss); without it, unsigned
EMBEDDER = "AGENT_MEMORY_EMBEDDER"
EMBEDDER_MODEL = "AGENT_MEMORY_EMBEDDER_MODEL"
EMBEDDER_DIMENSIONS = "AGENT_MEMORY_EMBEDDER_DIMENSIONS"
EMBEDDER_MIN_SCORE = "AGENT_MEMORY_EMBEDDER_MIN_SCORE"
REVIEWER = "AGENT_MEMORY_REVIEWER"
REVIEWER_MODEL = "AGENT_MEMORY_REVIEWER_MODEL"
TURN_END = "AGENT_MEMORY_TURN_END"  # the state machine that carries out ends; only functions that begin one have it
CALLS_PER_SECOND = "AGENT_MEMORY_CALLS_PER_SECOND"  # of one agent, above which it is answered 429
OPENAI_API_KEY = "OPENAI_API_KEY"  # as every client of such servers reads it

DEFAULT_CALLS_PER_SECOND = 200
DEFAULT_EMBEDDER = "bedrock:amazon.titan-embed-text-v2:0"
# A model of many languages that answers by a JSON schema and is called by its own name, so what was said stays in the
# region and the role names one model. Current Claude models take a schema too, but only through inference profiles,
# which route to other regions; Nova models take none.
DEFAULT_REVIEWER = "bedrock:qwen.qwen3-235b-a22b-2507-v1:0"


class SettingsError(Exception):
    """A setting is missing or cannot be read; the message names it and says what it takes."""


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """target: the base URL of an OpenAI-compatible server, or Bedrock's name of the model; empty for local."""

    kind: Literal["local", "openai", "bedrock"]
    target: str = ""
    model: str | None = None
    dimensions: int | None = None
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class ReviewerSettings:
    """target: the base URL of an OpenAI-compatible server, or Bedrock's name of the model; empty for rules."""

    kind: Literal["rules", "openai", "bedrock"]
    target: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    memory_table: str
    execution_table: str
    opensearch_url: str
    opensearch_signed: str | None
    embedder: EmbedderSettings
    reviewer: ReviewerSettings
    openai_api_key: str | None = field(default=None, repr=False)
    calls_per_second: int = DEFAULT_CALLS_PER_SECOND
    turn_end: str = ""


def settings_of(environment: Mapping[str, str]) -> Settings:
    """Raises `SettingsError`."""
    return Settings(
        memory_table=_required(environment, MEMORY_TABLE),
        execution_table=_required(environment, EXECUTION_TABLE),
        opensearch_url=_required(environment, OPENSEARCH_URL),
        opensearch_signed=environment.get(OPENSEARCH_SIGNED) or None,
        embedder=embedder_settings(
            environment.get(EMBEDDER) or DEFAULT_EMBEDDER,
            model=environment.get(EMBEDDER_MODEL) or None,
            dimensions=_number(environment, EMBEDDER_DIMENSIONS, int),
            min_score=_number(environment, EMBEDDER_MIN_SCORE, float),
        ),
        reviewer=reviewer_settings(
            environment.get(REVIEWER) or DEFAULT_REVIEWER, model=environment.get(REVIEWER_MODEL) or None
        ),
        openai_api_key=environment.get(OPENAI_API_KEY) or None,
        calls_per_second=_calls_per_second(environment),
        turn_end=environment.get(TURN_END) or "",
    )


def embedder_settings(
    spelled: str, *, model: str | None = None, dimensions: int | None = None, min_score: float | None = None
) -> EmbedderSettings:
    """`local`, `openai:<base url>` or `bedrock:<model>`. Raises `SettingsError`."""
    match spelled.partition(":"):
        case ("local", "", ""):
            if model is not None or dimensions is not None:
                raise SettingsError("The local embedder is one model of one size: leave its name and dimensions out.")
            return EmbedderSettings("local", min_score=min_score)
        case ("openai", ":", str(base)) if base.startswith(("http://", "https://")):
            if model is None:
                raise SettingsError("An openai: embedder needs the name of its model.")
            return EmbedderSettings("openai", base, model, dimensions, min_score)
        case ("bedrock", ":", str(name)) if name:
            return EmbedderSettings("bedrock", name, name, dimensions, min_score)
        case _:
            raise SettingsError("The embedder takes local, openai:<base url> or bedrock:<model>.")


def reviewer_settings(spelled: str, *, model: str | None = None) -> ReviewerSettings:
    """`rules`, `openai:<base url>` or `bedrock:<model>`. Raises `SettingsError`."""
    match spelled.partition(":"):
        case ("rules", "", ""):
            if model is not None:
                raise SettingsError("The rules are no model: leave its name out.")
            return ReviewerSettings("rules", model="rules")
        case ("openai", ":", str(base)) if base.startswith(("http://", "https://")):
            if model is None:
                raise SettingsError("An openai: reviewer needs the name of its model.")
            return ReviewerSettings("openai", base, model)
        case ("bedrock", ":", str(name)) if name:
            if model is not None:
                raise SettingsError("A bedrock: reviewer has the name of its model behind the colon alone.")
            return ReviewerSettings("bedrock", name, name)
        case _:
            raise SettingsError("The reviewer takes rules, openai:<base url> or bedrock:<model>.")


def _required(environment: Mapping[str, str], name: str) -> str:
    if value := environment.get(name):
        return value
    raise SettingsError(f"The environment variable {name} is not set.")


def _calls_per_second(environment: Mapping[str, str]) -> int:
    calls = _number(environment, CALLS_PER_SECOND, int)
    if calls is not None and calls < 1:
        raise SettingsError(f"The environment variable {CALLS_PER_SECOND} takes 1 or more.")
    return calls or DEFAULT_CALLS_PER_SECOND


def _number(environment: Mapping[str, str], name: str, kind: type[N]) -> N | None:
    value = environment.get(name)
    if not value:
        return None
    try:
        return kind(value)
    except ValueError as error:
        raise SettingsError(f"The environment variable {name} takes a number.") from error

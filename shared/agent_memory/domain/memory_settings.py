"""The part `memory` of an agent's configuration: its fields, what each takes, and its default.

Leaves to `configuration` what relates it to the rest (sessions), and to `patterns` what a pattern of the gate may say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationInfo,
    field_validator,
)

from .bodies import Body, Bounded, Different, Name, Several, Storable, Text, Whole, takes
from .durations import Duration
from .patterns import fault_of
from .scopes import Scope

ScopeName = Literal["session", "workflow", "user", "agent", "platform"]
ExtraTool = Literal["add_memory", "read_memory", "delete_memory"]

SCOPE_ADVICE = "Allow a scope broader than session only when facts from one session's data may inform all that read it."
MAX_KINDS = 32
MAX_NAMED_KINDS = 100  # in settings by kind, which may still name kinds that a later version dropped
MAX_LABELS = 14  # one for each number from 5 to 18
DEFAULT_ITEM_TOKENS = 400


def _without_nulls(given: Any) -> Any:
    """In a map whose names the caller chooses, too, null is as good as absent."""
    return {name: value for name, value in given.items() if value is not None} if isinstance(given, Mapping) else given


class ScopeSettings(Body):
    read: Annotated[Several[ScopeName], Field(min_length=1, max_length=5), Bounded, Different] = Field(
        ("session",), description="The scopes whose records turns see."
    )
    write: Annotated[Several[ScopeName], Field(max_length=5), Bounded, Different] = Field(
        ("session",), description="The scopes that turns save to and delete from; none: nothing is saved or deleted."
    )


class KindSettings(Body):
    precedence: Literal["broader", "narrower"] = Field(
        "narrower", description="Which scope applies where records contradict each other. `constraint` is broader."
    )


def _kind_name(name: str) -> str:
    if name in list(Scope):
        raise takes("a name that is not a scope's")
    return name


KindName = Annotated[Name, AfterValidator(_kind_name)]
_KindNames = Annotated[Several[KindName], Field(min_length=1, max_length=MAX_KINDS), Bounded, Different]
_KIND_NAMES: TypeAdapter[tuple[str, ...]] = TypeAdapter(_KindNames)


def _kinds_by_name(given: Any) -> Any:
    """The list as the map, and each kind's own precedence where none is stated."""
    if isinstance(given, list | tuple):
        given = dict.fromkeys(_KIND_NAMES.validate_python(given))
    if not isinstance(given, Mapping):
        return given
    return {name: _kind(name, value) for name, value in given.items()}


def _kind(name: object, given: Any) -> Any:
    if given is None:
        given = {}
    if name == "constraint" and isinstance(given, Mapping) and given.get("precedence") is None:
        return {**given, "precedence": "broader"}
    return given


class LabelSettings(Body):
    number: Annotated[int, Field(ge=5, le=18), Whole] = Field(
        description="The label's fixed slot. Once declared it never changes."
    )
    description: Annotated[Text, Field(min_length=1, max_length=300)] = Field(
        description="What the label holds, for the agent."
    )


class PinSettings(Body):
    max_tokens: Annotated[int, Field(ge=1, le=20_000), Whole] = Field(description="The longest pin list.")


class SearchSettings(Body):
    mode: Literal["hybrid", "lexical", "vector"] = Field("hybrid", description="By words, by meaning, or by both.")
    max_results: Annotated[int, Field(ge=1, le=50), Whole] = Field(5, description="How many records a recall returns.")
    min_score: Annotated[float, Field(ge=-1, le=1), Storable] | None = Field(
        None, description="Least cosine of a record found by meaning alone; null: the floor of the embedding model."
    )


class RecallSettings(Body):
    max_tokens: Annotated[int, Field(ge=100, le=50_000), Whole] = Field(2000, description="Budget of all items.")
    max_item_tokens: Annotated[int, Field(ge=20, le=50_000), Whole] = Field(
        default_factory=lambda earlier: min(DEFAULT_ITEM_TOKENS, earlier["max_tokens"]),
        description="Longest item, at most max_tokens; the default is the smaller of 400 and max_tokens.",
    )

    @field_validator("max_item_tokens")
    @classmethod
    def _within_the_budget(cls, tokens: int, info: ValidationInfo) -> int:
        if tokens > info.data.get("max_tokens", tokens):
            raise takes("a whole number from 20 to max_tokens")
        return tokens


class EveryMessages(Body):
    messages: Annotated[int, Field(ge=1, le=1000), Whole] = Field(
        description="How many messages of user and agent make a review due."
    )


def _every(given: Any) -> Any:
    """Choose before pydantic does, which would tell of every alternative that does not fit."""
    if isinstance(given, Mapping | EveryMessages):
        return EveryMessages.model_validate(given)
    if given != "turn":
        raise takes('turn, or an object such as {"messages": 20}')
    return given


Every = Annotated[
    Literal["turn"] | EveryMessages, BeforeValidator(_every, json_schema_input_type=Literal["turn"] | EveryMessages)
]


class ExtractionSettings(Body):
    prompt: Annotated[Text, Field(min_length=1, max_length=20_000)] | None = Field(
        None, description="Replaces the default instructions on what a review keeps."
    )
    every: Every = Field("turn", description="When a review is due: at each turn's end, or after so many messages.")


def _pattern(text: str) -> str:
    if fault := fault_of(text):
        raise takes(f"a pattern in RE2 syntax ({fault})")
    return text


Pattern = Annotated[Text, Field(min_length=1, max_length=500), AfterValidator(_pattern)]


class GateSettings(Body):
    secrets: bool = Field(True, description="Refuse text that holds a secret.")
    injection: bool = Field(True, description="Refuse text that tries to change who commands.")
    deny: Annotated[Several[Pattern], Field(max_length=100), Bounded] = Field(
        (), description="Patterns of the product's own, in RE2 syntax; text that matches one is refused."
    )


DurationByScope = Annotated[dict[ScopeName, Duration], BeforeValidator(_without_nulls), Bounded]
DurationByKind = Annotated[
    dict[KindName, Duration], Field(max_length=MAX_NAMED_KINDS), BeforeValidator(_without_nulls), Bounded
]


class RetentionSettings(Body):
    """How long records live, from their saving; a record ends at the earliest that applies."""

    scope: DurationByScope = Field({}, description="By scope.")
    kind: DurationByKind = Field({}, description="By kind.")
    preview: Duration = Field(
        Duration.parse("7d"), description="Of what preview turns save.", json_schema_extra={"default": "7d"}
    )


class DecaySettings(Body):
    half_life: Duration = Field(description="The age at which a record's confidence has halved.")


class MemorySettings(Body):
    enabled: bool = Field(False, description="Whether the agent remembers.")
    scope: ScopeSettings = Field(ScopeSettings(), description=f"Which scopes turns read and write. {SCOPE_ADVICE}")
    kinds: Annotated[
        dict[KindName, KindSettings],
        Field(min_length=1, max_length=MAX_KINDS),
        BeforeValidator(_kinds_by_name, json_schema_input_type=_KindNames | dict[KindName, KindSettings]),
        Bounded,
    ] = Field(
        {name: KindSettings() for name in ("guidance", "fact", "event", "reference")},
        description="The kinds of record that the agent saves: a list of names, or a map of name to precedence.",
    )
    labels: Annotated[dict[Name, LabelSettings], Field(max_length=MAX_LABELS), Bounded] = Field(
        {}, description="Exact values that records carry and searches filter by."
    )
    tools: Annotated[Several[ExtraTool], Field(max_length=3), Bounded, Different] = Field(
        (), description="The tools offered beside search_memory."
    )
    pinned: PinSettings | None = Field(None, description="Allows pins, within a budget.")
    search: SearchSettings = SearchSettings()
    recall: RecallSettings = Field(default_factory=lambda: RecallSettings())
    extraction: ExtractionSettings = ExtractionSettings()
    retention: RetentionSettings = RetentionSettings()
    gate: GateSettings = GateSettings()
    decay: Annotated[
        dict[KindName, DecaySettings], Field(max_length=MAX_NAMED_KINDS), BeforeValidator(_without_nulls)
    ] = Field({}, description="How the confidence of a kind's records fades, by kind.")
    min_confidence: Annotated[float, Field(ge=0, le=1), Storable] = Field(
        0.0, description="A record whose faded confidence is below it is not recalled."
    )
    merge: Literal["off", "propose"] = Field("off", description="Whether near-duplicates are proposed for merging.")

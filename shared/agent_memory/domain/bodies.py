"""The manner of every body and tool input: nothing unknown, nothing converted, null as good as absent.

Knows the base model and the annotations that fields share. What pydantic says of a body that does not fit is put into
words by `faults`; a validator that knows its field better raises `takes(...)` and is quoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError, ValidationError

from . import text as characters

T = TypeVar("T")

MAX_VALUES = 1000  # of a list or a map; every field's own limit is far below
TAKES = "takes"  # the type of an error whose context says what the place takes
UNICODE = "text without lone surrogates (halves of a surrogate pair)"


def takes(what: str) -> PydanticCustomError:
    """The error of a validator: `what` the place takes, in words that never repeat what was given."""
    return PydanticCustomError(TAKES, "takes {takes}", {"takes": what})


class Body(BaseModel):
    """A JSON object that a caller sends. Frozen."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,  # a function starts without those of other routes: a sixth of its own import
    )

    @model_validator(mode="before")
    @classmethod
    def _absent(cls, given: Any) -> Any:
        """Drop the fields that are null. Unknown ones stay, to be refused by their names; the first will do."""
        if not isinstance(given, Mapping):
            return given
        told = islice((name for name in given if name not in cls.model_fields), MAX_VALUES)
        names = [name for name in cls.model_fields if name in given and not cls._is_absent(name, given[name])]
        return {_spellable(name): given[name] for name in (*names, *told)}

    @classmethod
    def _is_absent(cls, name: str, value: object) -> bool:
        return value is None


def _spellable(name: Any) -> Any:
    """pydantic refuses a whole object for one name with a lone surrogate, and then tells of nothing else in it."""
    return characters.without_lone_surrogates(name) if isinstance(name, str) else name


def _bounded(given: Any) -> Any:
    """A megabyte holds a quarter of a million wrong values, and each would be told."""
    if isinstance(given, list | tuple | dict) and len(given) > MAX_VALUES:
        context = {"field_type": "Value", "max_length": MAX_VALUES, "actual_length": len(given)}
        raise PydanticKnownError("too_long", context)
    return given


def _whole(given: Any) -> Any:
    """JSON knows one kind of number: 5.0 is the integer 5, as JSON Schema has it."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _storable(number: float) -> float:
    """Nearer to nothing than DynamoDB's numbers reach (1E-130) is nothing."""
    return 0.0 if abs(number) < 1e-100 else number


def _no_lone_surrogate(given: str) -> str:
    if characters.has_lone_surrogate(given):
        raise takes(UNICODE)
    return given


def _one_line(given: str) -> str:
    if characters.has_line_break(given):
        raise takes("one line, without line breaks")
    return given


def _given_id(given: str) -> str:
    if characters.has_control(given):
        raise takes(f"text of 1 to {characters.MAX_ID_CHARACTERS} characters without control characters")
    return given


def _different(given: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Tell of repeated values beside whatever else is wrong with the list."""
    repeated = _repeated(given[:MAX_VALUES]) if isinstance(given, list | tuple) else []
    try:
        values = validate(given)
    except ValidationError as error:
        raise _with_more(error, repeated) from None
    if repeated:
        raise ValidationError.from_exception_data("list", repeated)
    return values


def _repeated(given: Sequence[Any]) -> list[InitErrorDetails]:
    seen: set[str] = set()
    found = []
    for position, value in enumerate(given):
        if isinstance(value, str) and value in seen:
            fault = takes("a value that the list does not hold yet")
            found.append(InitErrorDetails(type=fault, loc=(position,), input=None))
        elif isinstance(value, str):
            seen.add(value)
    return found


def _with_more(error: ValidationError, more: Sequence[InitErrorDetails]) -> ValidationError:
    details = []
    for one in error.errors(include_url=False, include_input=False):
        context = one.get("ctx", {})
        kind = takes(context["takes"]) if one["type"] == TAKES else one["type"]
        details.append(InitErrorDetails(type=kind, loc=one["loc"], input=None, ctx=context))
    return ValidationError.from_exception_data(error.title, [*details, *more])


Whole = BeforeValidator(_whole)
Storable = AfterValidator(_storable)
Unicode = AfterValidator(_no_lone_surrogate)
OneLine = AfterValidator(_one_line)
Different = WrapValidator(_different)  # of a list of texts

Bounded = BeforeValidator(_bounded)  # behind Field(…), whose limits pydantic then leaves in the schema

Several = Annotated[tuple[T, ...], Strict(False)]  # a JSON array, kept as a tuple; its values stay strict
Text = Annotated[str, Unicode]
Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$")]
GivenId = Annotated[
    str, Field(min_length=1, max_length=characters.MAX_ID_CHARACTERS), Unicode, AfterValidator(_given_id)
]

"""Carries out a state machine, as far as this product's needs it: tasks with their tries, choices, the end.

Waits for nothing: the longest pause before each further try is noted. A field that it does not know fails the test, so
nothing of a definition is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Call = Callable[[str, dict[str, Any]], Mapping[str, Any]]
"""A function's ARN, and what it is told → what it answers. Whatever it raises is an error of the exception's name."""

_TASK = {"Type", "Resource", "Parameters", "OutputPath", "TimeoutSeconds", "Retry", "Catch", "Next"}
_RETRY = {"ErrorEquals", "IntervalSeconds", "BackoffRate", "MaxAttempts", "MaxDelaySeconds", "JitterStrategy"}
_LAMBDA = ":states:::lambda:invoke"


class NoWayOn(Exception):
    """A task has failed, and nothing catches it: so has the execution."""


@dataclass
class Execution:
    """walked: the states in their order. told: each function, and what it was told. pauses_s: the longest of each."""

    machine: Mapping[str, Any]
    call: Call
    walked: list[str] = field(default_factory=list)
    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    pauses_s: list[float] = field(default_factory=list)

    def run(self, given: Any) -> Any:
        """The output of the last state. Raises `NoWayOn`."""
        assert self.machine.keys() == {"StartAt", "TimeoutSeconds", "States"}
        at = self.machine["StartAt"]
        while True:
            self.walked.append(at)
            state = self.machine["States"][at]
            match state["Type"]:
                case "Task":
                    at, given = self._task(state, given)
                case "Choice":
                    at = _chosen(state, given)
                case "Succeed":
                    assert state.keys() == {"Type"}
                    return given

    def _task(self, state: Mapping[str, Any], given: Any) -> tuple[str, Any]:
        assert state.keys() <= _TASK
        assert state["Resource"].endswith(_LAMBDA)
        asked = _filled(state["Parameters"], given)
        try:
            answer = {"StatusCode": 200, "Payload": self._tried(state.get("Retry", ()), asked)}
        except Exception as error:
            return _caught(state.get("Catch", ()), error), given
        return state["Next"], _at(state["OutputPath"], answer)

    def _tried(self, retries: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]) -> Any:
        tries = [0] * len(retries)
        while True:
            self.told.append((asked["FunctionName"], asked["Payload"]))
            try:
                return self.call(asked["FunctionName"], asked["Payload"])
            except Exception as error:
                fitting = [n for n, each in enumerate(retries) if _names(each, error)][:1]
                if not fitting or tries[fitting[0]] == retries[fitting[0]]["MaxAttempts"]:
                    raise
                (n,) = fitting
                self.pauses_s.append(_pause_s(retries[n], tries[n]))
                tries[n] += 1


def _pause_s(retry: Mapping[str, Any], before: int) -> float:
    assert retry.keys() <= _RETRY
    pause_s: float = retry["IntervalSeconds"] * retry["BackoffRate"] ** before
    return min(pause_s, retry["MaxDelaySeconds"])


def _caught(catches: Sequence[Mapping[str, Any]], error: Exception) -> str:
    for each in catches:
        assert each.keys() == {"ErrorEquals", "ResultPath", "Next"}
        if _names(each, error):
            assert each["ResultPath"] is None  # the next state is given what this one was
            return str(each["Next"])
    raise NoWayOn(type(error).__name__) from error


def _names(rule: Mapping[str, Any], error: Exception) -> bool:
    return not {type(error).__name__, "States.ALL"}.isdisjoint(rule["ErrorEquals"])


def _chosen(state: Mapping[str, Any], given: Any) -> str:
    assert state.keys() == {"Type", "Choices", "Default"}
    for rule in state["Choices"]:
        assert rule.keys() == {"Variable", "BooleanEquals", "Next"}
        if _at(rule["Variable"], given) is rule["BooleanEquals"]:
            return str(rule["Next"])
    return str(state["Default"])


def _filled(template: Any, given: Any) -> Any:
    """With what stands at a path in place of each `name.$`."""
    if not isinstance(template, dict):
        return template
    return dict(
        (name.removesuffix(".$"), _at(each, given)) if name.endswith(".$") else (name, _filled(each, given))
        for name, each in template.items()
    )


def _at(path: str, given: Any) -> Any:
    for name in path.split(".")[1:]:
        given = given[name]
    return given

"""The dev switches (`serve --dev`): move the clock, stop the index, let ports fail, run what is due. No routes of the
product."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from agent_memory.domain.bodies import Body
from agent_memory.domain.durations import Duration
from agent_memory.domain.errors import AgentMemoryError, InvalidRequest, Unavailable
from agent_memory.runtime.calls import Answer
from agent_memory.runtime.json_text import json_value
from agent_memory.runtime.problems import problem
from agent_memory.runtime.requests import body_of

from .clock import AdvancedClock
from .faults import FailingEmbedder, IndexState, LosingTable, SwitchedIndex

Count = Annotated[int, Field(ge=0, le=1000)]


class ClockSwitch(Body):
    advance: Duration


class IndexSwitch(Body):
    state: Literal["on", "paused", "off"]


class FaultSwitches(Body):
    """The next so many attempts fail; 0 clears."""

    commit_answer_lost: Count | None = None
    embedder: Count | None = None


class JobSwitch(Body):
    job: Literal["sweep"]


@dataclass(frozen=True, slots=True)
class Switches:
    """The ports as the server works with them, and what moves them. on_index: told of each new state; sweep: does all
    that is due by the clock."""

    clock: AdvancedClock
    table: LosingTable
    index: SwitchedIndex
    embedder: FailingEmbedder
    on_index: Callable[[IndexState], None]
    sweep: Callable[[], list[str]]

    def handle(self, name: str, text: bytes, request_id: str) -> Answer:
        """The answer to `POST /v1/dev/<name>`."""
        try:
            switch = _SWITCHES[name]
            body, faults = body_of(switch, json_value(text))
            if body is None:
                raise InvalidRequest("The switch has faults.", faults=faults)
            return Answer(200, self._set(body))
        except AgentMemoryError as error:
            return problem(error, request_id)

    def _set(self, body: Body) -> dict[str, Any]:
        match body:
            case ClockSwitch():
                self.clock.advance(body.advance.span)
                return {"now": self.clock.now().isoformat()}
            case IndexSwitch():
                self.index.state = body.state
                self.on_index(body.state)
            case FaultSwitches():
                self._fail(body)
            case JobSwitch():
                if self.sweep():
                    raise Unavailable("a job broke; the log says how")
        return body.model_dump()

    def _fail(self, body: FaultSwitches) -> None:
        for counter, count in (
            (self.table.commits, body.commit_answer_lost),
            (self.embedder.calls, body.embedder),
        ):
            if count is not None:
                counter.set(count)


_SWITCHES: Mapping[str, type[Body]] = {
    "clock": ClockSwitch,
    "index": IndexSwitch,
    "faults": FaultSwitches,
    "run": JobSwitch,
}
NAMES = tuple(_SWITCHES)

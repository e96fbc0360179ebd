"""What the shapes of all answers share, and the shape of a problem. For the OpenAPI document and for tests: no handler
loads this."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""The server's own: RFC 3339 in UTC, with milliseconds."""

RecordStatus = Literal["ACTIVE", "PENDING", "SUPERSEDED", "REJECTED", "DELETED"]
ScopeOfRecord = Literal["session", "workflow", "user", "agent", "platform"]
SourceOfRecord = Literal["tool", "review", "lesson", "person", "import", "merge"]


class Shape(BaseModel):
    """Exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class FaultShape(Shape):
    path: str = Field(description="Where, such as `memory.scope.read[0]`; empty for the whole body.")
    code: str
    message: str = Field(description="What the place takes; never what was sent.")


class CurrentShape(Shape):
    """What stands now, where a version did not match or a record could not be changed."""

    version: int | None = Field(description="Null where there is none yet.")
    id: str | None = Field(None, description="Of a record.")
    status: RecordStatus | None = Field(None, description="Of a record.")


class Problem(Shape):
    """RFC 9457, with a stable code."""

    type: Literal["about:blank"]
    title: str
    status: int
    code: str = Field(description="Stable; `detail` is for people and may change.")
    detail: str
    request_id: str = Field(description="As the header Request-Id has it.")
    faults: list[FaultShape] = Field([], description="All that is wrong with what was sent.")
    current: CurrentShape | None = Field(None, description="What stands now.")

"""Records and transcripts for people and programs (routes 15, 18–21)."""

from __future__ import annotations

from agent_memory.domain.records import Status
from agent_memory.operations.memories import Filters, list_memories, read_memory, version, versions
from agent_memory.operations.transcript import transcript
from agent_memory.runtime.calls import Answer, Call, etag
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.requests import MemoriesQuery, PageQuery, TranscriptQuery
from agent_memory.runtime.wiring import services

_SAME = ("scope", "session_id", "workflow_id", "user_id", "kind", "labels", "source", "expired", "since", "until")


def get_transcript(call: Call) -> Answer:
    query = call.query_as(TranscriptQuery)
    page = transcript(services(), call.agent, call.turn, types=query.type, limit=query.limit, after=query.after)
    return Answer(200, page)


def get_memories(call: Call) -> Answer:
    query = call.query_as(MemoriesQuery)
    statuses = list(Status) if "all" in query.status else query.status
    filters = Filters(statuses=statuses, **{name: getattr(query, name) for name in _SAME})
    return Answer(200, list_memories(services(), call.agent, filters, limit=query.limit, after=query.after))


def get_memory(call: Call) -> Answer:
    record = read_memory(services(), call.agent, call.path["id"])
    return Answer(200, record, etag(record["version"]))


def get_versions(call: Call) -> Answer:
    page = call.query_as(PageQuery)
    return Answer(200, versions(services(), call.agent, call.path["id"], limit=page.limit, after=page.after))


def get_version(call: Call) -> Answer:
    return Answer(200, version(services(), call.agent, call.path["id"], int(call.path["n"])))


handler = handler_of(
    {
        "get_transcript": get_transcript,
        "list_memories": get_memories,
        "get_memory": get_memory,
        "list_memory_versions": get_versions,
        "get_memory_version": get_version,
    }
)

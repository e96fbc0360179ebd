"""Records and transcripts for people and programs (routes 15, 18–21, 25)."""

from __future__ import annotations

from agent_memory.domain.records import Status
from agent_memory.operations.memories import list_memories, read_memory, version, versions
from agent_memory.operations.record_filters import Filters
from agent_memory.operations.transcript import transcript
from agent_memory.runtime.calls import Answer, Call, etag
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.requests import PageQuery, RecordsQuery, TranscriptQuery
from agent_memory.runtime.wiring import services

_SAME = set(Filters.__slots__) - {"statuses"}  # filters that the query string names as the list does


def get_transcript(call: Call) -> Answer:
    query = call.query_as(TranscriptQuery)
    page = transcript(services(), call.agent, call.turn, types=query.type, limit=query.limit, after=query.after)
    return Answer(200, page)


def get_memories(call: Call) -> Answer:
    query = call.query_as(RecordsQuery)
    statuses = list(Status) if "all" in query.status else query.status
    given = {name: getattr(query, name) for name in _SAME & set(type(query).model_fields)}
    filters = Filters(statuses=statuses, **given)
    how = {name: getattr(query, name) for name in ("query", "explain", "limit", "after")}
    return Answer(200, list_memories(services(), call.path.get("agent"), filters, **how))


def get_memory(call: Call) -> Answer:
    record = read_memory(services(), call.path.get("agent"), call.path["id"])
    return Answer(200, record, etag(record["version"]))


def get_versions(call: Call) -> Answer:
    agent_id, page = call.path.get("agent"), call.query_as(PageQuery)
    return Answer(200, versions(services(), agent_id, call.path["id"], limit=page.limit, after=page.after))


def get_version(call: Call) -> Answer:
    return Answer(200, version(services(), call.agent, call.path["id"], int(call.path["n"])))


handler = handler_of(
    {
        "get_transcript": get_transcript,
        "list_memories": get_memories,
        "get_memory": get_memory,
        "list_memory_versions": get_versions,
        "get_memory_version": get_version,
        "list_platform_memories": get_memories,
        "get_platform_memory": get_memory,
        "list_platform_memory_versions": get_versions,
    }
)

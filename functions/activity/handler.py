"""What agents did, for whoever follows it: agents, turns, executions, sessions, usage (routes 5, 7, 16, 17, 34)."""

from __future__ import annotations

from agent_memory.operations.agents import list_agents
from agent_memory.operations.execution import read_execution
from agent_memory.operations.sessions import list_sessions
from agent_memory.operations.turn_list import TurnFilters, list_turns
from agent_memory.operations.usage import usage
from agent_memory.runtime.calls import Answer, Call
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.requests import PageQuery, SessionsQuery, TurnsQuery, UsageQuery
from agent_memory.runtime.wiring import services

_FILTERS = TurnsQuery.model_fields.keys() - PageQuery.model_fields.keys()


def get_agents(call: Call) -> Answer:
    return Answer(200, list_agents(services(), **dict(call.query_as(PageQuery))))


def get_turns(call: Call) -> Answer:
    query = call.query_as(TurnsQuery)
    filters = TurnFilters(**{name: getattr(query, name) for name in _FILTERS})
    return Answer(200, list_turns(services(), call.agent, filters, limit=query.limit, after=query.after))


def get_execution(call: Call) -> Answer:
    return Answer(200, read_execution(services(), call.agent, call.path["id"]))


def get_sessions(call: Call) -> Answer:
    return Answer(200, list_sessions(services(), call.agent, **dict(call.query_as(SessionsQuery))))


def get_usage(call: Call) -> Answer:
    return Answer(200, usage(services(), call.agent, **dict(call.query_as(UsageQuery))))


handler = handler_of(
    {
        "list_agents": get_agents,
        "list_turns": get_turns,
        "get_execution": get_execution,
        "list_sessions": get_sessions,
        "get_usage": get_usage,
    }
)

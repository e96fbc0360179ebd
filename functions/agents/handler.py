"""Configurations of agents, the tools they offer, the status, and the OpenAPI document (routes 1–4, 35, 36)."""

from __future__ import annotations

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.tool_schemas import tool_schemas
from agent_memory.operations.configurations import configuration_answer, list_versions
from agent_memory.operations.configure import configuration_of, configure
from agent_memory.operations.status import status
from agent_memory.runtime.calls import Answer, Call, etag
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.requests import ConfigQuery, PageQuery, ToolsQuery
from agent_memory.runtime.wiring import services, wired


def put_config(call: Call) -> Answer:
    config = call.body_as(AgentConfig)
    configured, made = configure(services(), call.agent, config, call.expected, caller=call.caller)
    code = 201 if made and configured.version == 1 else 200
    return Answer(code, configuration_answer(configured, unchanged=not made), etag(configured.version))


def get_config(call: Call) -> Answer:
    configured = configuration_of(services(), call.agent, call.query_as(ConfigQuery).version)
    return Answer(200, configuration_answer(configured), etag(configured.version))


def get_versions(call: Call) -> Answer:
    page = call.query_as(PageQuery)
    return Answer(200, list_versions(services(), call.agent, limit=page.limit, after=page.after))


def get_tools(call: Call) -> Answer:
    query = call.query_as(ToolsQuery)
    configured = configuration_of(services(), call.agent, query.version)
    tools = tool_schemas(configured.config, query.format, query.audience)
    return Answer(200, {"format": query.format, "version": configured.version, "tools": tools})


def get_status(_: Call) -> Answer:
    return Answer(200, status(services(), edition=wired().edition))


def get_openapi(_: Call) -> Answer:
    from agent_memory.runtime.openapi import document  # the answers' models, which only this needs

    return Answer(200, document())


handler = handler_of(
    {
        "configure": put_config,
        "get_config": get_config,
        "list_config_versions": get_versions,
        "get_tools": get_tools,
        "get_status": get_status,
        "get_openapi": get_openapi,
    }
)

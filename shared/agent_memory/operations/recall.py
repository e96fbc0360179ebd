"""Recall: what the agent knows, for the next model call (SPEC section 7).

Four waves: the turn; the query's vector, while the covers of the visible places are read; one search; one read of
records. Then one write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_memory.domain.budget import order
from agent_memory.domain.messages import Message
from agent_memory.domain.recall_query import query_of

from .enter import enter
from .find import Question, find
from .services import Services

_EVENTS = 4  # of one recall at most: execution, output use, usage, omitted


def recall(
    services: Services,
    agent_id: str,
    turn_id: str,
    *,
    query: str | None = None,
    messages: Sequence[Message] | None = None,
    conversation: str = "agent",
    explain: bool = False,
) -> dict[str, Any]:
    """The answer of route 10. Exactly one of `query` and `messages` is given."""
    entered = enter(services, agent_id, turn_id, events=_EVENTS)
    text = query if query is not None else query_of(messages or ())
    search, budget = entered.config.memory.search, entered.config.memory.recall
    found = find(services, entered, Question(text, search.max_results, staged=False))
    best = order(found.results)[: search.max_results]

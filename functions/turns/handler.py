"""Turns: begin, read, messages, judgements, end (routes 6, 8, 9, 12, 13)."""

from __future__ import annotations

from functools import partial

from agent_memory.domain.turns import Turn, TurnStatus
from agent_memory.operations.also import Also
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.end import Ended, end
from agent_memory.operations.enter import find_turn
from agent_memory.operations.judge import judge
from agent_memory.operations.messages import add_messages
from agent_memory.operations.turns import begun_answer, turn_answer
from agent_memory.runtime import metrics
from agent_memory.runtime.calls import Answer, Call
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.receipts import once
from agent_memory.runtime.requests import BeginBody, EndBody, JudgementBody, MessagesBody
from agent_memory.runtime.wiring import services


def post_turn(call: Call) -> Answer:
    body = call.body_as(BeginBody)
    beginning = Beginning(**{name: getattr(body, name) for name in BeginBody.model_fields})
    begins = partial(begin, services(), call.agent, beginning)
    return once(call, begins, lambda turn: Answer(201, begun_answer(turn)))


def get_turn(call: Call) -> Answer:
    return _answer(find_turn(services(), call.agent, call.turn))


def post_messages(call: Call) -> Answer:
    adds = partial(add_messages, services(), call.agent, call.turn, call.body_as(MessagesBody).messages)
    return once(call, adds, lambda added: Answer(200, {"messages": added}))


def post_judgement(call: Call) -> Answer:
    judges = partial(judge, services(), call.agent, call.turn, **dict(call.body_as(JudgementBody)))
    return once(call, judges, lambda judged: Answer(201, judged))


def post_end(call: Call) -> Answer:
    return once(call, partial(_end, call), lambda ended: _answer(ended.turn))


def _end(call: Call, *, also: Also[Ended]) -> Ended:
    ends = partial(end, services(), call.agent, call.turn, **dict(call.body_as(EndBody)))
    ended = ends(also=lambda turn: also(Ended(turn, by_this_call=True)))
    if ended.by_this_call and ended.turn.status is TurnStatus.COMMITTED:
        changes, conflicts = len(ended.turn.memories), len(ended.turn.conflicts)
        metrics.write({metrics.COMMITS: 1, metrics.CHANGES: changes, metrics.CONFLICTS: conflicts})
    return ended


def _answer(turn: Turn) -> Answer:
    return Answer(200, turn_answer(services(), turn))


handler = handler_of(
    {
        "begin_turn": post_turn,
        "get_turn": get_turn,
        "add_messages": post_messages,
        "judge_turn": post_judgement,
        "end_turn": post_end,
    }
)

"""Turns: begin, read, messages, judgements, end, another review (routes 6, 8, 9, 12 to 14)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import monotonic

from agent_memory.domain.turns import Turn, TurnStatus
from agent_memory.operations.also import Also
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.end import end
from agent_memory.operations.enter import find_turn
from agent_memory.operations.judge import judge
from agent_memory.operations.messages import add_messages
from agent_memory.operations.review_again import review_again
from agent_memory.operations.turns import begun_answer, ended_answer, turn_answer
from agent_memory.runtime.calls import Answer, Call
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.receipts import once
from agent_memory.runtime.requests import BeginBody, EndBody, JudgementBody, MessagesBody, WaitQuery
from agent_memory.runtime.turn_ends import count
from agent_memory.runtime.waiting import settled
from agent_memory.runtime.wiring import services

_ENDING = 202


def post_turn(call: Call) -> Answer:
    body = call.body_as(BeginBody)
    beginning = Beginning(**{name: getattr(body, name) for name in BeginBody.model_fields})
    begins = partial(begin, services(), call.agent, beginning)
    return once(call, begins, lambda begun: Answer(201, begun_answer(begun)))


def get_turn(call: Call) -> Answer:
    turn = find_turn(services(), call.agent, call.turn)
    standing = settled(services(), turn, call.query_as(WaitQuery).wait)
    return Answer(200, turn_answer(services(), standing))


def post_messages(call: Call) -> Answer:
    adds = partial(add_messages, services(), call.agent, call.turn, call.body_as(MessagesBody).messages)
    return once(call, adds, lambda added: Answer(200, {"messages": added}))


def post_judgement(call: Call) -> Answer:
    judges = partial(judge, services(), call.agent, call.turn, **dict(call.body_as(JudgementBody)))
    return once(call, judges, lambda judged: Answer(201, judged))


def post_end(call: Call) -> Answer:
    """Kept of a call with a key is how the turn stood at its end. Waiting comes after it, for a repetition too."""
    until = monotonic() + call.query_as(WaitQuery).wait
    answer = once(call, partial(_end, call), _ended)
    wait_s = until - monotonic()
    if answer.status != _ENDING or wait_s <= 0:
        return answer
    standing = settled(services(), find_turn(services(), call.agent, call.turn), wait_s)
    return replace(_ended(standing), headers=answer.headers)


def _end(call: Call, *, also: Also[Turn]) -> Turn:
    ended = end(services(), call.agent, call.turn, **dict(call.body_as(EndBody)), also=also)
    if ended.by_this_call and ended.turn.status is TurnStatus.COMMITTED:
        count(ended.turn)
    return ended.turn


def _ended(turn: Turn) -> Answer:
    return Answer(_ENDING if turn.status is TurnStatus.ENDING else 200, ended_answer(turn))


def post_review(call: Call) -> Answer:
    again = partial(review_again, services(), call.agent, call.turn)
    return once(call, again, lambda turn: Answer(202, ended_answer(turn)))


handler = handler_of(
    {
        "begin_turn": post_turn,
        "get_turn": get_turn,
        "add_messages": post_messages,
        "judge_turn": post_judgement,
        "end_turn": post_end,
        "review_turn": post_review,
    }
)

"""Decides what becomes of proposals: each compared with what is known, by rule where that is clear, else by the model.

Leaves to `review` which messages and rejections the proposals come from, and to `carrying_out` what is staged of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_memory.domain.errors import ToolRefused
from agent_memory.domain.parts import record_text
from agent_memory.domain.reviewing import decisions
from agent_memory.domain.reviewing.asked import decisions_asked
from agent_memory.domain.reviewing.candidates import Candidate
from agent_memory.domain.reviewing.compared import Compared
from agent_memory.domain.reviewing.decisions import DECISIONS, Decision, Skip, decided_without_call, read_decisions
from agent_memory.domain.reviewing.same import folded
from agent_memory.domain.scopes import Place, place_for_new
from agent_memory.domain.text import has_refused
from agent_memory.domain.tools import savable_scopes
from agent_memory.domain.turns import MAX_CHANGES

from .asking import Asking
from .carrying_out import CarryingOut, Decided, Proposal
from .enter import Entered
from .neighbours import Neighbourhood, Proposed, neighbours
from .services import Services
from .staged import View

MOST = 2 * MAX_CHANGES  # proposals that are compared: each with five neighbours, that is some 100,000 characters


def decide(
    services: Services,
    entered: Entered,
    proposals: Sequence[Proposal],
    asking: Asking,
    view: View | None = None,
    *,
    by: Mapping[str, Any],
) -> Decided:
    """At most one call of the model, and one correction. view: of the turn, where it is not what is staged. by: who
    writes. Raises `EmbedderUnavailable`, `ReviewerUnavailable`, `Unreadable`."""
    if not proposals:
        return Decided()  # as of most turns: nothing is read
    placed, skipped = _placed(entered, proposals)
    near = neighbours(services, entered, list(placed.values()), view)
    asking.embedded(near.usage)
    compared = _compared(placed, near)
    taken = {**skipped, **_decisions(services, compared, asking)}
    carrying = CarryingOut(services, entered, near, asking, by)
    for proposal in proposals:
        one = compared.get(proposal.number) or Compared(proposal.number, proposal.candidate, ())
        carrying.carry_out(proposal, taken[proposal.number], one)
    return carrying.decided


def _placed(entered: Entered, proposals: Sequence[Proposal]) -> tuple[dict[int, Proposed], dict[int, Decision]]:
    """Where each would be saved, by number; and those that need no comparison to be skipped."""
    placed: dict[int, Proposed] = {}
    skipped: dict[int, Decision] = {}
    said: set[tuple[bool, str]] = set()
    for place_in_line, proposal in enumerate(proposals):
        candidate = proposal.candidate
        text = candidate.retracts, folded(record_text(candidate.summary, candidate.content))
        if place_in_line >= MOST:
            skipped[proposal.number] = Skip(decisions.TOO_MANY)
        elif has_refused(candidate.summary) or has_refused(candidate.content or ""):
            skipped[proposal.number] = Skip(decisions.GATE)
        elif text in said:
            skipped[proposal.number] = Skip(decisions.SAME)
        else:
            said.add(text)
            place = _place(entered, candidate)
            if place or candidate.retracts:
                placed[proposal.number] = Proposed(candidate, place)
            else:
                skipped[proposal.number] = Skip(decisions.NO_ID)
    return placed, skipped


def _place(entered: Entered, candidate: Candidate) -> Place | None:
    try:
        return place_for_new(entered.turn.ids, savable_scopes(entered.config), candidate.scope)
    except ToolRefused:
        return None


def _compared(placed: dict[int, Proposed], near: Neighbourhood) -> dict[int, Compared]:
    several = zip(placed.items(), near.near, strict=True)
    return {number: Compared(number, one.candidate, found) for (number, one), found in several}


def _decisions(services: Services, compared: dict[int, Compared], asking: Asking) -> dict[int, Decision]:
    clear = {number: decision for number, one in compared.items() if (decision := decided_without_call(one))}
    asked = [one for number, one in compared.items() if number not in clear]
    if not asked:
        return clear
    answer = asking.ask(
        services.reviewer.decide, decisions_asked(asked), lambda text: read_decisions(text, asked), DECISIONS
    )
    wrong = {one.position: Skip(decisions.UNREADABLE) for one in answer.wrong}
    return {**clear, **wrong, **dict(answer.right)}

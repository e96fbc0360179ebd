"""A deployment with one role for each way in which grants can be given, synthesised once.

Makes the roles with the very methods that an owner calls. What they should be able to call is no business of this file.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evaluator import Principal
from resolved import ACCOUNT, API_ID, REGION, Resolved

AGENT, OTHER = "support", "billing"

CONTEXT = json.loads((Path(__file__).parents[2] / "cdk.json").read_text("utf-8"))["context"]

Part = str
Given = tuple[Part, str]
"""What is given, and for which agent: its id, "*" or "platform"."""

HALVES = ("SELECT-indexes", "SELECT-document")
GRANTS = ("RUN", "SELECT", *HALVES, "UPDATE", "INSERT", "CONFIGURE", "OPERATE")
ON_PLATFORM: Given = ("APPROVE", "platform")


@dataclass(frozen=True)
class Caller:
    """A role, given these one after the other, or at once."""

    given: tuple[Given, ...]
    together: bool = False

    @property
    def name(self) -> str:
        named = "And".join(f"{_word(part)}On{_word(agent)}" for part, agent in self.given)
        return f"Caller{named}{'Together' * self.together}"

    def __str__(self) -> str:
        return " and ".join(f"{part} on {agent}" for part, agent in self.given)


def callers() -> Iterator[Caller]:
    """Every grant and every pair of grants, on one agent, on all and on platform; and pairs on two agents."""
    for agent in (AGENT, "*", "platform"):
        singles = [(part, agent) for part in GRANTS] + ([ON_PLATFORM] if agent == "platform" else [])
        yield from (Caller((each,)) for each in singles)
        yield from (Caller(pair) for pair in itertools.combinations(singles, 2))
        if agent != "platform":
            yield from (Caller((each, ON_PLATFORM)) for each in singles)
    for one, two in itertools.product(GRANTS, GRANTS):
        yield Caller(((one, AGENT), (two, OTHER)))
    for agent, parts in ((AGENT, ("SELECT", "UPDATE")), (AGENT, ("SELECT", "INSERT")), ("*", ("SELECT", "UPDATE"))):
        yield Caller(tuple((part, agent) for part in parts), together=True)
    yield Caller((("SELECT", "platform"), ("UPDATE", "platform"), ON_PLATFORM), together=True)
    # What is asked for in three parts, given in two orders; and a half that is given for all, a half for one.
    yield Caller((("UPDATE", AGENT), (HALVES[1], AGENT), (HALVES[0], AGENT), ("OPERATE", AGENT)))
    yield Caller((("OPERATE", AGENT), (HALVES[0], AGENT), (HALVES[1], AGENT), ("UPDATE", AGENT)))
    yield Caller(((HALVES[0], "*"), (HALVES[1], AGENT)))
    yield Caller(((HALVES[1], AGENT), (HALVES[0], OTHER), (HALVES[1], OTHER)))
    # Deleting for the platform takes three: whole, in another order, without a half of one, and where others are given.
    select, update = ("SELECT", "platform"), ("UPDATE", "platform")
    yield Caller((select, update, ON_PLATFORM))
    yield Caller((ON_PLATFORM, (HALVES[1], "platform"), update, (HALVES[0], "platform")))
    yield Caller((ON_PLATFORM, (HALVES[1], "platform"), update))
    yield Caller((("SELECT", "*"), ("UPDATE", "*"), ON_PLATFORM))
    yield Caller((select, ("UPDATE", AGENT), ON_PLATFORM))


@cache
def deployment() -> Resolved:
    """Some 30 s; all tests of a run share it."""
    return synthesised(list(callers()))


def synthesised(all_callers: list[Caller]) -> Resolved:
    from aws_cdk import App, Stack  # node starts when it is used
    from aws_cdk import aws_iam as iam

    from infra.constructs.memory import AgentMemory
    from infra.stages import DEV

    with tempfile.TemporaryDirectory() as folder:
        app = App(outdir=folder, context={**CONTEXT, "@aws-cdk/core:stackResourceLimit": 0})
        stack = Stack(app, "Grants")
        memory = AgentMemory(stack, "Memory", stage=DEV)
        for caller in all_callers:
            role = iam.Role(stack, caller.name, assumed_by=iam.AccountRootPrincipal())
            if caller.together:
                memory.grant_together(role, [part for part, _ in caller.given], agents=[caller.given[0][1]])
                continue
            for each in caller.given:
                _give(memory, role, each)
        path = Path(app.synth().get_stack_by_name("Grants").template_full_path)
        return Resolved(json.loads(path.read_text("utf-8")))


def _give(memory: Any, role: Any, given: Given) -> None:
    part, agent = given
    agents = [agent]
    if part == "APPROVE":
        memory.grant_approve(role)
    elif part in HALVES:
        memory.grant_select(role, agents=agents, on=[part.removeprefix("SELECT-")])
    else:
        getattr(memory, f"grant_{part.lower()}")(role, agents=agents)


def principals(deployed: Resolved, all_callers: list[Caller]) -> Mapping[str, Principal]:
    """The roles by the names of their callers, with the tags that their sessions carry."""
    roles = {id: principal_of(deployed, id) for id in deployed.of_type("AWS::IAM::Role")}
    by_id = {each.name: each for each in all_callers}
    found = {name: roles[id] for id in roles for name in by_id if id[:-8] == name}  # CDK adds eight characters
    assert found.keys() == by_id.keys()
    return found


def principal_of(deployed: Resolved, role: str) -> Principal:
    """A role by its logical id, with the tags that its sessions carry."""
    tags = {f"aws:PrincipalTag/{key}": value for key, value in deployed.tags_of(role).items()}
    return Principal(deployed.arn(role), deployed.policies_of(role), tags)


def arn_of(method: str, path: str) -> str:
    return f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{API_ID}/dev/{method}{path}"


def _word(text: str) -> str:
    return {"*": "All"}.get(text, text.replace("-", "").title())

"""What each grant opens, in IAM: `execute-api:Invoke` on methods and paths. Which parts open a route the routes say.

A route opens to any one of its `grants`. Where one of these needs several at once (`SELECT+UPDATE`: deleting), and for
SELECT, which has two halves, all parts must be held. IAM adds separate Allows up and cannot demand two of them, so what
a caller holds also stands in tags of its role, `agent-memory/<deployment>/<part>`. `Granter.give` allows outright what
it brings in full, and the rest on condition that the tags tell of the missing parts. So half of what a route needs
opens nothing, and two halves open it in whatever order they are given. (Whoever may tag roles, `iam:TagRole`, or
sessions of one, `sts:TagSession`, can turn a half into a whole: give neither to callers.)

A path in IAM is a pattern whose `*` also spans slashes. Agents are written out whole, so `sup` never reaches `support`;
ids are 26 times `?`, so `turns/<id>` does not reach `turns/<id>/transcript`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from aws_cdk import Annotations, ArnFormat, Aws, Stack, Tags
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Node

from agent_memory.runtime.grants import ALL_AGENTS, PLATFORM_AGENT, SELECT_HALVES, Part, concerns, ways
from agent_memory.runtime.routes import ROUTES, Route

On = Literal["indexes", "document"]
Grant = Literal["RUN", "SELECT", "UPDATE", "INSERT", "CONFIGURE", "OPERATE", "APPROVE"]

ALL = (ALL_AGENTS,)
"""Every agent, those of tomorrow too; platform is not among them."""

PLATFORM = (PLATFORM_AGENT,)

AGENT_ID = re.compile("[A-Za-z0-9_-]{1,64}")  # SC-5

SELECT = tuple(SELECT_HALVES.values())

_ULID = "?" * 26
_PATTERNS = {"{turn}": _ULID, "{id}": _ULID}  # the other names stand last in their path
_EVERY_AGENT = "@all"  # in a tag, whose values take no asterisk; no agent's id holds an @
MAX_TAG = 256  # characters of a tag's value (IAM)
# Each agent takes some forty paths of 130 characters with all grants, each given apart. What is above a role's 10,240
# characters CDK puts into managed policies of 6,144, of which a role takes 10 (IAM).
MAX_AGENTS = 8

_RULE = "StepFunctionsGetEventsForStepFunctionsExecutionRule"  # as Step Functions names it


class GrantError(ValueError):
    """A grant that cannot be given as asked; the message says what can."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Method and path (a pattern below the interface's stage). missing: parts that the caller's tags must tell of."""

    method: str
    path: str
    missing: tuple[Part, ...] = ()


def openings(given: Iterable[Part], agent: str, routes: Sequence[Route] = ROUTES) -> list[Opening]:
    """What a caller who is given these parts for this agent (an id, `ALL_AGENTS` or `PLATFORM_AGENT`) may call, in the
    routes' order. Routes of no agent belong to a grant for all; those without grants come with any grant."""
    held, found = frozenset(given), []
    for route in routes:
        if not concerns(route, agent):
            continue
        path = path_pattern(route, agent)
        if not route.grants or any(way <= held for way in ways(route)):
            found.append(Opening(route.method, path))
        else:
            found += [Opening(route.method, path, _sorted(way - held)) for way in ways(route) if way & held]
    return found


def parts_of(grants: Sequence[Grant]) -> list[Part]:
    """Raises `GrantError`."""
    if unknown := [grant for grant in grants if grant not in get_args(Grant)]:
        raise GrantError(f"There is no grant {', '.join(unknown)}; there are {', '.join(get_args(Grant))}.")
    return [part for grant in grants for part in (SELECT if grant == "SELECT" else (grant,))]


def path_pattern(route: Route, agent: str) -> str:
    names = {f"{{{name}}}": "*" for name in route.parameters} | _PATTERNS | {"{agent}": agent}
    return "/".join(names.get(part, part) for part in route.resource.split("/"))


def tag_key(deployment: str, part: Part) -> str:
    return f"agent-memory/{deployment}/{part}"


def tag_value(api_id: str, agents: Sequence[str]) -> str:
    """Of a caller that holds a part for these agents. The interface's id stands in it, since nothing else tells two
    deployments of one name apart, in two regions say. Raises `GrantError` where a tag cannot hold them."""
    names = ":".join(_tag_name(agent) for agent in agents)
    if len(names) + len("0123456789:::") > MAX_TAG:
        raise GrantError(f"The agents of one role take at most {MAX_TAG - 13} characters: give ALL, or more roles.")
    return f"{api_id}::{names}:"


def tag_patterns(api_id: str, agent: str) -> list[str]:
    """What a tag is compared with: it must tell of this agent, or of all where the agent is one of them."""
    names = {_tag_name(agent)} | ({_EVERY_AGENT} if agent != PLATFORM_AGENT else set())
    return [f"{api_id}:*:{name}:*" for name in sorted(names)]


@dataclass(slots=True)
class Granter:
    """Gives grants on one deployment, and remembers them: a role has one tag for each part, however often it is given.
    deployment: a name for the tags, other than that of every deployment in the same app."""

    deployment: str
    api: apigateway.RestApi
    _agents: dict[tuple[str, Part], list[str]] = field(default_factory=dict)

    def give(self, grantee: iam.IGrantable, given: Sequence[Part], agents: Sequence[str]) -> None:
        """Raises `GrantError`."""
        check_agents(agents)
        principal = grantee.grant_principal
        if not isinstance(getattr(principal, "node", None), Node):
            raise GrantError("A grant goes to a role, a user, or what has a role.")
        for part in given:
            self._tag(principal, part, agents)
        for agent in agents:
            self._allow(grantee, given, agent)

    def _allow(self, grantee: iam.IGrantable, given: Sequence[Part], agent: str) -> None:
        arns: dict[tuple[Part, ...], list[str]] = {}
        for each in openings(given, agent):
            arns.setdefault(each.missing, []).append(self._arn(each))
        for missing, resources in arns.items():
            patterns = tag_patterns(self.api.rest_api_id, agent)
            tags = {f"aws:PrincipalTag/{tag_key(self.deployment, part)}": patterns for part in missing}
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["execute-api:Invoke"],
                resource_arns=resources,
                conditions={"StringLike": tags} if tags else None,
            )

    def _tag(self, principal: Any, part: Part, agents: Sequence[str]) -> None:
        known = self._agents.setdefault((principal.node.addr, part), [])
        known += [agent for agent in agents if agent not in known]
        key, value = tag_key(self.deployment, part), tag_value(self.api.rest_api_id, known)
        if isinstance(principal, (iam.Role, iam.User)):
            Tags.of(principal).add(key, value)
        else:
            told = (
                f"This role is not of this app: what needs {part} beside other grants opens once it has the tag {key}."
            )
            Annotations.of(self.api).add_warning_v2(f"agent-memory:{part}", told)

    def _arn(self, opening: Opening) -> str:
        return self.api.arn_for_execute_api(opening.method, opening.path, self.api.deployment_stage.stage_name)


def turn_end_statements(machine: sfn.StateMachine) -> list[iam.PolicyStatement]:
    """What a state machine needs to begin this one and wait for its end (`startExecution.sync`), of which Step
    Functions hears by a rule of its own in the account."""
    executions = Stack.of(machine).format_arn(
        service="states",
        resource="execution",
        resource_name=f"{machine.state_machine_name}:*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    rule = f"arn:{Aws.PARTITION}:events:{Aws.REGION}:{Aws.ACCOUNT_ID}:rule/{_RULE}"
    opened = {
        machine.state_machine_arn: ["states:StartExecution"],
        executions: ["states:DescribeExecution", "states:StopExecution"],
        rule: ["events:DescribeRule", "events:PutRule", "events:PutTargets"],
    }
    return [iam.PolicyStatement(actions=actions, resources=[arn]) for arn, actions in opened.items()]


def check_agents(agents: Sequence[str]) -> None:
    """Raises `GrantError`."""
    if isinstance(agents, str) or not agents:
        raise GrantError('agents takes a list of ids, such as ["support"], or ALL or PLATFORM.')
    if len(agents) > MAX_AGENTS:
        raise GrantError(f"One role is granted at most {MAX_AGENTS} agents by name: give ALL, or more roles.")
    for agent in agents:
        if agent not in (ALL_AGENTS, PLATFORM_AGENT) and not AGENT_ID.fullmatch(agent):
            raise GrantError("An agent's id is 1 to 64 of A-Z, a-z, 0-9, _ and -.")


def _tag_name(agent: str) -> str:
    return _EVERY_AGENT if agent == ALL_AGENTS else agent


def _sorted(parts: frozenset[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts))

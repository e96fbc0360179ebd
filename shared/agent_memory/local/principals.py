"""Who may do what on one machine: the tokens of a file, each with a name and its grants (GR-7).

    {"<token>": {"name": "desk", "grants": [{"grant": "SELECT", "on": "document", "agents": ["support"]}]}}

The file is read once, at the start, and refused with all its faults. What a grant opens the routes say
(`runtime.routes`), by the rule that IAM follows in AWS. A token is kept and compared as its hash alone: how long a
comparison takes tells nothing of it, and nothing here can log it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from agent_memory.domain.bodies import Body, GivenId, Several, Text, takes
from agent_memory.domain.errors import Forbidden, InvalidRequest, Unauthenticated
from agent_memory.domain.faults import faults_of
from agent_memory.domain.text import is_agent_id
from agent_memory.runtime.grants import ALL_AGENTS, PLATFORM_AGENT, SELECT_HALVES, Part, concerns, ways
from agent_memory.runtime.json_text import json_value
from agent_memory.runtime.routes import Route

_TOKEN = re.compile("[!-~]{1,1024}")
_BEARER = re.compile("bearer +([!-~]+) *", re.IGNORECASE)


class PrincipalsError(Exception):
    """The file cannot be used; the message names every fault, and no token."""


def _agent(given: str) -> str:
    if given not in (ALL_AGENTS, PLATFORM_AGENT) and not is_agent_id(given):
        raise takes('the id of an agent, "*" for all of them, or "platform"')
    return given


class _Grant(Body):
    grant: Literal["RUN", "SELECT", "UPDATE", "INSERT", "CONFIGURE", "OPERATE", "APPROVE"]
    on: Literal["document", "indexes"] | None = None
    agents: Annotated[Several[Annotated[Text, AfterValidator(_agent)]], Field(min_length=1)]

    @model_validator(mode="after")
    def _on_what(self) -> _Grant:
        if self.grant == "SELECT" and self.on is None:
            raise takes("with SELECT on: document or indexes, each in a grant of its own")
        if self.grant in ("UPDATE", "INSERT") and self.on == "indexes":
            raise takes(f"with {self.grant} on: document")
        if self.grant not in ("SELECT", "UPDATE", "INSERT") and self.on is not None:
            raise takes(f"with {self.grant} no on")
        return self

    @property
    def part(self) -> Part:
        return SELECT_HALVES[self.on or "document"] if self.grant == "SELECT" else self.grant


class _Entry(Body):
    name: GivenId
    grants: Several[_Grant]


@dataclass(frozen=True, slots=True)
class Principal:
    """held: by agent, "*" and "platform" among them, the parts of grants for it."""

    name: str
    held: Mapping[str, frozenset[Part]]

    def check(self, route: Route, agent: str | None) -> None:
        """agent: as the path names it. Raises `Forbidden` where no grant opens the route for it, whether there is such
        an agent or not (GR-5)."""
        counts = [name for name in {agent, ALL_AGENTS, PLATFORM_AGENT} if name and concerns(route, name)]
        held = frozenset(part for name in counts for part in self.held.get(name, ()))
        if route.grants and not any(way <= held for way in ways(route)):
            needed = " or ".join(route.grants)
            raise Forbidden(f"This takes the grant {needed}, which this caller does not have here.")


class Principals:
    def __init__(self, by_token: Mapping[str, Principal]) -> None:
        self._by_hash = {_hash(token): principal for token, principal in by_token.items()}

    def of(self, authorization: str | None) -> Principal:
        """Whose token the header brings. Raises `Unauthenticated`."""
        sent = _BEARER.fullmatch(authorization or "")
        principal = self._by_hash.get(_hash(sent[1])) if sent else None
        if principal is None:
            raise Unauthenticated("This server takes a token that it knows, as Authorization: Bearer <token>.")
        return principal


def read_principals(path: Path) -> Principals:
    """Raises `PrincipalsError`, or `OSError` where the file cannot be read."""
    try:
        given = json_value(path.read_bytes())
    except InvalidRequest as error:
        raise PrincipalsError(error.message.replace("The body", "the file")) from error
    if not isinstance(given, dict):
        raise PrincipalsError("the file takes a JSON object of tokens")
    faults: list[str] = []
    by_token: dict[str, Principal] = {}
    for number, (token, entry) in enumerate(given.items(), 1):
        try:
            by_token[token] = _principal(token, entry)
        except PrincipalsError as error:
            faults.append(f"entry {number}: {error}")
    if faults:
        raise PrincipalsError("; ".join(faults))
    return Principals(by_token)


def _principal(token: str, given: object) -> Principal:
    faults = [] if _TOKEN.fullmatch(token) else ["a token takes 1 to 1,024 visible ASCII characters"]
    try:
        entry = _Entry.model_validate(given)
    except ValidationError as error:
        raise PrincipalsError("; ".join([*faults, *_told(error)])) from error
    if faults:
        raise PrincipalsError(faults[0])
    held: dict[str, frozenset[Part]] = {}
    for grant in entry.grants:
        for agent in grant.agents:
            held[agent] = held.get(agent, frozenset()) | {grant.part}
    return Principal(entry.name, held)


def _told(error: ValidationError) -> Iterator[str]:
    for fault in faults_of(error, _Entry):
        yield f"{fault.path} {fault.message}".strip()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()

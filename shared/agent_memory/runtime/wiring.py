"""The one place where ports meet adapters: made at the first call, kept by the process.

In AWS from the environment (`settings`). The one-machine edition and tests put their own in with `use`. Adapters are
imported where they are made, so that importing a handler costs no boto3 and no OpenSearch client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from agent_memory.adapters.system import SystemClock, SystemIds
from agent_memory.domain.ports import (
    Clock,
    Correction,
    Embedder,
    Ids,
    IndexAnswer,
    IndexEntry,
    IndexQuery,
    Reviewer,
    Said,
    SearchIndex,
    Table,
    TurnEnds,
)
from agent_memory.operations.reindex import Replaceable
from agent_memory.operations.services import Services, Together
from agent_memory.store.agents import Agents
from agent_memory.store.calls import Calls
from agent_memory.store.deployment import Deployment
from agent_memory.store.history import History
from agent_memory.store.keys import agent_of
from agent_memory.store.receipts import Receipts
from agent_memory.store.records import Records
from agent_memory.store.sessions import Sessions
from agent_memory.store.turns import Turns

from .rates import Rates
from .settings import EmbedderSettings, ReviewerSettings, Settings, SettingsError, settings_of

if TYPE_CHECKING:
    from agent_memory.adapters.kept_floor import FloorlessModel, KeptFloors
    from agent_memory.adapters.opensearch import OpenSearchIndex

MEMORIES, HISTORY = "memories", "history"  # aliases of the search indices
CACHE_BYTES = 16 * 1024 * 1024  # some 10,000 vectors of 384 dimensions
_TITAN_DIMENSIONS = 1024


@dataclass(frozen=True, slots=True)
class Wired:
    """replaceable, replaceable_history: make an index as one that another can be filled beside; None: this edition does
    not."""

    services: Services
    edition: str
    replaceable: Callable[[], Replaceable] | None = None
    replaceable_history: Callable[[], Replaceable] | None = None
    rates: Rates = field(default_factory=Rates)


_wired: Wired | None = None
_unwired_rates = Rates()
_making = Lock()


def wired() -> Wired:
    """Raises `SettingsError` at the first call in AWS where a setting is missing."""
    global _wired
    if _wired is None:
        with _making:
            if _wired is None:
                _wired = _in_aws(settings_of(os.environ))
    return _wired


def services() -> Services:
    return wired().services


def rates() -> Rates:
    """Those of this process, also of one that cannot be wired."""
    return _wired.rates if _wired else _unwired_rates


def use(given: Wired | None) -> None:
    """Work with these from now on; None: make them at the next call."""
    global _wired
    _wired = given


def services_of(
    table: Table,
    index: SearchIndex,
    embedder: Embedder,
    reviewer: Reviewer,
    turn_ends: TurnEnds,
    *,
    history_index: SearchIndex,
    together: Together,
    clock: Clock | None = None,
    server: str = "",
) -> Services:
    """server: names the running server where one alone uses the table; "" where there are many."""
    ids: Ids = SystemIds()
    return Services(
        agents=Agents(table),
        records=Records(table),
        turns=Turns(table),
        sessions=Sessions(table),
        calls=Calls(table),
        receipts=Receipts(table, server=server),
        deployment=Deployment(table),
        history=History(table),
        index=index,
        history_index=history_index,
        embedder=embedder,
        reviewer=reviewer,
        turn_ends=turn_ends,
        clock=clock or SystemClock(),
        ids=ids,
        together=together,
    )


def in_turn(*calls: Callable[[], Any]) -> list[Any]:
    """One after the other: where nothing is waited for, threads would only cost."""
    return [call() for call in calls]


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Each in a thread, the last one in this; the first failure in order is raised once all have ended."""
    *others, last = calls
    waiting = [_threads().submit(call) for call in others]
    try:
        own = last()
    finally:
        for future in waiting:
            future.exception()
    return [*(future.result() for future in waiting), own]


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(16, thread_name_prefix="together")


def _in_aws(settings: Settings) -> Wired:
    from agent_memory.adapters.dynamodb import DynamoDBTable
    from agent_memory.adapters.dynamodb_client import dynamodb_client
    from agent_memory.adapters.step_functions import StateMachine

    table = DynamoDBTable(settings.memory_table, settings.execution_table, dynamodb_client())
    embedder = remote_embedder(settings.embedder, key=settings.openai_api_key, kept=_TableFloors(Deployment(table)))

    @cache
    def index() -> OpenSearchIndex:
        return _opensearch_index(settings, embedder, MEMORIES)

    @cache
    def history_index() -> OpenSearchIndex:
        return _opensearch_index(settings, embedder, HISTORY)

    reviewer = _LaterReviewer(settings.reviewer, settings.openai_api_key)
    turn_ends = StateMachine(settings.turn_end)
    ports = services_of(
        table,
        _LaterIndex(index),
        embedder,
        reviewer,
        turn_ends,
        history_index=_LaterIndex(history_index),
        together=at_once,
    )
    return Wired(ports, "aws", index, history_index, rates=Rates(settings.calls_per_second))


def _opensearch_index(settings: Settings, embedder: Embedder, alias: str) -> OpenSearchIndex:
    from agent_memory.adapters.opensearch import OpenSearchIndex
    from agent_memory.adapters.opensearch_client import connect

    client = connect(settings.opensearch_url, signer=_signer(settings.opensearch_signed))
    return OpenSearchIndex(client, alias, model=embedder.model, dimensions=embedder.dimensions, agent_of=agent_of)


class _LaterIndex:
    """The index, made at its first use: its client takes 60 ms to import, which turns and records never pay."""

    def __init__(self, make: Callable[[], SearchIndex]) -> None:
        self._make = make

    def search(self, query: IndexQuery) -> IndexAnswer:
        return self._make().search(query)

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        return self._make().apply(entries)


class _LaterReviewer:
    """The reviewer, made at its first use: only the function that reviews pays for it. Its name is known before."""

    def __init__(self, settings: ReviewerSettings, key: str | None) -> None:
        self._settings = settings
        self._make = cache(lambda: reviewer_of(settings, key=key))

    @property
    def kind(self) -> str:
        return self._settings.kind

    @property
    def model(self) -> str:
        return self._settings.model

    def propose(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return self._make().propose(asked, correction)

    def decide(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return self._make().decide(asked, correction)


class _TableFloors:
    """Floors that upkeep has measured. Until it has, each process measures for itself and keeps nothing: a recall may
    not write the memory table."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def get(self, name: str) -> float | None:
        return self._deployment.floor(name)

    def put(self, name: str, floor: float) -> None:
        pass


def _signer(service: str | None) -> Any:
    if service is None:
        return None
    import boto3
    from opensearchpy import Urllib3AWSV4SignerAuth

    session = boto3.Session()
    return Urllib3AWSV4SignerAuth(session.get_credentials(), session.region_name, service)


def remote_embedder(settings: EmbedderSettings, *, key: str | None, kept: KeptFloors | None = None) -> Embedder:
    """The embedder behind a network, with a cache before it. key: of an OpenAI-compatible server; kept: where a floor
    lies that had to be measured, None: the process keeps it."""
    from agent_memory.adapters.embedding_cache import CachingEmbedder
    from agent_memory.adapters.kept_floor import WithFloor

    return CachingEmbedder(WithFloor(_model(settings, key), floor=settings.min_score, kept=kept), CACHE_BYTES)


def _model(settings: EmbedderSettings, key: str | None) -> FloorlessModel:
    if settings.kind == "openai":
        from agent_memory.adapters.openai_compatible import OpenAICompatibleModel

        return OpenAICompatibleModel(settings.target, settings.model or "", dimensions=settings.dimensions, key=key)
    if settings.kind == "bedrock":
        from agent_memory.adapters.bedrock import TitanModel

        try:
            return TitanModel(model=settings.target, dimensions=settings.dimensions or _TITAN_DIMENSIONS)
        except ValueError as error:
            raise SettingsError(str(error)) from error
    raise SettingsError("The local embedder is the one-machine edition's.")


def reviewer_of(settings: ReviewerSettings, *, key: str | None) -> Reviewer:
    """key: of an OpenAI-compatible server."""
    match settings.kind:
        case "rules":
            from agent_memory.adapters.rule_reviewer import RuleReviewer

            return RuleReviewer()
        case "openai":
            from agent_memory.adapters.openai_reviewer import OpenAIReviewer

            return OpenAIReviewer(settings.target, settings.model, key=key)
        case "bedrock":
            from agent_memory.adapters.bedrock_reviewer import BedrockReviewer

            return BedrockReviewer(settings.target)

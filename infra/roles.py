"""What the role of each function may do: the verbs that its handlers call, one by one, and nothing else (GR-2).

Spelled out because the ready-made grants give more: `grant_read_data` brings `Scan`, `grant_read` of a domain opens all
of it. A transaction needs the verb of each of its actions. `tests/infra` holds the table to what handlers really call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MEMORIES, HISTORY = "memories", "history"
ALIASES = (MEMORIES, HISTORY)  # of the search indices; behind each stand numbered ones, `memories-<model>-<n>`

Paths = Mapping[str, tuple[str, ...]]
"""By verb: paths below the domain."""

SEARCH_PATHS: Paths = {"ESHttpPost": ("_msearch",)}
"""The index stands in the request's lines; which may be named there the domain's own roles say (`search_roles`)."""

INDEX_PATHS: Paths = {
    "ESHttpGet": tuple(f"_alias/{alias}*" for alias in ALIASES),
    "ESHttpPost": tuple(
        f"{name}/{call}" for alias in ALIASES for name in (alias, f"{alias}-next") for call in ("_bulk", "_refresh")
    ),
}
"""Filling an index, and the one that is made beside it."""

MAINTENANCE_PATHS: Paths = {
    "ESHttpGet": tuple(f"{alias}-*" for alias in ALIASES),
    "ESHttpPut": tuple(f"{alias}-*" for alias in ALIASES),
    "ESHttpPost": ("_aliases",),
}
"""Making an index, and putting it in the place of another."""


@dataclass(frozen=True, slots=True)
class Needs:
    """memory, execution: verbs on that table. searches: the aliases that it asks. indexes, maintains: fills, makes
    search indices. embeds, reviews: calls the model that does. ends: begins executions of `TurnEnd`."""

    memory: tuple[str, ...] = ()
    execution: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    indexes: bool = False
    maintains: bool = False
    embeds: bool = False
    reviews: bool = False
    ends: bool = False


# A transaction whose answer was lost is looked for by reading what it put first, so whoever makes one may also get.
# What was kept of a call under an Idempotency-Key lies in the execution table: for each POST put and get, and for a
# tool's answer, which may be too long for one row, a batch of gets.
NEEDS: Mapping[str, Needs] = {
    "activity": Needs(memory=("BatchGetItem", "GetItem", "Query"), execution=("BatchGetItem", "GetItem", "Query")),
    # `status` asks the index whether it answers and the model for its floor.
    # A version that makes a kind binding puts its records on the boards, if they are as they were read.
    "agents": Needs(
        memory=("BatchGetItem", "ConditionCheckItem", "GetItem", "PutItem", "Query"), searches=(MEMORIES,), embeds=True
    ),
    # The second step of a turn's end: it saves what is staged, and asks neither index nor model.
    "commit": Needs(
        memory=("BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query"),
        execution=("BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query"),
    ),
    # What a turn's history keeps lies in its messages, and so in the execution table.
    "index": Needs(
        memory=("BatchGetItem", "BatchWriteItem"),
        execution=("BatchGetItem", "BatchWriteItem", "Query"),
        indexes=True,
        embeds=True,
    ),
    "recall": Needs(
        memory=("BatchGetItem", "GetItem", "Query"),
        execution=("BatchGetItem", "BatchWriteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
        searches=(MEMORIES,),
        embeds=True,
    ),
    # The list of records is ranked by a query.
    "records": Needs(
        memory=("BatchGetItem", "GetItem", "Query"),
        execution=("BatchGetItem", "GetItem", "Query"),
        searches=(MEMORIES,),
        embeds=True,
    ),
    # The first step of a turn's end, and the only function that may call the reviewer's model.
    "review": Needs(
        memory=("BatchGetItem", "BatchWriteItem", "GetItem", "Query"),
        execution=("BatchGetItem", "GetItem", "PutItem", "Query"),
        searches=(MEMORIES,),
        embeds=True,
        reviews=True,
    ),
    "tools": Needs(
        memory=("BatchGetItem", "GetItem", "PutItem", "Query"),
        execution=(
            "BatchGetItem",
            "BatchWriteItem",
            "ConditionCheckItem",
            "GetItem",
            "PutItem",
            "Query",
            "UpdateItem",
        ),
        searches=ALIASES,
        embeds=True,
    ),
    "turns": Needs(
        memory=(
            "BatchGetItem",
            "BatchWriteItem",
            "ConditionCheckItem",
            "DeleteItem",
            "GetItem",
            "PutItem",
            "Query",
        ),
        execution=(
            "BatchGetItem",
            "BatchWriteItem",
            "ConditionCheckItem",
            "DeleteItem",
            "GetItem",
            "PutItem",
            "Query",
            "UpdateItem",
        ),
        ends=True,
    ),
    # Goes on with ends that were cut off, so it may write what `turns` may; and removes records.
    "upkeep": Needs(
        memory=(
            "BatchGetItem",
            "BatchWriteItem",
            "ConditionCheckItem",
            "DeleteItem",
            "GetItem",
            "PutItem",
            "Query",
        ),
        execution=(
            "BatchGetItem",
            "BatchWriteItem",
            "ConditionCheckItem",
            "DeleteItem",
            "GetItem",
            "PutItem",
            "Query",
        ),
        indexes=True,
        maintains=True,
        embeds=True,
        ends=True,
    ),
    # Saves no turn: of the execution table it has what was kept of its own calls, and looks nothing else up there.
    "write": Needs(
        memory=("BatchGetItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query"),
        execution=("GetItem", "PutItem"),
        embeds=True,
    ),
}

MAINTENANCE = Needs(
    memory=("BatchGetItem", "BatchWriteItem", "GetItem", "Query"),
    execution=("BatchGetItem", "BatchWriteItem", "Query"),
    indexes=True,
    maintains=True,
    embeds=True,
)
"""What `agent-memory reindex` and `redrive` call, for a person's role that the owner names."""


def search_roles(
    searchers: Mapping[str, Sequence[str]], indexers: Sequence[str], maintainers: Sequence[str]
) -> dict[str, dict[str, object]]:
    """The roles that the domain itself keeps (fine-grained access control), each with the IAM roles mapped to it. Here
    stands what a path cannot say: which indices the lines of `_msearch` and `_bulk` may name. searchers: by alias."""
    searching = {
        f"agent_memory_search_{alias}": _search_role(
            mapped, [alias], ["indices:data/read/msearch"], ["indices:data/read/search"]
        )
        for alias, mapped in searchers.items()
    }
    return {
        **searching,
        "agent_memory_index": _search_role(indexers, ALIASES, ["indices:data/write/bulk"], INDEX_ACTIONS),
        "agent_memory_maintenance": _search_role(maintainers, ALIASES, [], MAINTENANCE_ACTIONS),
    }


INDEX_ACTIONS = (
    "indices:admin/aliases/get",
    "indices:admin/refresh*",
    "indices:data/write/bulk*",
    "indices:data/write/index",
)
MAINTENANCE_ACTIONS = (
    "indices:admin/aliases",
    "indices:admin/create",
    "indices:admin/delete",  # of the index that another takes the place of, in the call that moves the alias
    "indices:admin/get",
)


def _search_role(
    mapped: Sequence[str], aliases: Sequence[str], cluster: Sequence[str], actions: Sequence[str]
) -> dict[str, object]:
    permissions = {"index_patterns": [f"{alias}*" for alias in aliases], "allowed_actions": list(actions)}
    return {"backend_roles": mapped, "cluster_permissions": list(cluster), "index_permissions": [permissions]}

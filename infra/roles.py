"""What the role of each function may do: the verbs that its handlers call, one by one, and nothing else (GR-2).

Spelled out because the ready-made grants give more: `grant_read_data` brings `Scan`, `grant_read` of a domain opens all
of it. A transaction needs the verb of each of its actions. `tests/infra` holds the table to what handlers really call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ALIASES = ("memories", "history")  # the search index's; behind each stand numbered indices, `memories-<model>-<n>`

SEARCH_PATHS: Mapping[str, tuple[str, ...]] = {"ESHttpPost": ("_msearch",)}
"""By verb: the paths below the domain that a search calls. The index stands in the request's lines; which ones may be
named there the domain's own roles settle (`search_roles`)."""

INDEX_PATHS: Mapping[str, tuple[str, ...]] = {
    "ESHttpHead": tuple(f"_alias/{alias}" for alias in ALIASES),
    "ESHttpGet": tuple(path for alias in ALIASES for path in (f"_alias/{alias}", f"{alias}-*")),
    "ESHttpPut": tuple(f"{alias}-*" for alias in ALIASES),
    "ESHttpPost": (
        "_aliases",
        *(path for alias in ALIASES for path in (f"{alias}/_bulk", f"{alias}/_refresh")),
    ),
}
"""What filling the index calls, and making one where there is none."""


@dataclass(frozen=True, slots=True)
class Needs:
    """memory, execution: verbs on that table. searches, indexes: asks or fills the search index. embeds: calls the
    model."""

    memory: tuple[str, ...] = ()
    execution: tuple[str, ...] = ()
    searches: bool = False
    indexes: bool = False
    embeds: bool = False


NEEDS: Mapping[str, Needs] = {
    # `status` asks the index whether it answers and the model for its floor.
    "agents": Needs(memory=("GetItem", "PutItem", "Query"), searches=True, embeds=True),
    "index": Needs(memory=("BatchGetItem", "BatchWriteItem"), indexes=True, embeds=True),
    "recall": Needs(
        memory=("BatchGetItem", "Query"),
        execution=("BatchWriteItem", "Query", "UpdateItem"),
        searches=True,
        embeds=True,
    ),
    "records": Needs(memory=("BatchGetItem", "Query"), execution=("GetItem", "Query")),
    "tools": Needs(
        memory=("BatchGetItem", "GetItem", "PutItem", "Query"),
        execution=("BatchWriteItem", "ConditionCheckItem", "PutItem", "Query", "UpdateItem"),
        searches=True,
        embeds=True,
    ),
    "turns": Needs(
        memory=("BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query"),
        execution=("ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
    ),
    "upkeep": Needs(
        memory=("BatchGetItem", "BatchWriteItem", "GetItem", "Query"),
        execution=("BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query"),
        indexes=True,
        embeds=True,
    ),
}


def search_roles(searchers: list[str], indexers: list[str]) -> dict[str, dict[str, object]]:
    """The roles that the domain itself keeps (fine-grained access control), each with the IAM roles mapped to it. Here
    stands what a path cannot say: which indices the lines of `_msearch` and `_bulk` may name."""
    patterns = [f"{alias}*" for alias in ALIASES]
    return {
        "agent_memory_search": {
            "backend_roles": searchers,
            "cluster_permissions": ["indices:data/read/msearch"],
            "index_permissions": [{"index_patterns": patterns, "allowed_actions": ["indices:data/read/search"]}],
        },
        "agent_memory_index": {
            "backend_roles": indexers,
            "cluster_permissions": ["indices:data/write/bulk"],
            "index_permissions": [{"index_patterns": patterns, "allowed_actions": list(INDEX_ACTIONS)}],
        },
    }


INDEX_ACTIONS = (
    "indices:admin/aliases",
    "indices:admin/aliases/get",
    "indices:admin/create",
    "indices:admin/delete",  # of the index that another takes the place of, in the same call that moves the alias
    "indices:admin/get",
    "indices:admin/refresh*",
    "indices:data/write/bulk*",
    "indices:data/write/index",
)

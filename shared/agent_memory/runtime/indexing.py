"""What became of commits that were to be indexed, in the log and as metrics: ids, counts and reasons, no text."""

from __future__ import annotations

from agent_memory.operations.index import Indexed

from . import metrics
from . import observability as log


def tell(indexed: Indexed) -> None:
    log.info("indexed", commits=indexed.commits, refused=len(indexed.refused), unembedded=indexed.unembedded)
    for id, reason in indexed.refused.items():
        log.error("record not indexed", id=id, reason=reason)
    for id, error in indexed.broken.items():
        log.error("commit not indexed", id=id, **log.where(error))
    counted = {
        metrics.INDEXED: indexed.commits,
        metrics.REFUSED: len(indexed.refused),
        metrics.BROKEN: len(indexed.broken),
        metrics.UNEMBEDDED: indexed.unembedded,
        metrics.EMBEDDER_UNAVAILABLE: 1 if indexed.unembedded else 0,
    }
    metrics.write({metric: value for metric, value in counted.items() if value})

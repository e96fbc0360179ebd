"""Removes from history what its retention kept until now; the messages stay with their turn.

No search has found it since the instant of its end (`Before.shows`).
"""

from __future__ import annotations

from collections.abc import Callable

from .index_history import gone
from .services import Services

PAGE = 25  # of each shard of the list


def remove_expired_history(services: Services, has_time: Callable[[], bool]) -> int:
    """Out of the index first: what ends half-way is found on the list again. Gives how many turns. Raises
    `IndexUnavailable`."""
    done = 0
    while due := services.history.due(services.clock.now(), limit=PAGE):
        for ended in due:
            if not has_time():
                return done
            kept = services.history.several(ended.place, [ended.number]).get(ended.number)
            if kept:
                services.history_index.apply(gone(kept))
            services.history.remove(ended, kept, services.embedder.model)
            done += 1
    return done

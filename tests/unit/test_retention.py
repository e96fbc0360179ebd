"""When a record ends: at the earliest of what it was given, its scope's retention and its kind's (LC-1);
what preview turns save, at that of preview besides."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent_memory.domain.configuration import parse_config
from agent_memory.domain.retention import ends_at
from agent_memory.domain.scopes import Place, Scope

NOW = datetime(2026, 5, 12, 8, tzinfo=UTC)
CONFIG = parse_config({"memory": {"retention": {"scope": {"session": "12h", "user": "2d"}, "kind": {"event": "1d"}}}})
EARLY, LATE = "2026-05-12T12:00:00+02:00", "2026-06-01T00:00:00+02:00"


@pytest.mark.rule("LC-1")
@pytest.mark.parametrize(
    ("scope", "kind", "given", "ends"),
    [
        ("agent", "fact", None, None),
        ("agent", "fact", LATE, LATE),
        ("agent", "event", None, "2026-05-13T08:00:00.000Z"),
        ("session", "event", None, "2026-05-12T20:00:00.000Z"),
        ("user", "event", None, "2026-05-13T08:00:00.000Z"),
        ("user", "fact", None, "2026-05-14T08:00:00.000Z"),
        ("user", "event", LATE, "2026-05-13T08:00:00.000Z"),
        ("user", "event", EARLY, EARLY),  # as it was given
        ("session", "fact", "2026-05-12T22:00:00+02:00", "2026-05-12T22:00:00+02:00"),  # the same instant
    ],
)
def test_the_earliest_end_stands(scope: str, kind: str, given: str | None, ends: str | None) -> None:
    assert ends_at(CONFIG, Place(Scope(scope), "support"), kind, now=NOW, given=given) == ends


@pytest.mark.rule("LC-1", "PV-4")
@pytest.mark.parametrize(
    ("preview", "scope", "given", "ends"),
    [
        ("3d", "agent", None, "2026-05-15T08:00:00.000Z"),
        ("3d", "agent", LATE, "2026-05-15T08:00:00.000Z"),
        ("3d", "agent", EARLY, EARLY),
        ("3d", "user", None, "2026-05-14T08:00:00.000Z"),
        (None, "agent", None, "2026-05-19T08:00:00.000Z"),  # seven days unless the configuration says otherwise
    ],
)
def test_what_preview_turns_save_ends_with_preview_at_the_latest(preview, scope, given, ends) -> None:
    retention = {"scope": {"user": "2d"}} | ({"preview": preview} if preview else {})
    config = parse_config({"memory": {"retention": retention}})
    place = Place(Scope(scope), "support", preview=True)
    assert ends_at(config, place, "fact", now=NOW, given=given) == ends

"""Instants as text and back: RFC 3339; our own in UTC with milliseconds (IF-4)."""

from __future__ import annotations

from datetime import UTC, datetime


def written(moment: datetime) -> str:
    """`2026-05-12T08:00:00.000Z`"""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant(text: str) -> datetime:
    """The instant of a text that was checked when it came in."""
    return datetime.fromisoformat(text)

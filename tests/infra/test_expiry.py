"""One name for the time at which a row goes: the code's, the deployed tables' and that of the one-machine table."""

from __future__ import annotations

from agent_memory.adapters import sqlite_expiry
from agent_memory.store import keys
from infra.constructs.tables import TTL_ATTRIBUTE


def test_rows_expire_by_the_same_attribute_everywhere() -> None:
    assert keys.EXPIRES == TTL_ATTRIBUTE == sqlite_expiry.ATTRIBUTE

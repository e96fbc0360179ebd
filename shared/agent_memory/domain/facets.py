"""What the index knows of a record besides kind and labels, so that what an agent has can be narrowed by it before
it is ranked (GR-3).

Kept among an entry's labels, under names that no label can have. What nearly no record has stands there only where it
has it; who asks for records without it is answered by what the store says of each.
"""

from __future__ import annotations

from .records import Record

SCOPE, SOURCE, KEY, PINNED, PREVIEW = "@scope", "@source", "@key", "@pinned", "@preview"
YES = "yes"


def facets_of(record: Record) -> dict[str, str]:
    known = {SCOPE: record.place.scope.value, SOURCE: record.source, KEY: record.memory_key}
    return {name: value for name, value in known.items() if value is not None} | marks(
        pinned=record.pinned, preview=record.preview
    )


def marks(*, pinned: bool | None, preview: bool | None) -> dict[str, str]:
    return {name: YES for name, has_it in ((PINNED, pinned), (PREVIEW, preview)) if has_it}

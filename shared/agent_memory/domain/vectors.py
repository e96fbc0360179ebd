"""Vectors as the store keeps them: unit length, little-endian float32, one after the other."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def packed(vector: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(vector)}f", *vector)


def unpacked(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)

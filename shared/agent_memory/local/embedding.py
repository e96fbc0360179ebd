"""The embedder that the command line asks for, with its floor: given, shipped with it, or measured here and kept."""

from __future__ import annotations

import os
from pathlib import Path

from agent_memory.adapters.embedding_cache import CachingEmbedder
from agent_memory.adapters.kept_floor import FloorFile
from agent_memory.adapters.local_embedder import local_embedder
from agent_memory.domain.ports import Embedder
from agent_memory.runtime.settings import OPENAI_API_KEY, EmbedderSettings, SettingsError
from agent_memory.runtime.wiring import CACHE_BYTES, remote_embedder


def make_embedder(settings: EmbedderSettings, folder: Path) -> Embedder:
    """Ready to be asked. Raises `SettingsError` where this machine cannot have it. Of a server that was not told the
    length of its vectors, the first who asks for it learns it there, or that nobody answers (`EmbedderUnavailable`)."""
    if settings.kind != "local":
        kept = FloorFile(folder / "floors.json")
        return remote_embedder(settings, key=os.environ.get(OPENAI_API_KEY), kept=kept)
    try:
        embedder = local_embedder(floor=settings.min_score)
    except ModuleNotFoundError as error:
        raise SettingsError(str(error)) from error
    embedder.load()
    return CachingEmbedder(embedder, CACHE_BYTES)

"""The embedder that the command line asks for, with its floor: given, shipped with it, or measured here and kept."""

from __future__ import annotations

from pathlib import Path

from agent_memory.adapters.local_embedder import local_embedder
from agent_memory.domain.ports import Embedder
from agent_memory.runtime.settings import EmbedderSettings, SettingsError


def make_embedder(settings: EmbedderSettings, folder: Path) -> Embedder:
    """Loaded and ready. Raises `SettingsError` where this machine cannot have it."""
    if settings.kind == "local":
        try:
            embedder = local_embedder(floor=settings.min_score)
        except ModuleNotFoundError as error:
            raise SettingsError(str(error)) from error
        embedder.load()
        return embedder
    raise NotImplementedError

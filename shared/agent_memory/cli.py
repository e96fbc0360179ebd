"""The command `agent-memory`: start the one-machine edition, and what an operator does by hand in either edition."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agent_memory import __version__
from agent_memory.runtime.settings import DEFAULT_CALLS_PER_SECOND, MEMORY_TABLE

if TYPE_CHECKING:
    from agent_memory.domain.ports import Embedder

# One thread for numpy's matrix products: on a busy machine two fight each other for the cores (p95 of a search 22 ms
# against 1 ms). Set before numpy is imported, which nothing above does.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

T = TypeVar("T")

DATA = "./agent-memory-data"


def _options(*options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


folder_options = _options(
    click.option("--data", default=DATA, show_default=True, type=click.Path(path_type=Path, file_okay=False)),
    click.option("--embedder", default="local", show_default=True, help="local, openai:<base url> or bedrock:<model>."),
    click.option("--embedder-model", help="Name of the model of an openai: embedder."),
    click.option("--embedder-dimensions", type=click.IntRange(1, 16_000), help="Length of its vectors."),
    click.option("--embedder-min-score", type=click.FloatRange(-1, 1), help="Least cosine of what belongs together."),
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Long-term memory for AI agents, on this machine."""


@main.command()
@folder_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Without principals, stay on 127.x.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--dev", is_flag=True, help="Adds switches under /v1/dev: clock, index, faults.")
@click.option(
    "--principals",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Who may do what: a JSON file of tokens and their grants. Without it, everyone may do everything.",
)
@click.option(
    "--rate",
    default=DEFAULT_CALLS_PER_SECOND,
    show_default=True,
    type=click.IntRange(1),
    help="Calls a second of one agent, above which it is answered 429.",
)
@click.option("--reviewer", default="rules", show_default=True, help="rules, openai:<base url> or bedrock:<model>.")
@click.option("--reviewer-model", help="Name of the model of an openai: reviewer.")
def serve(
    host: str,
    port: int,
    dev: bool,
    principals: Path | None,
    rate: int,
    reviewer: str,
    reviewer_model: str | None,
    **folder: Any,
) -> None:
    """Serve the HTTP API over a data folder."""
    from agent_memory.local import server
    from agent_memory.local.browsers import is_loopback
    from agent_memory.runtime.observability import configure_logging

    configure_logging(sys.stderr)
    known = _principals(principals) if principals else None
    try:
        listening = server.listen(host, port)
    except OSError as error:
        raise _failure(f"cannot listen on {host}:{port}: {error.strerror}") from error
    if known is None and not is_loopback(listening.getsockname()[0]):
        _say("Without --principals nobody is asked who they are, and others than this machine can call.")
    opened = _opened(dev=dev, rate=rate, reviewer=reviewer, reviewer_model=reviewer_model, **folder)
    server.serve(opened, listening, known)


@main.command()
@folder_options
def reindex(**folder: Any) -> None:
    """Build the search index anew from the table.

    In AWS (with the environment of the functions) beside the old one, which is searched until the new one is whole;
    stopped half-way, the next call goes on. On one machine in its place, and the server must not run."""
    if MEMORY_TABLE not in os.environ:
        return _rebuild(folder)
    from agent_memory.operations.reindex import fill_history
    from agent_memory.operations.reindex import reindex as fill

    deployment = _deployment()
    records = 0
    for progress in _told(fill(deployment.services, deployment.replaceable())):
        records = progress.records
        _say(f"{records} records told to {progress.index}, now at agent {progress.agent}")
    click.echo(f"The new index is searched. It holds {records} records, and what was committed meanwhile.")
    turns = 0
    for progress in _told(fill(deployment.services, deployment.replaceable_history(), fill_history)):
        turns = progress.records
        _say(f"{turns} turns told to {progress.index}, now at agent {progress.agent}")
    click.echo(f"The new index of the history is searched. It holds {turns} turns, and what was committed meanwhile.")
    return None


@main.command()
def redrive() -> None:
    """Hand every commit that waits for the search index to it, now (AWS, with the environment of the functions).

    A message in the on-failure queue of indexing names a place in the stream; what it is about stands in the table."""
    from datetime import timedelta

    from agent_memory.operations.upkeep import drain

    services = _deployment().services
    (indexed,) = _told(drain(services, lambda: True, older_than=timedelta(0)) for _ in range(1))
    for id, reason in indexed.refused.items():
        click.echo(f"refused by the index, still recalled from the table: record {id}: {reason}")
    for id, error in indexed.broken.items():
        click.echo(f"not indexed, still recalled from the table: commit {id}: {type(error).__name__}")
    click.echo(f"{indexed.commits} commits indexed, {len(indexed.broken)} not, {len(indexed.refused)} records refused.")
    if indexed.broken or indexed.refused:
        raise SystemExit(1)


def _rebuild(folder: dict[str, Any]) -> None:
    edition = _opened(dev=False, **folder)
    for index, what in ((edition.index, "records"), (edition.history_index, "turns")):
        index.discard()
        told = 0
        for more in index.build(edition.services):
            told += more
            _say(f"{told} {what} indexed")
        click.echo(f"The index holds {told} {what}.")
    edition.close()


@main.command()
def version() -> None:
    """Say which version this is."""
    click.echo(__version__)


def _principals(file: Path) -> Any:
    from agent_memory.local.principals import PrincipalsError, read_principals

    try:
        return read_principals(file)
    except PrincipalsError as error:
        raise _failure(f"cannot use {file}: {error}") from error
    except OSError as error:
        raise _failure(f"cannot use {file}: {error.strerror}") from error


def _opened(
    *,
    data: Path,
    dev: bool,
    rate: int = DEFAULT_CALLS_PER_SECOND,
    embedder: str,
    embedder_model: str | None,
    embedder_dimensions: int | None,
    embedder_min_score: float | None,
    reviewer: str = "rules",
    reviewer_model: str | None = None,
) -> Any:
    from agent_memory.adapters.folder_lock import FolderInUse
    from agent_memory.domain.errors import AgentMemoryError
    from agent_memory.local.edition import Edition
    from agent_memory.local.embedding import make_embedder
    from agent_memory.runtime.rates import Rates
    from agent_memory.runtime.settings import OPENAI_API_KEY, SettingsError, embedder_settings, reviewer_settings
    from agent_memory.runtime.wiring import reviewer_of

    def embedder_of(path: Path) -> Embedder:
        _say(f"Opening {path}, with the embedder {settings.kind} …")
        return make_embedder(settings, path)

    try:
        settings = embedder_settings(
            embedder, model=embedder_model, dimensions=embedder_dimensions, min_score=embedder_min_score
        )
        reviewing = reviewer_settings(reviewer, model=reviewer_model)
        reviews = reviewer_of(reviewing, key=os.environ.get(OPENAI_API_KEY))
        return Edition(data, embedder_of, reviewer=reviews, dev=dev, rates=Rates(rate))
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except FolderInUse as error:
        raise _failure(str(error)) from error
    except OSError as error:
        raise _failure(f"cannot use {data}: {error.strerror}") from error
    except AgentMemoryError as error:
        raise _failure(f"cannot start from {data}: {error}") from error


def _deployment() -> Any:
    """As the functions have it, from the environment."""
    from agent_memory.runtime import wiring
    from agent_memory.runtime.settings import SettingsError

    try:
        return wiring.wired()
    except SettingsError as error:
        raise click.UsageError(f"{error} Take the environment of one of the functions.") from error


def _told(steps: Iterable[T]) -> Iterator[T]:
    """The steps; what does not answer is said in one line, without a stack trace."""
    from agent_memory.domain.errors import AgentMemoryError

    try:
        yield from steps
    except AgentMemoryError as error:
        raise _failure(f"{error}; once it answers, the same command goes on") from error


def _failure(message: str) -> click.ClickException:
    """One line on standard error, exit code 1."""
    return click.ClickException(message)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)

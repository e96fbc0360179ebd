"""The one-machine edition, put together: a folder, an embedder, the feed, and with `--dev` what makes them fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from uuid import uuid4

from agent_memory.adapters.rule_reviewer import RuleReviewer
from agent_memory.adapters.system import SystemClock
from agent_memory.domain.errors import AgentMemoryError
from agent_memory.domain.ports import Clock, Embedder, Reviewer, SearchIndex, Table
from agent_memory.operations.services import Services
from agent_memory.runtime import observability as log
from agent_memory.runtime.rates import Rates
from agent_memory.runtime.wiring import Wired, in_turn, services_of, use

from .clock import AdvancedClock
from .dev import Switches
from .faults import FailingEmbedder, LosingTable, SwitchedIndex
from .feed import FeedLoop
from .folder import Folder
from .sweep import Sweeper
from .turn_ends import TurnEndThreads

NAME = "one machine"


class Edition:
    """Opens the folder, and works from `start` to `stop`. make_embedder: called once the folder is held, since it may
    take seconds. reviewer: None: by rules. Raises `FolderInUse`."""

    def __init__(
        self,
        path: Path,
        make_embedder: Callable[[Path], Embedder],
        *,
        reviewer: Reviewer | None = None,
        dev: bool = False,
        rates: Rates | None = None,
    ) -> None:
        self._folder = Folder(path)
        self._rates = rates or Rates()
        self._reviewer = reviewer or RuleReviewer()
        embedder = make_embedder(path)
        self.index = self._folder.index(embedder)
        self.history_index = self._folder.history_index(embedder)
        self._sweeper = Sweeper(self._purge, self._is_paused)
        self.switches = self._make_switches(path, embedder) if dev else None
        self._turn_ends = TurnEndThreads(lambda: self.services)
        self.services = self._services(embedder)
        self._feed = FeedLoop(self._folder.table, _index_handler(), self._is_paused)
        self._builder = Thread(target=self._build, name="build index", daemon=True)

    def start(self) -> None:
        """From now on handlers work with it, and the index follows the table."""
        use(Wired(self.services, NAME, rates=self._rates))
        if not self._is_whole:
            self._builder.start()
        self._feed.start()
        self._sweeper.start()
        self._turn_ends.run()

    def settle(self, timeout_s: float = 10.0) -> None:
        """Wait until a search shows all that is committed. Raises `TimeoutError`."""
        end = monotonic() + timeout_s
        while self._folder.table.feed_waiting()[0] or not self._is_whole:
            if monotonic() > end:
                raise TimeoutError("the index did not catch up in time")
            sleep(0.005)

    def stop(self) -> None:
        """Once no call is under way. The feed goes on where it was at the next start."""
        stopped = [part.stop(timeout_s=1.0) for part in (self._sweeper, self._feed, self._turn_ends)]
        if all(stopped) and not self._builder.is_alive():
            self.close()

    def close(self) -> None:
        use(None)
        self._folder.close()

    def _services(self, embedder: Embedder) -> Services:
        table: Table = self._folder.table
        index: SearchIndex = self.index
        history_index: SearchIndex = self.history_index
        clock: Clock = SystemClock()
        if self.switches:
            table, index = self.switches.table, self.switches.index
            history_index = SwitchedIndex(history_index, follows=self.switches.index)
            embedder, clock = self.switches.embedder, self.switches.clock
        # A name for as long as this process holds the folder: what another one left running is dead.
        return services_of(
            table,
            index,
            embedder,
            self._reviewer,
            self._turn_ends,
            history_index=history_index,
            together=in_turn,
            clock=clock,
            server=uuid4().hex,
        )

    def _make_switches(self, path: Path, embedder: Embedder) -> Switches:
        return Switches(
            clock=AdvancedClock(SystemClock(), path / "dev-clock.json"),
            table=LosingTable(self._folder.table),
            index=SwitchedIndex(self.index),
            embedder=FailingEmbedder(embedder),
            on_index=lambda _: self._feed.wake(),
            sweep=self._sweeper.run,
        )

    def _purge(self) -> None:
        if rows := self._folder.table.purge(self.services.clock.now()):
            log.info("rows expired", rows=rows)

    @property
    def _is_whole(self) -> bool:
        return self.index.whole and self.history_index.whole

    def _is_paused(self) -> bool:
        return self.switches is not None and self.switches.index.state == "paused"

    def _build(self) -> None:
        try:
            for index in (self.index, self.history_index):
                if not index.whole:
                    log.info("index built", told=sum(index.build(self.services)))
        except AgentMemoryError as error:  # the table still answers in the index's place; the next start tries again
            log.error("index not built", **log.where(error))


def _index_handler() -> Callable[..., dict[str, object]]:
    from functions.index.handler import handler

    return handler

"""Two people who change one record at once: the second has decided on what the first has changed (RC-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from world import World

from agent_memory.domain.errors import Conflict, VersionMismatch
from agent_memory.domain.scopes import Place
from agent_memory.operations.configure import Expected
from agent_memory.operations.curate import decide, discard, restore
from agent_memory.operations.memories import versions
from agent_memory.operations.services import Services
from agent_memory.store.records import Records

FIRST = Expected(version=1)
ANY = Expected()


class Interrupted(Records):
    """Once it has read a record, something else happens."""

    def __init__(self, world: World, then: Callable[[], object]) -> None:
        super().__init__(world.table)
        self._then: Callable[[], object] | None = then

    def read(self, places: dict[str, Place]):  # type: ignore[no-untyped-def, override]
        found = super().read(places)
        then, self._then = self._then, None
        if then:
            then()
        return found


def interrupted(world: World, then: Callable[[], object]) -> Services:
    return replace(world.services, records=Interrupted(world, then))


def statuses(world: World, agent: str | None, id: str) -> Iterable[str]:
    return [version["status"] for version in versions(world.services, agent, id)["versions"]]


@pytest.mark.rule("RC-7", "SC-4")
@pytest.mark.parametrize("approve", [True, False])
def test_a_proposal_that_was_decided_on_meanwhile_is_not_decided_on_again(world: World, approve: bool) -> None:
    agent = world.configure(memory={"scope": {"read": ["session"], "write": ["session", "platform"]}})
    proposed = world.remember(agent, "For all.", scope="platform")
    first = lambda: decide(world.services, proposed, FIRST, approve=True, by={"caller": "first"})  # noqa: E731
    with pytest.raises(VersionMismatch):
        decide(interrupted(world, first), proposed, FIRST, approve=approve, by={"caller": "second"})
    assert statuses(world, None, proposed) == ["ACTIVE", "PENDING"]


@pytest.mark.rule("RC-7", "GR-8")
def test_a_record_that_was_restored_meanwhile_is_not_restored_again(world: World) -> None:
    agent = world.configure()
    gone = world.remember(agent, "Gone.")
    discard(world.services, agent, gone, ANY, by={"caller": "first"})
    first = lambda: restore(world.services, agent, gone, ANY, by={"caller": "first"})  # noqa: E731
    with pytest.raises(Conflict):
        restore(interrupted(world, first), agent, gone, ANY, by={"caller": "second"})
    assert statuses(world, agent, gone) == ["ACTIVE", "DELETED", "ACTIVE"]


@pytest.mark.rule("RC-6", "RC-7")
def test_a_record_that_was_deleted_meanwhile_has_one_version_more(world: World) -> None:
    agent = world.configure()
    record = world.remember(agent, "Going.")
    first = lambda: discard(world.services, agent, record, ANY, by={"caller": "first"})  # noqa: E731
    assert discard(interrupted(world, first), agent, record, ANY, by={"caller": "second"}).version == 2
    assert statuses(world, agent, record) == ["DELETED", "ACTIVE"]

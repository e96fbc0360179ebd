"""Whatever becomes of the turns of a session and of their reviews: every message of a committed turn is read by one
review that came to something, and every rejection is learned from once (EX-3, EX-6, JD-1)."""

import contextlib
from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reviewing import TopicEmbedder, again, reject, say
from scripted_reviewer import ScriptedReviewer, fact
from world import one_machine, with_services

from agent_memory.domain.errors import Conflict, EmbedderUnavailable, ReviewerUnavailable
from agent_memory.domain.ports import Said

rule = pytest.mark.rule

TOO_MUCH_FOR_TWO = 60_000  # characters: two of such messages are two windows


class FlakyEmbedder(TopicEmbedder):
    is_down = False

    def embed(self, texts, *, query=False):
        if self.is_down:
            raise EmbedderUnavailable("scripted")
        return super().embed(texts, query=query)


class FlakyReviewer(ScriptedReviewer):
    """fates: of the next calls. What it reads well it proposes to keep, in words that no other call uses."""

    def __init__(self, embedder):
        super().__init__(lambda asked: [fact(" ".join([f"{len(self.calls)}:", *labels_of(asked)]))])
        self.embedder, self.fates = embedder, []

    def propose(self, asked, correction=None):
        fate = self.fates.pop(0) if self.fates else "well"
        if fate == "down":
            raise ReviewerUnavailable("scripted")
        if fate == "nonsense":
            self.fates[:0] = [] if correction else ["nonsense"]
            return Said("?")
        self.embedder.is_down = fate == "embedder down"
        return super().propose(asked, correction)


def labels_of(asked):
    return [message["text"].split()[0] for message in asked["messages"]]


class Session:
    """One session of an agent, and what was said and rejected in each of its turns."""

    def __init__(self, world, every):
        embedder = FlakyEmbedder()
        self.model = FlakyReviewer(embedder)
        self.world = with_services(world, reviewer=self.model, embedder=embedder)
        self.agent = self.world.configure(memory={"extraction": {"every": every}})
        self.turns, self.said, self.rejected, self.first = [], {}, {}, {}

    def begin(self, preview, **more):
        turn = self.world.begin(self.agent, "s1" if not more else None, preview=preview, **more)
        self.turns.append(turn)
        self.said[turn.id], self.first[turn.id] = [], self.first.get(more.get("retry_of"), turn.id)
        self.rejected.setdefault(self.first[turn.id], [])
        return turn

    def say(self, number, count, is_long):
        if turn := self._turn(number, "open"):
            labels = [f"m{self.turns.index(turn)}.{len(self.said[turn.id]) + n}" for n in range(count)]
            say(turn, *(f"{label} {'x' * TOO_MUCH_FOR_TWO * is_long}" for label in labels))
            self.said[turn.id] += labels

    def judge(self, number):
        if turn := self._turn(number, "open"):
            several = self.rejected[self.first[turn.id]]
            several.append(f"r{self.turns.index(turn)}.{len(several)}: not so.")
            reject(turn, several[-1])

    def end(self, number, fates):
        if turn := self._turn(number, "open"):
            self._with(fates, turn.commit)

    def fail(self, number):
        if turn := self._turn(number, "open"):
            turn.roll_back()

    def retry(self, number):
        if turn := self._turn(number):
            with contextlib.suppress(Conflict):
                self.begin(None, retry_of=turn.id)

    def again(self, number, fates):
        if turn := self._turn(number, "committed"):
            self._with(fates, lambda: again(turn))

    def read_the_rest(self):
        for preview in (False, True):
            turn = self.begin(preview)
            say(turn, *(labels := [f"last{preview}.{n}" for n in range(10)]))
            self.said[turn.id] = labels
            turn.commit()

    def committed(self):
        return [turn for turn in self.turns if turn.state()["status"] == "committed"]

    def _with(self, fates, does):
        self.model.fates = list(fates)
        with contextlib.suppress(Conflict):
            does()
        self.model.fates, self.model.embedder.is_down = [], False

    def _turn(self, number, status=None):
        there = [turn for turn in self.turns if status is None or turn.state()["status"] == status]
        return there[number % len(there)] if there else None


_NUMBER = st.integers(0, 7)
_FATES = st.lists(st.sampled_from(["well", "down", "nonsense", "embedder down"]), max_size=3)
_STEPS = st.one_of(
    st.tuples(st.just("begin"), st.booleans()),
    st.tuples(st.just("say"), _NUMBER, st.integers(1, 3), st.booleans()),
    st.tuples(st.just("judge"), _NUMBER),
    st.tuples(st.just("end"), _NUMBER, _FATES),
    st.tuples(st.just("fail"), _NUMBER),
    st.tuples(st.just("retry"), _NUMBER),
    st.tuples(st.just("again"), _NUMBER, _FATES),
)
TWO_WINDOWS = [("begin", False), ("say", 0, 2, True), ("judge", 0)]
TWICE_OWED = [*TWO_WINDOWS, ("end", 0, ["down"]), *TWO_WINDOWS, ("end", 0, ["well", "down"])]


@rule("EX-3", "EX-6", "JD-1", "PV-4")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["turn", {"messages": 2}, {"messages": 5}]), st.lists(_STEPS, max_size=30))
@example("turn", TWICE_OWED)
@example("turn", [*TWICE_OWED, ("again", 0, [])])
@example("turn", [*TWICE_OWED, ("again", 1, ["well", "embedder down"]), ("again", 0, [])])
@example({"messages": 2}, [("begin", True), ("judge", 0), ("end", 0, ["embedder down"]), ("again", 0, [])])
def test_nothing_is_read_twice_and_nothing_is_left_out(tmp_path_factory, every, steps):
    with one_machine(tmp_path_factory.mktemp("w")) as world:
        session = Session(world, every)
        for name, *arguments in [("begin", False), *steps]:
            getattr(session, name)(*arguments)
        session.read_the_rest()
        committed = session.committed()
        told = [event for turn in committed for event in turn.transcript("review") if "candidate" in event]
        kept = [event["candidate"]["summary"] for event in told if event["source"] == "review"]
        read = [label for summary in kept for label in summary.split()[1:]]
        assert Counter(read) == Counter(label for turn in committed for label in session.said[turn.id])
        learned = [event["candidate"]["content"] for event in told if event["source"] == "lesson"]
        rejected = {session.first[turn.id]: session.rejected[session.first[turn.id]] for turn in committed}
        assert Counter(learned) == Counter(one for several in rejected.values() for one in several)

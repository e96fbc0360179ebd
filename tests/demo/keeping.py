"""The chapters on what is kept beside the plain facts: keys, pins, preview, and people who look after records."""

from __future__ import annotations

from narrator import short
from stage import Stage, ids

LANGUAGE = "In which language does the customer want to be answered?"


class Keeping(Stage):
    def a_contradiction_is_settled(self) -> None:
        self.tell.chapter("A contradiction is settled by its key, and a pin is always in view")
        turn = self.harness.begin("turn11", session_id="s-6", user_id="u-7")
        key = "answer.language"
        summary = "For this order wants answers in English."
        self._save(turn, "english", summary=summary, kind="preference", scope="session", memory_key=key)
        summary = "Is hard of hearing."
        self._save(turn, "pin", summary=summary, kind="fact", scope="user", pinned=True)
        turn.end("completed")
        again = self.harness.begin("turn12", session_id="s-6", user_id="u-7")
        answer = again.recall(LANGUAGE)
        shown = ids(answer["memories"])
        self.tell.claim(
            "One of the two applies, the narrower; what it overrides is not shown, but named.",
            (self._id("english") in shown, self._id("language") in shown) == (True, False)
            and [one["id"] for one in answer["overridden"]] == [self._id("language")],
        )
        self.tell.say("The pin list goes to the model too, before each of its calls:")
        self.tell.quote(answer["instructions"])
        self.tell.claim("The pin is listed, whatever was asked.", self._id("pin") in answer["instructions"])
        again.leave()
        other = self.harness.begin("turn13", session_id="s-7", user_id="u-7")
        self.tell.claim(
            "In every other session it is German, as before.",
            self._id("language") in ids(other.recall(LANGUAGE)["memories"]),
        )
        other.leave()

    def a_preview_tries_something(self) -> None:
        self.tell.chapter("A preview turn tries something")
        trial = self.harness.begin("trial1", session_id="s-7", user_id="u-7", preview=True)
        key = "answer.language"
        summary = "Wants answers in French."
        self._save(trial, "french", summary=summary, kind="preference", scope="user", memory_key=key)
        trial.end("completed")
        seen = self.harness.begin("trial2", session_id="s-7", user_id="u-7", preview=True)
        self.tell.claim(
            "The next preview turn has it in place of the live record.",
            self._is_recalled(ids(seen.recall(LANGUAGE)["memories"]), instead="language", of="french"),
        )
        seen.leave()
        live = self.harness.begin("turn14", session_id="s-7", user_id="u-7")
        self.tell.claim(
            "Live turns notice nothing.",
            self._is_recalled(ids(live.recall(LANGUAGE)["memories"]), instead="french", of="language"),
        )
        live.leave()

    def a_person_deletes(self) -> None:
        self.tell.chapter("A person looks after what is remembered")
        phone = self._id("phone")
        turn = self.harness.begin("turn15", session_id="s-7", user_id="u-7")
        self.tell.call("DELETE", f".../memories/{short(phone)}")
        gone = self.harness.agent("DELETE", f"/memories/{phone}")
        self.tell.answer(f"version {gone['version']}: {gone['status']}")
        self.tell.claim(
            "A turn that is open finds it no more, from that moment.",
            phone not in ids(turn.recall("When may we call?")["memories"]),
        )
        turn.leave()
        self.tell.call("GET", f".../memories/{short(phone)}/versions")
        newest, first = self.harness.agent("GET", f"/memories/{phone}/versions")["versions"]
        self.tell.answer(f"version 2: {newest['status']}, by the caller {newest['written_by']['caller']!r}")
        self.tell.answer(f"version 1: {first['status']}, by turn {short(first['written_by']['turn_id'])}")
        self.tell.claim(
            "Each version says who wrote it: a turn, or a person.",
            first["written_by"]["turn_id"] is not None
            and (newest["written_by"]["turn_id"], newest["written_by"]["caller"]) == (None, "local"),
        )

    def _is_recalled(self, shown: set[str], *, of: str, instead: str) -> bool:
        return self._id(of) in shown and self._id(instead) not in shown

"""What the demo tells, chapter by chapter. Each takes up what the ones before have left."""

from __future__ import annotations

import shlex

from harness import AGENT, Turn
from keeping import Keeping
from learning import Learning
from narrator import short
from stage import ids

CONFIG = {
    "memory": {
        "enabled": True,
        "kinds": ["fact", "preference", "guidance", "lesson"],
        "scope": {"read": ["session", "user"], "write": ["session", "user"]},
        "tools": ["add_memory", "read_memory", "delete_memory"],
        "pinned": {"max_tokens": 100},
    },
    "history": {"index": "messages"},
}
QUESTION = "How do we send invoices, and how does the customer want to be answered?"
DAMAGE = "Which parcel arrived damaged?"


class Story(Keeping, Learning):
    def run(self) -> None:
        """Raises `DoesNotHold` at the first claim that is not so, `NotStarted` if there is no server."""
        try:
            self.a_server_starts()
            self.an_agent_is_configured()
            self.a_turn_saves()
            self.other_sessions_recall()
            retry = self.a_turn_fails()
            self.a_fact_is_corrected(retry)
            self.the_server_is_killed()
            self.a_contradiction_is_settled()
            self.a_preview_tries_something()
            self.a_person_deletes()
            self.a_turn_teaches()
            self.how_to_go_on()
        finally:
            self.harness.close()

    def a_server_starts(self) -> None:
        self.tell.chapter("A server starts over an empty folder")
        self.tell.command(
            f"$ .venv/bin/agent-memory {shlex.join(self.server.arguments[:1])} --data <folder> --port 0 --dev"
        )
        self._start()

    def an_agent_is_configured(self) -> None:
        self.tell.chapter("An agent is configured")
        self.tell.call("PUT", f"/v1/agents/{AGENT}/config", CONFIG)
        stored = self.harness.agent("PUT", "/config", CONFIG, expect=201)
        self.tell.answer(f"version {stored['version']}, all defaults filled in")
        self.tell.call("GET", ".../tools?format=anthropic")
        tools = [tool["name"] for tool in self.harness.agent("GET", "/tools?format=anthropic")["tools"]]
        self.tell.answer(", ".join(tools))
        self.tell.claim(
            "The model is offered the two searches and the three tools that the configuration names.",
            sorted(tools) == sorted(["search_memory", "search_history", *CONFIG["memory"]["tools"]]),  # type: ignore[misc]
        )

    def a_turn_saves(self) -> None:
        self.tell.chapter("Turn 1: user u-7, session s-1. The model saves what it learned")
        said = "Parcel 4711 came with a cracked lid. Send invoices by post. And please answer in German."
        turn = self.harness.begin("turn1", session_id="s-1", user_id="u-7", messages=[{"role": "user", "text": said}])
        self._save(turn, "damage", summary="Parcel 4711 arrived with a cracked lid.", kind="fact", scope="session")
        self._save(turn, "invoices", summary="Wants invoices by post.", kind="fact", scope="user")
        key, summary = "answer.language", "Wants answers in German."
        self._save(turn, "language", summary=summary, kind="preference", scope="user", memory_key=key)

        self.tell.step("It can find them in the same turn:")
        found = turn.search("How does the bill reach the customer?")
        self.tell.claim("Search finds what this turn has saved.", self._id("invoices") in ids(found))
        self.tell.claim("All three of them.", ids(turn.search()) == self._ids("damage", "invoices", "language"))

        self.tell.step("But what a turn learns is for the turns to come, not for its own:")
        self.tell.claim("Recall does not show them yet.", turn.recall(QUESTION)["memories"] == [])

        self.tell.step("Nor does anyone else see them: a second turn of the same session, at the same time.")
        second = self.harness.begin("turn2", session_id="s-1", user_id="u-7")
        self.tell.claim("Nothing shows before it is committed.", second.search() == [])

        self.tell.step("The turn ends well: all three become real at once.")
        ended = turn.end("completed", messages=[{"role": "agent", "text": "Gern, wird gemacht."}])
        self.tell.claim("Committed, three records.", (ended["status"], len(ended["memories"])) == ("committed", 3))
        self.tell.claim(
            "The turn that was open all along sees them from that moment.",
            ids(second.search()) == self._ids("damage", "invoices", "language"),
        )
        second.leave()

    def other_sessions_recall(self) -> None:
        self.tell.chapter("Who recalls it")
        self.tell.say("The same user, another session:")
        turn = self.harness.begin("turn3", session_id="s-2", user_id="u-7")
        answer = turn.recall(QUESTION)
        self.tell.claim(
            "It recalls what is user-wide, both by one question.",
            ids(answer["memories"]) == self._ids("invoices", "language"),
        )
        self.tell.say("This block goes to the model, before its next call:")
        self.tell.quote(answer["block"])
        damage = turn.recall(DAMAGE)["memories"]
        self.tell.claim("It does not recall what belongs to session s-1.", self._id("damage") not in ids(damage))
        turn.leave()

        self.tell.step("Session s-1 itself:")
        again = self.harness.begin("turn4", session_id="s-1", user_id="u-7")
        self.tell.claim("It does.", again.recall(DAMAGE)["memories"][0]["id"] == self._id("damage"))
        again.leave()

        self.tell.step("Another user:")
        stranger = self.harness.begin("turn5", session_id="s-3", user_id="u-8")
        self.tell.claim("Recalls none of it.", stranger.recall(QUESTION)["memories"] == [])
        self.tell.claim("Finds none of it, whatever it asks for.", stranger.search() == [])
        stranger.leave()

    def a_turn_fails(self) -> Turn:
        self.tell.chapter("A turn fails")
        turn = self.harness.begin("turn6", session_id="s-2", user_id="u-7")
        lost = turn.add(summary="Wants invoices by e-mail.", kind="fact", scope="user", replaces=self._id("invoices"))
        self.tell.claim(
            "Within the turn the new fact stands for the old one.", self._id("invoices") not in ids(turn.search())
        )
        ended = turn.end("failed", error="the tool that the model called timed out")
        self.tell.claim("Rolled back.", ended["status"] == "rolled_back")
        self.tell.call("GET", f".../memories/{short(lost['id'])}")
        missing = self.harness.agent("GET", f"/memories/{lost['id']}", expect=404)
        self.tell.answer(f"404 {missing['code']}")
        self.tell.claim("It leaves nothing: what it saved does not exist.", missing["code"] == "not_found")

        self.tell.step("The harness tries again: another attempt of the same turn.")
        retry = self.harness.begin("retry", retry_of=turn.id)
        self.tell.claim("Same number, attempt 2.", (retry.number, retry.attempt) == (turn.number, 2))
        recalled = retry.recall(QUESTION)["memories"]
        self.tell.claim(
            "What the failed attempt replaced is as it was.", ids(recalled) == self._ids("invoices", "language")
        )
        return retry

    def a_fact_is_corrected(self, retry: Turn) -> None:
        self.tell.chapter("A fact is corrected, while the search index is stopped")
        self.tell.claim("So far the index shows all that is committed.", self._index_state(until="ok") == "ok")
        self._switch_index("paused")
        old = self._id("invoices")
        self._save(retry, "invoices", summary="Wants invoices by e-mail.", kind="fact", scope="user", replaces=old)
        retry.end("completed")
        self.tell.claim("It does not have this commit.", self._index_state(until="lagging") == "lagging")
        turn = self.harness.begin("turn7", session_id="s-4", user_id="u-7")
        answer = turn.recall(QUESTION)
        turn.leave()
        self.tell.claim(
            "The correction is recalled all the same, at once.",
            self._id("invoices") in ids(answer["memories"]),
        )
        self.tell.claim("What it replaced is not, though the index still holds it.", old not in ids(answer["memories"]))
        self.tell.call("GET", f".../memories/{short(old)}/versions")
        versions = self.harness.agent("GET", f"/memories/{old}/versions")["versions"]
        for version in versions:
            by = f", replaced_by {short(version['replaced_by'])}" if version["replaced_by"] else ""
            self.tell.answer(f"version {version['version']}: {version['status']}{by}")
        self.tell.claim(
            "The old record says what replaced it, and both its versions stay.",
            [v["status"] for v in versions] == ["SUPERSEDED", "ACTIVE"]
            and versions[0]["replaced_by"] == self._id("invoices"),
        )

    def the_server_is_killed(self) -> None:
        self.tell.chapter("The server is killed: SIGKILL, the moment after an answer")
        open_turn = self.harness.begin("turn8", session_id="s-1", user_id="u-7")
        refund = open_turn.add(summary="Asks for a refund of parcel 4711.", kind="fact", scope="session")["id"]
        turn = self.harness.begin("turn9", session_id="s-4", user_id="u-7")
        self._save(turn, "phone", summary="May be called after 17:00.", kind="preference", scope="user")
        recorded = self._listed() | {self._id("phone")}
        turn.end("completed")
        self.server.kill()
        self.tell.command("$ kill -9 <server>; then the same command over the same folder")
        self._start()
        self.tell.claim(
            "All that was committed is there, up to the last answer, and no more.", self._listed() == recorded
        )
        turn = self.harness.begin("turn10", session_id="s-5", user_id="u-7")
        self.tell.claim("It is recalled.", self._id("phone") in ids(turn.recall("When may we call?")["memories"]))
        self.tell.claim("The index has caught up by itself.", self._index_state(until="ok") == "ok")

        self.tell.step("The turn that was open goes on where it was:")
        self.tell.claim("It still finds what it saved.", refund in ids(open_turn.search()))
        open_turn.end("completed")
        self.tell.claim("Now that is committed too.", self._listed() == recorded | {refund})

    def how_to_go_on(self) -> None:
        self.tell.chapter("Your turn")
        self.tell.say("Start a server; it keeps everything in ./agent-memory-data:")
        self.tell.command(".venv/bin/agent-memory serve")
        self.tell.say("In another terminal:")
        self.tell.command("curl -s http://127.0.0.1:8080/v1/status")
        self.tell.say(
            "README.md goes on from there: the first calls with curl, a page for harnesses, one on reviews, one on the "
            "history, one on records and grants."
        )

"""The chapter on what is learned though no tool was called: from what was said, from a rejection; and the history."""

from __future__ import annotations

from stage import Stage

SAID = "We no longer want invoices by e-mail. From now on, quote prices with VAT. Which carrier took parcel 4711?"
REPLY = "North Freight took it. The new pump is 1,190 euros."
FEEDBACK = "The price came without a word on VAT.\nName net AND gross, side by side."
ASKED = "How do we quote prices, and how do we send invoices?"


class Learning(Stage):
    def a_turn_teaches(self) -> None:
        self.tell.chapter("A turn teaches, though its model saved nothing")
        turn = self.harness.begin("turn16", session_id="s-8", user_id="u-7", messages=[{"role": "user", "text": SAID}])
        turn.replies(REPLY)
        self.tell.step("Someone looks at the work, and rejects it:")
        turn.judge("rejected", FEEDBACK)
        self.tell.step("The turn ends. Its messages and the rejection are reviewed, here by rules:")
        ended = turn.end("completed")
        review = ended["review"]
        self.tell.claim(
            "Two records added, one replaced; all of it real with the turn, or not at all.",
            (ended["status"], review["status"], review["added"], review["replaced"]) == ("committed", "done", 2, 1),
        )
        decided = turn.decisions()
        self.tell.claim("Each decision is on record, with its reason.", all(one["reason"] for one in decided))
        self.tell.claim(
            "What replaced a record names it.",
            [one["memory_id"] for one in decided if one["decision"] == "replace"] == [self._id("invoices")],
        )
        self._the_next_run_knows()

    def _the_next_run_knows(self) -> None:
        self.tell.step("The next turn:")
        turn = self.harness.begin("turn17", session_id="s-8", user_id="u-7")
        known = turn.recall(ASKED)["memories"]
        self.tell.claim(
            "It knows what was said, to the character, and the correction in place of what it corrects.",
            {"We no longer want invoices by e-mail.", "From now on, quote prices with VAT."}
            <= {record["summary"] for record in known}
            and self._id("invoices") not in {record["id"] for record in known},
        )
        self.tell.claim(
            "And it knows the feedback, to the character.",
            [record["content"] for record in known if record["source"] == "lesson"] == [FEEDBACK],
        )
        self.tell.step("What is no memory is still in the history of the session:")
        best = turn.search_history("Who carried the parcel?")[0]
        self.tell.quote(best["text"])
        self.tell.claim(
            "An earlier turn's words, with the turn they are from.",
            best["text"] in (f"turn 1, user\n{SAID}", f"turn 1, agent\n{REPLY}"),
        )
        turn.leave()

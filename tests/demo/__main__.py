"""`make demo`: a story that anyone can follow and check. Ends with 0 if every claim held, else with 1.

Starts a server of its own over a temporary folder, plays the harness of an agent against it over HTTP, and takes both
away again. Needs no key and no network.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from narrator import DoesNotHold, Narrator
from running import NotStarted, Server
from story import Story

_LEGEND = (
    "> a call of the HTTP API; .../turn1 is /v1/agents/support/turns/<its id>",
    "< what came back, shortened; ..6KWB6 is the end of an id",
    "ok a claim that was just checked; the demo stops at the first that is false",
    "A script plays the model. Turns that changed nothing end without a word.",
)


def main() -> int:
    narrator = Narrator()
    narrator.title("Agent Memory: what an agent learned in one turn, it recalls in the next.")
    for line in _LEGEND:
        narrator.say(line)
    with TemporaryDirectory(prefix="agent-memory-demo-") as folder:
        server = Server(Path(folder))
        try:
            Story(narrator, server).run()
        except DoesNotHold as claim:
            print(f"\nThis did not hold: {claim}", file=sys.stderr)
            return 1
        except NotStarted as said:
            print(f"\nThe server did not start. It said:\n{said}", file=sys.stderr)
            return 1
        finally:
            server.stop()
    narrator.title(f"\nAll {narrator.claims} claims held.")
    return 0


def _leave(number: int, _: object) -> None:
    sys.exit(128 + number)  # by way of the finally above, so that no server is left


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    sys.exit(main())

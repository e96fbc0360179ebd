"""The server that is measured: the product's own, in a process of its own, with an embedder that costs nothing.

`latency_server.py FOLDER` serves the folder on a free port and says where, as `agent-memory serve` does. The dev
switches are on for the route that does nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import agent_memory.cli  # noqa: F401  the threads of numpy, as the product sets them before numpy is imported

from agent_memory.local import server  # isort: skip
from synthetic import SyntheticEmbedder

from agent_memory.local.edition import Edition
from agent_memory.runtime.observability import configure_logging
from agent_memory.runtime.rates import Rates

if __name__ == "__main__":
    configure_logging(sys.stderr)
    listening = server.listen("127.0.0.1", 0)
    rates = Rates(1_000_000)  # one agent is all that is measured
    server.serve(Edition(Path(sys.argv[1]), lambda _: SyntheticEmbedder(), dev=True, rates=rates), listening)

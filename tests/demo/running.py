"""A server of the demo's own: the command as a user types it, on a free port, over a folder; and its violent end."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

LISTENING = "listening on "
START_S = 120.0  # a cold disk may take long to read an embedding model
LEAVE_S = 10.0


class NotStarted(Exception):
    """The server ended or kept silent; the text is what it said on standard error."""


class Server:
    """Runs from `start`. waiting: called twice a second while it starts."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "server.log"
        self.arguments = ["serve", "--data", str(folder / "data"), "--port", "0", "--dev"]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, waiting: Callable[[], None]) -> str:
        """Gives the base URL once it answers. Raises `NotStarted`."""
        command = [str(Path(sys.executable).with_name("agent-memory")), *self.arguments]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL)
        assert self._process.stdout
        end = monotonic() + START_S
        while not select.select([self._process.stdout], [], [], 0.5)[0]:
            if monotonic() > end:
                raise NotStarted(self._log.read_text(errors="replace"))
            waiting()
        line = self._process.stdout.readline().decode().strip()
        if not line.startswith(LISTENING):
            raise NotStarted(self._log.read_text(errors="replace"))
        return line.removeprefix(LISTENING)

    def kill(self) -> None:
        """SIGKILL: it learns nothing of it and can put nothing in order."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and what it takes if that does not help."""
        if self._process and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(LEAVE_S)
            except subprocess.TimeoutExpired:
                self.kill()

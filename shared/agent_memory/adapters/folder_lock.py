"""One process to a folder: a lock beside the database, which the kernel takes back when its holder dies.

SQLite would let a second process in, but what one process keeps in memory (the index's matrix, the feed's wake-up, the
numbers of partitions) would be wrong in both.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ..domain.errors import AgentMemoryError


class FolderInUse(AgentMemoryError):
    """Another process holds the files. `pid`: which one, None if it has not said so yet."""

    code = "folder_in_use"

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__(f"{path} is in use by process {pid or 'unknown'}")
        self.pid = pid


class FolderLock:
    """Held from construction until `release` or the end of the process. Raises `FolderInUse`."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(self._file, 20)
            os.close(self._file)
            raise FolderInUse(path.parent, int(holder) if holder.isdigit() else None) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """May be called twice. The file stays: were it removed, two processes could hold two files of one name."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

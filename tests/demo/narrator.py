"""How the demo speaks: chapters, calls, answers, claims. 80 columns; colour only on a terminal.

A claim is what a reader is asked to believe, so each is checked, and the first that does not hold ends the demo.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

from rich.console import Console

WIDTH = 80
INDENT = "   "
SHOWN = 5  # of an id, its last characters: ids of one moment differ in these


class DoesNotHold(Exception):
    """A claim that is not so; its text says which."""


class Narrator:
    def __init__(self) -> None:
        # Wide, so that lines are broken here alone: on spaces, with a margin.
        self._console = Console(width=200, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._chapters = 0
        self.claims = 0

    def title(self, text: str) -> None:
        self._console.print(text, style="bold")

    def chapter(self, text: str) -> None:
        self._chapters += 1
        self._console.print(f"\n{self._chapters}. {text}", style="bold")

    def say(self, text: str) -> None:
        self._lines(text, INDENT)

    def step(self, text: str) -> None:
        """What comes next within a chapter."""
        self._console.print()
        self._lines(text, INDENT)

    def call(self, method: str, path: str, body: object = None) -> None:
        told = f" {json.dumps(body, ensure_ascii=False)}" if body is not None else ""
        self._lines(f"{method} {path}{told}", f"{INDENT}> ", style="cyan")

    def answer(self, text: str) -> None:
        self._lines(text, f"{INDENT}< ", style="green")

    def quote(self, text: str) -> None:
        """A text as it is, but for the breaks of long lines."""
        for line in text.splitlines():
            rest = f"{INDENT}|   {' ' * (len(line) - len(line.lstrip()))}"
            self._lines(line, f"{INDENT}| ", rest=rest, style="yellow")

    def command(self, text: str) -> None:
        self._console.print(f"{INDENT}{text}", style="cyan")

    def claim(self, text: str, holds: bool) -> None:
        """Raises `DoesNotHold`."""
        if not holds:
            raise DoesNotHold(text)
        self.claims += 1
        self._lines(text, f"{INDENT}ok ", style="bold green")

    def waiting(self, text: str) -> None:
        """Begins a line that `dot` goes on with and `done` ends: it grows, so that it reads alike in a file."""
        self._console.print(f"{INDENT}{text} ", end="")

    def dot(self) -> None:
        self._console.print(".", end="")

    def done(self, text: str) -> None:
        self._console.print(f" {text}")

    def _lines(self, text: str, first: str, *, rest: str | None = None, style: str = "") -> None:
        rest = " " * len(first) if rest is None else rest
        lines = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
        self._console.print("\n".join(lines), style=style)


def short(id: str) -> str:
    return f"..{id[-SHOWN:]}"


def remembered(records: list[dict[str, Any]]) -> str:
    """Records as the story tells them."""
    return ", ".join(f"{r['scope']}: {r['summary']!r}" for r in records) or "nothing"

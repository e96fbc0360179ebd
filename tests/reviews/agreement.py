"""How far a reviewer agrees with what any good one makes of the conversations beside this file.

`agreement.py REVIEWER [MODEL]`, REVIEWER as `agent-memory serve --reviewer` takes it: rules, openai:<base url> (and the
name of its model; key from `OPENAI_API_KEY`) or bedrock:<model>. Near records are found with the local embedder. Prints
a line on each conversation, what was expected and made where that differs, and the sum.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence

import agent_memory.cli  # noqa: F401  the threads of numpy, as the product sets them before numpy is imported

from conversations import Conversation, conversations  # isort: skip
from judging import Made, Unreadable, agrees, made_of

from agent_memory.adapters.local_embedder import local_embedder
from agent_memory.domain.errors import Unavailable
from agent_memory.domain.ports import Embedder, Reviewer
from agent_memory.runtime.settings import OPENAI_API_KEY, SettingsError, reviewer_settings
from agent_memory.runtime.wiring import reviewer_of


def main(arguments: Sequence[str]) -> int:
    try:
        spelled, model = (*arguments, None) if len(arguments) == 1 else arguments
        settings = reviewer_settings(spelled, model=model)
    except (ValueError, SettingsError) as error:
        print(error if isinstance(error, SettingsError) else __doc__, file=sys.stderr)
        return 2
    reviewer, embedder = reviewer_of(settings, key=os.environ.get(OPENAI_API_KEY)), local_embedder()
    total, agreed = Counter[str](), Counter[str]()
    for conversation in conversations():
        total[conversation.language] += 1
        agreed[conversation.language] += _judged(conversation, reviewer, embedder)
    for language in total:
        print(f"{language}: {agreed[language]} of {total[language]}")
    print(f"{reviewer.kind} {reviewer.model}: {agreed.total()} of {total.total()} conversations as expected")
    return 0


def _judged(conversation: Conversation, reviewer: Reviewer, embedder: Embedder) -> bool:
    """Prints a line on it, and where it differs what was expected and what was made."""
    made: list[Made] = []
    failed = ""
    try:
        made = made_of(conversation, reviewer, embedder)
    except (Unreadable, Unavailable) as error:
        failed = f"{type(error).__name__} {error}".strip()
    as_expected = not failed and agrees(made, conversation)
    print(f"{'agrees ' if as_expected else 'differs'}  {conversation.language}: {conversation.name}")
    if not as_expected:
        _explain(conversation, made, failed)
    return as_expected


def _explain(conversation: Conversation, made: Sequence[Made], failed: str) -> None:
    for change in conversation.changes:
        print(f"    expected  {change.action} {change.target or ''} {', '.join(change.says)}".rstrip())
    for one in made:
        print(f"    made      {one.action} {one.target or ''} {one.text}")
    if failed:
        print(f"    failed    {failed}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

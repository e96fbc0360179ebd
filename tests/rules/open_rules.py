"""Lists the rules of the specification that no test names. As a command: `python tests/rules/open_rules.py`.

A test names rules by `@pytest.mark.rule("RK-4")`, which may stand anywhere in a test file: on a test, on a class, in
`pytestmark`, on one parameter. The files are parsed and not run, so the list needs no OpenSearch node and no install.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
RULES = Path(__file__).with_name("rules.txt")


class Mark(NamedTuple):
    """A rule that is named somewhere. rule: its id, None where it is not written out as text; place: `file:line`."""

    rule: str | None
    place: str


def known_rules(path: Path = RULES) -> dict[str, str]:
    """Short names by id, in the order of the specification."""
    return dict(line.split(" ", 1) for line in path.read_text("utf-8").splitlines())


def marks(folder: Path = TESTS) -> list[Mark]:
    """Every mark in the test files below a folder."""
    return [mark for path in sorted(folder.rglob("test_*.py")) for mark in marks_in(path.read_text("utf-8"), path.name)]


def marks_in(source: str, name: str = "") -> Iterator[Mark]:
    """The marks of one file, also those by a shorter name that it gives them first (`rule = pytest.mark.rule`)."""
    tree = ast.parse(source)
    spellings = {"pytest.mark.rule", *_short_names(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in spellings:
            ids = [_text(argument) for argument in node.args]
            yield from (Mark(rule, f"{name}:{node.lineno}") for rule in ids or [None])


def faults(found: Iterable[Mark], known: Iterable[str]) -> list[str]:
    """Marks that prove nothing, each with its place."""
    known = set(known)
    return [f"{place}: {rule or 'a mark without ids as text'}" for rule, place in found if rule not in known]


def main() -> int:
    known, found = known_rules(), marks()
    if wrong := faults(found, known):
        print("rules: marks that name no rule of rules.txt", *wrong, sep="\n  ")
        return 1
    named = {mark.rule for mark in found}
    print(f"rules: {len(named)} of {len(known)} are named by a test; open are")
    print(*(f"  {rule:5} {name}" for rule, name in known.items() if rule not in named), sep="\n")
    return 0


def _short_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "pytest":
            yield from (f"{alias.asname or alias.name}.rule" for alias in node.names if alias.name == "mark")
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "pytest.mark.rule":
            yield from (ast.unparse(target) for target in node.targets)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


if __name__ == "__main__":
    sys.exit(main())

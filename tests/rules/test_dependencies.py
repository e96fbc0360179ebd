"""What the house says of its dependencies: each has a reason and a pin, and no pin names a registry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HOUSE = Path(__file__).parents[2]


def declared() -> set[str]:
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return {re.split(r"[^\w-]", line, maxsplit=1)[0] for lines in lists for line in lines}


def pins() -> list[str]:
    lines = (HOUSE / "constraints.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def test_each_dependency_has_a_reason():
    rows = re.findall(r"^\| (.+?) \| .+ \|$", (HOUSE / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    explained = {word for row in rows for word in re.findall(r"[\w-]+", row)}
    assert declared() - explained == set()


def test_each_dependency_is_pinned():
    assert declared() - {line.partition("==")[0] for line in pins()} == set()


def test_a_pin_is_a_name_and_a_release_and_nothing_else():
    """No option, extra or path, which pip refuses in constraints; no URL, which would bind all to one registry."""
    assert [line for line in pins() if not re.fullmatch(r"[\w.-]+==[\w.+!]+( ; [\w.'()<>=! -]+)?", line)] == []

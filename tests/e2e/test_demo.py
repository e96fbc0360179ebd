"""`make demo` runs to its end, reads well where there is no terminal, and stops at a claim that is false."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "demo"
WIDTH = 80

# The same story of an agent that cannot read what it saves session-wide.
FALSE_STORY = f"""
import runpy, sys
sys.path.insert(0, {str(DEMO)!r})
import story
story.CONFIG["memory"]["scope"]["read"] = ["user"]
runpy.run_path({str(DEMO)!r}, run_name="__main__")
"""


def run(temporary: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In an environment without a terminal, a home or a locale."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={"TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def told(temporary: Path) -> subprocess.CompletedProcess[str]:
    return run(temporary, str(DEMO))


@pytest.mark.rule("IF-5")
def test_every_claim_of_the_demo_holds(told):
    assert (told.returncode, told.stderr) == (0, "")
    claims = told.stdout.count("\n   ok ") - 1  # the legend has one
    assert told.stdout.endswith(f"\nAll {claims} claims held.\n")


def test_the_demo_is_plain_text_of_80_columns_where_there_is_no_terminal(told):
    assert "\x1b" not in told.stdout
    assert [line for line in told.stdout.splitlines() if len(line) > WIDTH] == []


def test_the_demo_shows_the_block_that_goes_to_the_model(told):
    block = told.stdout.partition("| <recalled-memory>")[2].partition("| </recalled-memory>")[0]
    assert "Wants invoices by post." in block
    assert "Wants answers in German." in block
    assert "cracked lid" not in block


@pytest.mark.rule("EX-7", "JD-1", "HI-2")
def test_the_demo_shows_each_decision_of_a_review_and_where_the_history_is_quoted(told):
    chapter = told.stdout.partition("A turn teaches")[2]
    assert [line.split()[1] for line in chapter.splitlines() if "(review): " in line or "(lesson): " in line] == [
        "add",
        "replace",
        "add",
    ]
    assert chapter.count("<   since ") == 3
    assert "| turn 1, user\n" in chapter


def test_the_demo_leaves_nothing_behind(told, temporary):
    assert list(temporary.iterdir()) == []


def test_the_demo_stops_at_a_claim_that_is_false(tmp_path):
    told = run(tmp_path, "-c", FALSE_STORY)
    assert told.returncode == 1
    assert "This did not hold: All three of them." in told.stderr
    assert "2. An agent is configured" in told.stdout
    assert "4. Who recalls it" not in told.stdout

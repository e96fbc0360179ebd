"""The README holds: its shell and Python examples run as they stand, and its tables agree with the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_memory.cli import main
from agent_memory.domain import messages, text, tool_inputs, turns, words
from agent_memory.runtime import requests, routes
from agent_memory.runtime.problems import CODES

HOUSE = Path(__file__).parents[2]
README = (HOUSE / "README.md").read_text("utf-8")
START_S = 120  # of patience
NOT_YET_RAISED = {"unauthenticated", "forbidden", "conflict", "throttled"}  # codes without a cause in a harness's calls


def examples(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def example(language: str, holding: str) -> str:
    (found,) = [text for text in examples(language) if holding in text]
    return found


SERVE = ".venv/bin/agent-memory serve\n"
REBUILD = ".venv/bin/agent-memory reindex\n"
COMMANDS = "make demo\nmake test\n"
CURL = example("sh", "curl")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the examples find `.venv/bin`."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


@pytest.fixture(scope="module")
def server(checkout: Path) -> Iterator[str]:
    """The server as the README starts it, but on a free port; gives its address."""
    command = f"exec {SERVE.strip()} --port 0"
    with (checkout / "log").open("wb") as log:
        process = subprocess.Popen(["sh", "-c", command], cwd=checkout, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout
    yield process.stdout.readline().removeprefix("listening on http://").strip()
    process.terminate()
    process.wait(START_S)


def test_each_shell_example_is_run_by_a_test():
    assert sorted(examples("sh")) == sorted([COMMANDS, SERVE, CURL, REBUILD])


@pytest.mark.parametrize("shell", ["bash", "zsh", "sh"])
def test_the_lines_with_curl_recall_what_they_saved(shell: str, server: str, checkout: Path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    lines = CURL.replace("127.0.0.1:8080", server).replace("agents/support", f"agents/{shell}")
    ran = subprocess.run([shell], input=lines, cwd=checkout, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    recalled = json.loads(ran.stdout[ran.stdout.index("{\n") :])
    assert [item["summary"] for item in recalled["memories"]] == ["Wants invoices by post."]
    assert "Wants invoices by post." in recalled["block"]


def test_the_harness_in_python_hands_the_model_what_an_earlier_turn_saved(server: str):
    names: dict[str, Any] = {}
    exec(example("python", "def take_turn").replace("127.0.0.1:8080", server).replace("support", "python"), names)
    memory = {"enabled": True, "tools": ["add_memory"], "scope": {"read": ["user"], "write": ["user"]}}
    names["memory"].put("/config", json={"memory": memory}).raise_for_status()
    save = {"id": "call-1", "name": "add_memory", "input": {"summary": "Is left-handed.", "kind": "fact"}}
    script = iter([("", [save]), ("Noted.", [])])
    assert names["take_turn"](lambda *_: next(script), "s-1", "u-1", "I am left-handed.") == "Noted."
    blocks: list[str] = []
    answer = names["take_turn"](lambda block, *_: (blocks.append(block) or "Yes.", []), "s-2", "u-1", "Which hand?")
    names["memory"].close()
    assert answer == "Yes."
    assert "Is left-handed." in blocks[0]


def test_the_harness_in_python_rolls_back_when_its_model_fails(server: str):
    names: dict[str, Any] = {}
    exec(example("python", "def take_turn").replace("127.0.0.1:8080", server).replace("support", "broken"), names)
    names["memory"].put("/config", json={"memory": {"enabled": True}}).raise_for_status()
    begun: list[str] = []
    post = names["post"]
    names["post"] = lambda path, body: begun.append(path) or post(path, body)
    with pytest.raises(ZeroDivisionError):
        names["take_turn"](lambda *_: 1 / 0, "s-1", "u-1", "Hello.")
    turn = begun[-1].removesuffix("/end")
    assert names["memory"].get(turn).json()["status"] == "rolled_back"
    names["memory"].close()


def test_the_index_is_rebuilt_by_the_command_of_the_readme(tmp_path: Path):
    (tmp_path / ".venv").symlink_to(sys.prefix)
    ran = subprocess.run(REBUILD, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=START_S)
    assert (ran.returncode, ran.stdout) == (0, "The index holds 0 records.\n")


def test_each_make_command_of_the_documents_exists():
    documents = README + "".join((HOUSE / each).read_text("utf-8") for each in ("CONTRIBUTING.md", "infra/README.md"))
    targets = set(re.findall(r"^([a-z-]+):.*## ", (HOUSE / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?<=[`\n])make ([a-z-]+)", documents)) - targets == set()


def test_each_flag_of_serve_stands_in_the_readme_and_no_other():
    flags = {flag for o in main.commands["serve"].params if not getattr(o, "hidden", False) for flag in o.opts}  # type: ignore[attr-defined]
    table = section("Running it")
    assert set(re.findall(r"`(--[a-z-]+)", table)) == flags


def test_each_code_of_a_problem_stands_in_the_readme_and_no_other():
    rows = re.findall(r"^\| ([\d, ]+) \| (.+?) \|", section("Errors"), re.MULTILINE)
    told = {code for _, codes in rows for code in re.findall(r"`([a-z_]+)`", codes)}
    assert told == {code for codes in CODES.values() for code in codes} - NOT_YET_RAISED


def test_each_path_of_the_readme_is_a_route():
    known = {f"{route.method} {route.resource}" for route in routes.ROUTES}
    table = section("From a harness, turn by turn")
    steps = re.findall(r"`(GET|PUT|POST) (/[^`? ]+)", table)
    assert {f"{method} /v1/agents/{{agent}}{path}" for method, path in steps} - known == set()
    assert {f"GET {path}" for path in re.findall(r"`GET (/v1/[^`]+)`", README)} - known == set()


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ("| 1 MB; with messages 5 MB |", (routes.BODY_BYTES // 2**20, routes.MESSAGES_BYTES // 2**20) == (1, 5)),
        ("| 100 a call of `messages`,", messages.MAX_MESSAGES == 100),
        (" 2,000 a turn,", turns.MAX_MESSAGES == 2000),
        (" 200,000 characters each", messages.MAX_TEXT_CHARACTERS == 200_000),
        ("| 15: a record saved,", turns.MAX_TOOL_CHANGES == 15),
        (" a label's value 256 |", tool_inputs.MAX_LABEL_CHARACTERS == 256),
        (
            "| 10,000 characters, of which 64 ",
            (tool_inputs.MAX_QUERY_CHARACTERS, words.MAX_QUERY_WORDS) == (10_000, 64),
        ),
        (" 200 a page of a list |", requests.MAX_PAGE == 200),
        ("| 128 characters of any Unicode", text.MAX_ID_CHARACTERS == 128),
    ],
)
def test_a_limit_of_the_readme_is_that_of_the_code(told: str, limit: bool):
    assert told in section("Limits")
    assert limit


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_to_files_and_headings_lead_somewhere(document: str):
    written = (HOUSE / document).read_text("utf-8")
    headings = {re.sub(r"[^a-z -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", written, re.M)}
    links = [link for link in re.findall(r"\]\(([^)]+)\)", written) if "://" not in link]
    assert [at for at in links if not (at[1:] in headings if at.startswith("#") else (HOUSE / at).exists())] == []


def section(heading: str) -> str:
    return README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]

"""The README holds: its shell and Python examples run as they stand, and its tables agree with the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_memory.adapters.rule_reviewer.phrases import found_in
from agent_memory.cli import main
from agent_memory.domain import messages, staging, text, tool_inputs, turns, words
from agent_memory.domain.reviewing import decisions
from agent_memory.domain.reviewing.messages import MAX_WINDOW_TOKENS
from agent_memory.runtime import requests, routes, settings
from agent_memory.runtime.problems import CODES
from agent_memory.store import receipts

HOUSE = Path(__file__).parents[2]
README = (HOUSE / "README.md").read_text("utf-8")
START_S = 120  # of patience


def examples(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def example(language: str, holding: str) -> str:
    (found,) = [text for text in examples(language) if holding in text]
    return found


SERVE = ".venv/bin/agent-memory serve\n"
REBUILD = ".venv/bin/agent-memory reindex\n"
COMMANDS = "make demo\nmake test\n"
CURL = example("sh", "turn_id()")
SERVE_TO_SOME = ".venv/bin/agent-memory serve --principals principals.json\n"
REFUSED = example("sh", "half-token")
SHOWS = "  # -> "  # between an expression and what it gives


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the examples find `.venv/bin`."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


@pytest.fixture(scope="module")
def server(checkout: Path) -> Iterator[str]:
    """The server as the README starts it, but on a free port; gives its address."""
    with started(SERVE, checkout) as address:
        yield address


@pytest.fixture(scope="module")
def server_for_some(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The one that asks who calls, with the file of the README."""
    folder = tmp_path_factory.mktemp("some")
    (folder / ".venv").symlink_to(sys.prefix)
    (tokens,) = examples("json")
    (folder / "principals.json").write_text(tokens)
    with started(SERVE_TO_SOME, folder) as address:
        yield address


@contextmanager
def started(command: str, folder: Path) -> Iterator[str]:
    shell = ["sh", "-c", f"exec {command.strip()} --port 0"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(shell, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout
    yield process.stdout.readline().removeprefix("listening on http://").strip()
    process.terminate()
    process.wait(START_S)


def test_each_shell_example_is_run_by_a_test():
    assert sorted(examples("sh")) == sorted([COMMANDS, SERVE, CURL, REBUILD, SERVE_TO_SOME, REFUSED])


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


# ---------------------------------------------------------------- examples that show what comes back


def run_as_shown(code: str, names: dict[str, Any], told: list[str]) -> None:
    """Run the example; each expression with `# ->` behind it gives what stands there, and is added to `told`."""

    def compare(value: object, shown: str) -> None:
        assert value == eval(shown, {}), f"{value!r} is shown as {shown}"
        told.append(shown)

    names["_compare"] = compare
    exec("\n".join(compared(line) for line in code.splitlines()), names)


def compared(line: str) -> str:
    expression, shows, shown = line.partition(SHOWS)
    indent = expression[: len(expression) - len(expression.lstrip())]
    return f"{indent}_compare({expression.strip()}, {shown!r})" if shows else line


@pytest.mark.parametrize(
    ("heading", "server_of"),
    [
        ("For the harness developer", "server"),
        ("Reviews", "server"),
        ("History", "server"),
        ("Records and grants", "server_for_some"),
    ],
)
def test_the_examples_of_a_page_run_one_after_another_and_give_what_they_show(
    heading: str, server_of: str, request: pytest.FixtureRequest
):
    address, page = request.getfixturevalue(server_of), section(heading)
    names: dict[str, Any] = {}
    told: list[str] = []
    for code in examples("python", page):
        if "def take_turn" not in code:  # which takes a model, and has tests of its own
            run_as_shown(code.replace("127.0.0.1:8080", address), names, told)
    assert len(told) == page.count(SHOWS) > 5


@pytest.mark.rule("GR-1", "GR-7")
def test_half_a_grant_is_refused_in_the_words_of_the_readme(server_for_some: str):
    line = REFUSED.replace("127.0.0.1:8080", server_for_some)
    ran = subprocess.run(["sh"], input=line, capture_output=True, text=True, timeout=60)
    refused = json.loads(ran.stdout)
    assert (refused["status"], refused["code"]) == (403, "forbidden")
    assert f"answers 403, `{refused['detail']}`" in section("Records and grants")


def test_each_filter_of_the_list_stands_in_the_readme():
    filters = set(requests.MemoriesQuery.model_fields) - {"labels"}
    assert {name for name in filters if f"`{name}" not in section("Records and grants")} == set()


def test_each_grant_stands_in_the_readme():
    page = section("Records and grants")
    grants = {part for route in routes.ROUTES for grant in route.grants for part in grant.split("+")}
    assert {grant for grant in grants if f"\n| {grant}" not in page} == set()


def test_each_kind_of_not_yet_is_drawn_and_told():
    page = section("The flow")
    assert all(page.count(kind.upper()) == 1 for kind in NOT_YET)
    assert re.findall(r"^\| \*\*(\w+)\*\*", page, re.MULTILINE) == NOT_YET


NOT_YET = ["staged", "pending", "preview", "unindexed"]


def test_the_index_is_rebuilt_by_the_command_of_the_readme(tmp_path: Path):
    (tmp_path / ".venv").symlink_to(sys.prefix)
    ran = subprocess.run(REBUILD, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=START_S)
    assert (ran.returncode, ran.stdout) == (0, "The index holds 0 records.\nThe index holds 0 turns.\n")


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
    assert told == {code for codes in CODES.values() for code in codes}


def test_each_reason_of_a_decision_that_is_no_models_own_stands_in_the_readme_and_no_other():
    table = section("Reviews").partition("| `reason` |")[2].partition("\n\n")[0]
    told = re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)
    assert sorted(told) == sorted(REASONS)


REASONS = [
    decisions.SAME,
    decisions.NO_NEIGHBOUR,
    decisions.PROTECTED,
    decisions.NOT_WRITABLE,
    decisions.UNREADABLE,
    decisions.TURN_FULL,
    decisions.TOO_MANY,
    decisions.TARGET_CHANGED,
    decisions.NO_ID,
    decisions.GATE,
]


@pytest.mark.parametrize("phrase", ["Remember that", "From now on", "Never", "Always", "I prefer", "We no longer"])
def test_a_phrase_of_the_readme_is_one_that_the_rules_keep(phrase: str):
    assert f'"{phrase} …"' in section("Reviews")
    assert found_in(f"{phrase} write invoices by hand.")


def test_each_path_of_the_readme_is_a_route():
    known = {f"{route.method} {route.resource}" for route in routes.ROUTES}
    table = section("For the harness developer")
    steps = re.findall(r"`(GET|PUT|POST) (/(?!v1)[^`? ]+)", table)
    assert {f"{method} /v1/agents/{{agent}}{path}" for method, path in steps} - known == set()
    assert {f"GET {path}" for path in re.findall(r"`GET (/v1/[^`]+)`", README)} - known == set()


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ("| 1 MB; with messages 5 MB |", (routes.BODY_BYTES // 2**20, routes.MESSAGES_BYTES // 2**20) == (1, 5)),
        ("| 100 a call of `messages`,", messages.MAX_MESSAGES == 100),
        (" 2,000 a turn,", turns.MAX_MESSAGES == 2000),
        (" 200,000 characters each", messages.MAX_TEXT_CHARACTERS == 200_000),
        ("| 20 of one scope and owner;", staging.MAX_CONSTRAINTS == 20),
        (
            "`memory_key` 128; it replaces 10 ",
            (tool_inputs.MAX_KEY_CHARACTERS, tool_inputs.MAX_REPLACES) == (128, 10),
        ),
        ("| 200 a second of one agent", settings.DEFAULT_CALLS_PER_SECOND == 200),
        ("kept for 24 hours |", receipts.KEPT_S == 24 * 3600),
        ("| 25: a record saved,", turns.MAX_CHANGES == 25),
        (" tools make 15 of them", turns.MAX_TOOL_CHANGES == 15),
        ("| reads 24,000 tokens", MAX_WINDOW_TOKENS == 24_000),
        (" a label's value 256,", tool_inputs.MAX_LABEL_CHARACTERS == 256),
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

"""How well searches find: `quality.py DATA` measures by words, by meaning and by both, on every data set in DATA;
`quality.py DATA "locomo-dev, said"` the one that is named so in the table alone.

Documents are saved as an agent saves them, in turns of `add_memory`, a scope of the data being a session, and are asked
for by `search_memory` in a turn of that session; a conversation also as what turns said, by `search_history`. It is the
one-machine edition, the local model, and one configuration for all data sets, in versions that differ in the mode
alone. Rankings are measured whole (`min_score` -1); the last row of a data set is hybrid as it is by default, cut at
the floor of the model. Progress goes to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import agent_memory.cli  # noqa: F401  the threads of numpy, as the product sets them before numpy is imported

from agent_memory.adapters.embedding_cache import CachingEmbedder  # isort: skip
import history_quality
from data_sets import DataSet, Document, Question, find_data_sets, summary_and_content
from retrieval_scores import mean, ndcg_at, recall_at
from rich.console import Console
from rich.progress import Progress

from agent_memory.adapters.local_embedder import local_embedder
from agent_memory.domain.configuration import parse_config
from agent_memory.domain.ports import Embedder
from agent_memory.local.edition import Edition
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.configure import Expected, configure
from agent_memory.operations.end import end
from agent_memory.operations.services import Services
from agent_memory.operations.tools import call_tool

T = TypeVar("T")

AGENT = "reader"
WHOLE = -1  # as min_score: cuts nothing
SEARCHES: dict[str, dict[str, Any]] = {  # versions 1, 2, … of the configuration
    "lexical": {"mode": "lexical", "min_score": WHOLE},
    "vector": {"mode": "vector", "min_score": WHOLE},
    "hybrid": {"mode": "hybrid", "min_score": WHOLE},
    "hybrid, cut": {"mode": "hybrid"},
}
NEVER = {"every": {"messages": 1000}}  # a review would only take time
KEPT = {"index": "messages"}
TURN = 15  # changes of one turn by tools (TU-5)
DEPTH = 10  # results of a search
EMBEDDED_BYTES = 256 * 1024 * 1024  # so that no question is embedded once for each mode
SETTLING_S = 600.0


@dataclass(frozen=True, slots=True)
class Scores:
    recall_5: float
    recall_10: float
    ndcg_10: float


Measure = Callable[[DataSet, Embedder, Progress], dict[str, Scores]]


def main(folder: Path, only: str | None = None) -> int:
    data_sets = find_data_sets(folder)
    if not data_sets:
        print(f"no data sets in {folder}: folders with docs.jsonl and queries.jsonl", file=sys.stderr)
        return 2
    if only and not any(only in measures(data_set) for data_set in data_sets):
        print(f"{folder} has nothing that is named {only}", file=sys.stderr)
        return 2
    print("loading the embedding model", file=sys.stderr)
    embedder = CachingEmbedder(local_embedder(), EMBEDDED_BYTES)
    print(f"model {embedder.model}; rankings whole, and cut at the model's floor of {embedder.floor:.2f}")
    print(f"{'data set':<16}{'search':<12}{'recall@5':>10}{'recall@10':>10}{'nDCG@10':>10}")
    with Progress(console=Console(stderr=True)) as progress:
        for data_set in data_sets:
            for name, measured in measures(data_set).items():
                if only in (None, name):
                    report(name, measured(data_set, embedder, progress))
    return 0


def measures(data_set: DataSet) -> dict[str, Measure]:
    """What is measured of it, by the name it has in the table."""
    of_records: dict[str, Measure] = {data_set.name: measure}
    return of_records | ({f"{data_set.name}, said": measure_history} if data_set.is_conversation else {})


def report(name: str, scores: dict[str, Scores]) -> None:
    for mode, one in scores.items():
        print(f"{name:<16}{mode:<12}{one.recall_5:>10.3f}{one.recall_10:>10.3f}{one.ndcg_10:>10.3f}")
    print(f"{name:<16}{verdict(scores)}\n", flush=True)


def verdict(scores: dict[str, Scores]) -> str:
    """Whether hybrid is as good as the better of its legs, by recall@10 (RK-9)."""
    leg = max(("lexical", "vector"), key=lambda mode: scores[mode].recall_10)
    ahead = scores["hybrid"].recall_10 - scores[leg].recall_10
    if ahead < 0:
        return f"hybrid FELL BELOW the better leg ({leg}) by {-ahead:.3f} in recall@10"
    return f"hybrid did not fall below the better leg ({leg}): {ahead:+.3f} in recall@10"


def measure(data_set: DataSet, embedder: Embedder, progress: Progress) -> dict[str, Scores]:
    with memory(embedder) as edition:
        documents = [each for several in data_set.documents.values() for each in several]
        bar = bar_of(progress, f"{data_set.name}: saving", len(documents))
        saved = save(edition.services, data_set.documents, bar)
        edition.settle(SETTLING_S)
        scores = {}
        for version, mode in enumerate(SEARCHES, 1):
            bar = bar_of(progress, f"{data_set.name}: {mode}", sum(map(len, data_set.questions.values())))
            scores[mode] = ask(edition.services, version, data_set.questions, saved, bar)
        return scores


def measure_history(data_set: DataSet, embedder: Embedder, progress: Progress) -> dict[str, Scores]:
    """The same as messages of a session's turns, found by `search_history`."""
    with memory(embedder) as edition:
        services = edition.services
        documents = sum(map(len, data_set.documents.values()))
        bar = bar_of(progress, f"{data_set.name}: saying", documents)
        said = history_quality.say(services, AGENT, data_set.documents, bar)
        edition.settle(SETTLING_S)
        history_quality.settle(services)
        scores = {}
        for version, mode in enumerate(SEARCHES, 1):
            bar = bar_of(progress, f"{data_set.name}, said: {mode}", sum(map(len, data_set.questions.values())))
            scores[mode] = mean_of(
                scores_of(found, gold)
                for found, gold in history_quality.ask(
                    services, AGENT, version, data_set.questions, said, depth=DEPTH, output_of=output_of
                )
                if bar() is None
            )
        return scores


def bar_of(progress: Progress, name: str, total: int) -> Callable[[], None]:
    """A bar on a terminal; elsewhere a line when it begins. Gives what moves it on by one."""
    if not progress.console.is_terminal:
        print(f"{name}, {total:,}", file=sys.stderr, flush=True)
    bar = progress.add_task(name, total=total)
    return lambda: progress.advance(bar)


@contextmanager
def memory(embedder: Embedder) -> Iterator[Edition]:
    """An edition over an empty folder, with the agent's versions."""
    with TemporaryDirectory(prefix="bench-quality-") as folder:
        edition = Edition(Path(folder), lambda _: embedder)
        edition.start()
        try:
            for version, search in enumerate(SEARCHES.values()):
                given = {"enabled": True, "tools": ["add_memory"], "search": search, "extraction": NEVER}
                expected = Expected(version=version) if version else Expected(absent=True)
                configure(
                    edition.services, AGENT, parse_config({"memory": given, "history": KEPT}), expected, caller="bench"
                )
            yield edition
        finally:
            edition.stop()


def save(services: Services, documents: dict[str, list[Document]], advance: Callable[[], None]) -> dict[str, list[str]]:
    """Save all documents; gives the documents of each record, several where their texts are the same."""
    saved: dict[str, list[str]] = {}
    for scope, several in documents.items():
        for some in batches(several, TURN):
            turn = begin(services, AGENT, Beginning(session_id=scope)).turn
            for document in some:
                saved.setdefault(save_one(services, turn.turn_id, document), []).append(document.id)
                advance()
            end(services, AGENT, turn.turn_id, outcome="completed")
    return saved


def save_one(services: Services, turn_id: str, document: Document) -> str:
    summary, content = summary_and_content(document.text)
    given = {"summary": summary, "kind": "fact"} | ({"content": content} if content else {})
    answer = call_tool(services, AGENT, turn_id, "add_memory", given)
    id: str = output_of(answer)["memories"][0]["id"]
    return id


def ask(
    services: Services,
    version: int,
    questions: dict[str, list[Question]],
    saved: dict[str, list[str]],
    advance: Callable[[], None],
) -> Scores:
    scores: list[Scores] = []
    for scope, several in questions.items():
        turn = begin(services, AGENT, Beginning(session_id=scope, agent_version=version)).turn
        for question in several:
            answer = call_tool(services, AGENT, turn.turn_id, "search_memory", {"query": question.text, "limit": DEPTH})
            found = [id for view in output_of(answer)["memories"] for id in saved[view["id"]]]
            scores.append(scores_of(found, question.gold))
            advance()
        end(services, AGENT, turn.turn_id, outcome="failed")
    return mean_of(scores)


def mean_of(scores: Iterable[Scores]) -> Scores:
    several = list(scores)
    return Scores(*(mean([getattr(one, name) for one in several]) for name in Scores.__slots__))


def scores_of(found: list[str], gold: frozenset[str]) -> Scores:
    return Scores(recall_at(5, found, gold), recall_at(DEPTH, found, gold), ndcg_at(DEPTH, found, gold))


def output_of(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise SystemExit(f"a tool's call was refused: {answer['error']}")
    if answer["output"].get("degraded"):
        raise SystemExit("a search was degraded: its scores say nothing")
    output: dict[str, Any] = answer["output"]
    return output


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: quality.py DATA [ONE]")
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))

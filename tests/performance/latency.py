"""How fast recalls and turns are: `latency.py [--sizes 1000,10000,100000] [--no-cloud]`.

One folder is grown from size to size; at each the product's server runs over it in a process of its own and is asked
over HTTP. "own" is what the server's process uses for a call beyond what it uses to answer a route that does nothing.
Then the same operations on OpenSearch and moto (which is no measure of DynamoDB) at 1,000, in this process.
Embedding is left out: vectors are made of seeds. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import agent_memory.cli  # noqa: F401  the threads of numpy, as the product sets them before numpy is imported

from latency_load import grow  # isort: skip
from latency_measure import SCOPES, Calls, Saved, Server, Start, measure_recalls, measure_turns, started
from rich.console import Console
from rich.progress import Progress
from synthetic import BIG, DIMENSIONS, FIFTY, SMALL, share_of
from timing import Pace, percentile

_MB = 1024 * 1024
_FLOAT_BYTES = 4


def main(sizes: list[int], folder: Path, *, cloud: bool) -> None:
    with Progress(console=Console(stderr=True)) as progress:
        before = 0
        for size in sizes:
            say(f"{size:,} records: saving")
            bar = progress.add_task(f"{size:,} records", total=records_of(size) - records_of(before))
            grow(folder, before, size, lambda more, bar=bar: progress.advance(bar, more))  # type: ignore[misc]
            say(f"{size:,} records: measuring")
            report(size, folder)
            before = size
    if cloud:
        from latency_cloud import report_cloud

        report_cloud()


def records_of(size: int) -> int:
    return sum(share_of(owner, size) for owner in (BIG, FIFTY, *SMALL)) if size else 0


def report(size: int, folder: Path) -> None:
    records, pace = records_of(size), Pace()
    with started(folder) as (server, start):
        calls = measure_recalls(server, pace)
        saved = {adds: measure_turns(server, adds, size, pace) for adds in (1, 15)}
        print(f"\n== one machine, {records:,} records ({share_of(SMALL[0], size)} in a small scope) ==")
        print_calls(calls)
        print_turns(saved, calls["nothing"].cpu_ms)
        print_process(server, start, folder, records)
        print(f"other work on this machine: processor times were {pace.slowdown:.1f} times their best", flush=True)


def print_calls(calls: dict[str, Calls]) -> None:
    floor = calls["nothing"]
    print(f"{'ms':<18}{'p50':>8}{'p95':>8}{'p50 - floor':>13}{'CPU':>8}{'own CPU':>9}")
    for kind, several in calls.items():
        p50, p95 = (1000 * percentile(several.seconds, percent) for percent in (50, 95))
        above = p50 - 1000 * percentile(floor.seconds, 50)
        name = f"recall, {kind}" if kind in SCOPES else "HTTP floor"
        print(
            f"{name:<18}{p50:>8.2f}{p95:>8.2f}{above:>13.2f}{several.cpu_ms:>8.2f}{several.cpu_ms - floor.cpu_ms:>9.2f}"
        )


def print_turns(saved: dict[int, Saved], floor_cpu_ms: float) -> None:
    for adds, one in saved.items():
        own = one.cpu_ms - one.calls * floor_cpu_ms
        pace = f"turns of {adds:<2} add(s)  {one.turns_per_s:>6.1f} a second"
        print(f"{pace}, CPU per record {one.cpu_ms:.2f} ms, {own:.2f} ms own")


def print_process(server: Server, start: Start, folder: Path, records: int) -> None:
    disk = sum(path.stat().st_size for path in folder.iterdir())
    raw = records * DIMENSIONS * _FLOAT_BYTES
    print(f"resident {server.resident_bytes() / _MB:.0f} MB; disk {disk / _MB:.0f} MB = {disk / raw:.2f} x raw vectors")
    print(
        f"start: listening after {start.listening_s:.2f} s, first recall {start.small_s:.3f} s in a small scope, "
        f"{start.big_s:.3f} s in the big one"
    )


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="records, ascending (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where to grow the memory; kept (a temporary folder, removed)")
    parser.add_argument("--no-cloud", dest="cloud", action="store_false", help="leave OpenSearch and moto out")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="bench-latency-") as temporary:
        sizes = sorted(int(size) for size in given.sizes.split(","))
        main(sizes, given.folder or Path(temporary) / "memory", cloud=given.cloud)

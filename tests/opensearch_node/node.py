"""Starts one real OpenSearch node with k-NN on this machine: Maven fetches its jars once, Java runs them.

`running_node()` is all that the tests see. What is missing (Java, Maven, the jars) is `NodeMissing`, whose message says
how to get it. Jars are kept in `.cache/` of the checkout; the node's data lies in a folder of its own and goes with it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "opensearch-node"
JAVA_VERSION = 17
FETCH_TIMEOUT_S = 600
START_TIMEOUT_S = 120
JVM_OPTIONS = ["-Xms256m", "-Xmx768m", "-XX:TieredStopAtLevel=1"]  # the quick compiler alone: starts in half the time
HOW_TO_GET = (
    f"needs a JDK ≥ {JAVA_VERSION} and Maven (Debian: apt-get install openjdk-17-jdk-headless maven; "
    "macOS: brew install openjdk@17 maven), or a node of your own in OPENSEARCH_URL"
)


class NodeMissing(Exception):
    """The node cannot be had on this machine; the message says why."""


@contextmanager
def running_node() -> Iterator[str]:
    """The node's URL, answering, while the context is open. It dies with this process at the latest."""
    java = java_home()
    jars = fetched_jars(java)
    with tempfile.TemporaryDirectory(prefix="opensearch-node-", ignore_cleanup_errors=True) as data:
        process = start(java, jars, Path(data))
        try:
            yield answering_url(process)
        finally:
            process.kill()
            process.wait()


def java_home() -> Path:
    """A folder with `bin/java` and `bin/javac` of a version that OpenSearch runs on."""
    for home in candidate_homes():
        if (home / "bin" / "javac").exists() and java_version(home) >= JAVA_VERSION:
            return home
    raise NodeMissing(HOW_TO_GET)


def candidate_homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    if javac := shutil.which("javac"):
        yield Path(javac).resolve().parents[1]
    yield from sorted(Path("/usr/lib/jvm").glob("*"), reverse=True)  # Debian, when another Java is the default
    yield from sorted(Path("/opt/homebrew/opt").glob("openjdk*"), reverse=True)  # Homebrew links none into the path


def java_version(home: Path) -> int:
    with suppress(OSError):
        said = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False).stderr
        if found := re.search(r'version "(\d+)', said):
            return int(found[1])
    return 0


def fetched_jars(java: Path) -> Path:
    """The folder with the jars and our compiled class; several test runs may ask at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE.parent / ".gitignore").write_text("*\n")
    jars = CACHE / "jars"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(jars):
            shutil.rmtree(jars, ignore_errors=True)
            fetch(java, jars)
    return jars


def is_current(jars: Path) -> bool:
    done = jars / "OpenSearchNode.class"  # written last
    sources = (HERE / "pom.xml", HERE / "OpenSearchNode.java")
    return done.exists() and all(done.stat().st_mtime >= source.stat().st_mtime for source in sources)


def fetch(java: Path, jars: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NodeMissing(HOW_TO_GET)
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    run([maven, "-q", "-B", "-f", str(HERE / "pom.xml"), *goal], java)
    for plugin in jars.glob("*.zip"):
        with zipfile.ZipFile(plugin) as archive:
            archive.extractall(jars, [name for name in archive.namelist() if name.endswith(".jar")])
    run([str(java / "bin" / "javac"), "-cp", f"{jars}/*", "-d", str(jars), str(HERE / "OpenSearchNode.java")], java)


def run(command: list[str], java: Path) -> None:
    environment = {**os.environ, "JAVA_HOME": str(java)}
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, env=environment)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stdout", None) or getattr(error, "stderr", None) or error
        raise NodeMissing(f"{Path(command[0]).name} failed, which fetches or compiles the node: {said}") from error


def start(java: Path, jars: Path, data: Path) -> subprocess.Popen[str]:
    # Its standard input is a pipe that only we hold: when we die it ends, and the node with it.
    command = [str(java / "bin" / "java"), *JVM_OPTIONS, "-cp", f"{jars}:{jars}/*", "OpenSearchNode", str(data)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=data
    )


def answering_url(process: subprocess.Popen[str]) -> str:
    log: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("port "):
            url = f"http://127.0.0.1:{int(line.split()[1])}"
            Thread(target=drain, args=(process,), daemon=True).start()
            wait_until_ready(url)
            return url
        log.append(line)
    raise NodeMissing("the node ended before it listened:\n" + "".join(log[-40:]))


def drain(process: subprocess.Popen[str]) -> None:
    """Read on, since a full pipe would stop the node."""
    assert process.stdout is not None
    for _ in process.stdout:
        pass


def wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow&timeout=30s"):
            return
    raise NodeMissing(f"the node does not answer within {START_TIMEOUT_S} s")

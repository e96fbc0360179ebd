"""What the emulator runs on: a virtual environment of its own, made once in `.cache/`, and a layer for this machine.

Its own, since ministack pins a botocore that the product's pins are ahead of. Its functions run on that environment's
Python, which stands for Lambda's runtime (it has boto3), with the layer in front: what is in neither, they do not find.
The layer of the deployment is for Lambda's processor, so the same dependencies are installed for this one.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from node_js import give_up

HERE = Path(__file__).parent
HOUSE = HERE.parents[1]
CACHE = HOUSE / ".cache"
PINS = HERE / "requirements.txt"
CONSTRAINTS = HOUSE / "constraints.txt"
INSTALL_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Environment:
    """python: the emulator's. layer: a folder as a layer's asset is."""

    python: Path
    layer: Path


def environment(dependencies: list[str]) -> Environment:
    """Several test runs may ask at once. Skips the test where it cannot be made."""
    asked = [sys.version, PINS.read_text("utf-8"), CONSTRAINTS.read_text("utf-8"), *dependencies]
    folder = CACHE / f"emulator-{hashlib.sha256('|'.join(asked).encode()).hexdigest()[:12]}"
    made = Environment(folder / "bin" / "python", folder / "layer")
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")
    with (CACHE / "emulator.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            for old in CACHE.glob("emulator-*"):
                shutil.rmtree(old)
            _make(folder, made, dependencies)
            (folder / "done").touch()
    return made


def _make(folder: Path, made: Environment, dependencies: list[str]) -> None:
    venv.create(folder, with_pip=True)
    _install(made.python, ["-r", str(PINS)])
    _install(made.python, ["--target", str(made.layer / "python"), "-c", str(CONSTRAINTS), *dependencies])


def _install(python: Path, arguments: list[str]) -> None:
    """By uv, which takes a tenth of the time; where it fails, by pip, whose settings (mirrors, certificates) it does
    not read."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    by_uv = [[uv, "pip", "install", "--quiet", "--python", str(python), *arguments]] if uv else []
    by_pip = [[str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]]
    said = ""
    for command in (*by_uv, *by_pip):
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
        if done.returncode == 0:
            return
        said = done.stderr.strip()
    give_up(f"the emulator cannot be installed: {said[-2000:]}")

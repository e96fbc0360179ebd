"""What goes into Lambda: one layer of dependencies, and for each function the product's code that it can reach.

Made without Docker: every dependency ships wheels for the functions' platform, so uv only unpacks. The layer is made
anew when its pins change and lies in `build/` until then; the code is copied at each synthesis, which takes
milliseconds.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HOUSE = Path(__file__).parents[1]
BUILD = HOUSE / "build" / "lambda"

PYTHON = "3.13"
PLATFORM = "aarch64-manylinux_2_28"  # Lambda's Amazon Linux 2023 has glibc 2.34; google-re2 ships nothing older
LAYER_LIMIT_BYTES = 30 * 1024 * 1024  # unzipped; each MiB is read at a cold start
IN_RUNTIME = ("boto3", "botocore", "s3transfer")  # Lambda brings them; twice would cost 25 MiB

LOCAL_ONLY = (  # the one-machine edition: numpy, SQLite and models are not in the layer
    "cli.py",
    "client",
    "local",
    "adapters/change_feed.py",
    "adapters/folder_lock.py",
    "adapters/local_*.py",
    "adapters/sqlite_*.py",
)


class BundlingError(Exception):
    """The layer could not be made, or is too large."""


def layer() -> Path:
    """The folder of the layer. Raises `BundlingError`."""
    wanted = dependencies()
    pins = (HOUSE / "constraints.txt").read_text("utf-8")
    digest = hashlib.sha256("\n".join([PYTHON, PLATFORM, *wanted, pins]).encode()).hexdigest()[:16]
    folder = BUILD / f"layer-{digest}"
    if not folder.is_dir():
        making = BUILD / f"making-{digest}"
        shutil.rmtree(making, ignore_errors=True)
        _install(wanted, making / "python")
        making.rename(folder)
    _check_size(folder)
    return folder


def code(function: str) -> Path:
    """The folder of a function's code: the product without its one-machine edition, and that function's handler."""
    folder = BUILD / "code" / function
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(HOUSE / "shared" / "agent_memory", folder / "agent_memory", ignore=ignored)
    shutil.copytree(HOUSE / "functions" / function, folder / "functions" / function, ignore=ignored)
    shutil.copy(HOUSE / "functions" / "__init__.py", folder / "functions")
    for pattern in LOCAL_ONLY:
        for path in (folder / "agent_memory").glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder


def dependencies() -> list[str]:
    """What the product needs in Lambda beside what the runtime brings."""
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))["project"]
    return [line for line in project["dependencies"] if _name(line) not in IN_RUNTIME]


def size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _install(wanted: list[str], target: Path) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        raise BundlingError("The layer needs uv, which `make setup` installs.")
    command = [uv, "pip", "install", "--quiet", "--target", str(target), "--python-platform", PLATFORM]
    command += ["--python-version", PYTHON, "--only-binary", ":all:", "--constraint", str(HOUSE / "constraints.txt")]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BundlingError(f"uv could not make the layer:\n{done.stderr.strip()}")
    for name in IN_RUNTIME:  # had one of the others asked for them
        for path in target.glob(f"{name}*"):
            shutil.rmtree(path)
    shutil.rmtree(target / "bin", ignore_errors=True)


def _check_size(folder: Path) -> None:
    size = size_bytes(folder)
    print(f"layer: {size / 1024 / 1024:.1f} MiB unzipped", file=sys.stderr)
    if size > LAYER_LIMIT_BYTES:
        raise BundlingError(f"The layer has {size:,} bytes; at most {LAYER_LIMIT_BYTES:,} are allowed.")


def _name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0]

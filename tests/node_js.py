"""Whether Node is here, which the CDK and the evaluator of policies run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import NoReturn

import pytest

VERSION = 20


def node_missing() -> str | None:
    """Why tests that need it cannot run on this machine; None where they can."""
    if not shutil.which("node") or not shutil.which("npm"):
        return f"needs Node {VERSION} or newer, with npm"
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)", said)
    return None if found and int(found[1]) >= VERSION else f"needs Node {VERSION} or newer, not {said.strip()}"


def give_up(reason: str) -> NoReturn:
    """Skip, and say why; under CI fail, so that nothing goes unproved."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    raise AssertionError

"""What IAM would answer, offline: policies are handed to `@cloud-copilot/iam-simulate`, in one `node` process.

That package is under the AGPL, and so lives in this folder's `node_modules` alone, which npm fills once; nothing of the
product is made of it.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from node_js import give_up, node_missing

HERE = Path(__file__).parent
INSTALL_TIMEOUT_S = 300
EVALUATE_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Principal:
    """policies: documents without intrinsics. context: keys of the request that come with the caller, such as tags."""

    arn: str
    policies: Sequence[Mapping[str, Any]]
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """principal: a name among those that are given to `evaluate`."""

    principal: str
    action: str
    resource: str


def evaluate(account: str, principals: Mapping[str, Principal], requests: Sequence[Request]) -> list[bool]:
    """Whether each request is allowed, in their order. Fails the test where the evaluator refuses a policy."""
    asked = {
        "accountId": account,
        "principals": {name: asdict(principal) for name, principal in principals.items()},
        "requests": [asdict(request) for request in requests],
    }
    done = subprocess.run(
        ["node", str(HERE / "evaluator.mjs")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=EVALUATE_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers: list[bool] = json.loads(done.stdout)
    assert len(answers) == len(requests)
    return answers


def install() -> None:
    """Have the evaluator in `node_modules`; several runs may ask at once. Skips the test where it cannot be had."""
    if reason := node_missing():
        give_up(reason)
    lock, modules = HERE / "package-lock.json", HERE / "node_modules"
    done = modules / ".package-lock.json"  # npm writes it last
    modules.mkdir(exist_ok=True)
    with (modules / ".installing").open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        if done.exists() and done.stat().st_mtime >= lock.stat().st_mtime:
            return
        for old in modules.iterdir():
            if old.name != ".installing":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        _npm_install()
        done.touch()


def _npm_install() -> None:
    # Not `npm ci`, which would remove the folder that holds the lock; of the pins that it checks, so does this.
    command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        give_up(f"npm cannot install the evaluator: {getattr(error, 'stderr', None) or error}")

"""One running emulator, on the loopback, and clients of it. It checks signatures and policies (`AUTH`), except those of
the one caller who owns the account: that is who deploys."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.credentials import Credentials

from .environment import Environment

REGION = "eu-central-1"
OWNER = Credentials("owner-of-the-account", "secret-of-the-owner")
START_TIMEOUT_S = 120


@dataclass(frozen=True)
class Emulator:
    url: str
    log: Path

    def client(self, service: str) -> Any:
        """For the account's owner."""
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=OWNER.access_key,
            aws_secret_access_key=OWNER.secret_key,
            config=Config(read_timeout=300, retries={"total_max_attempts": 1}),
        )

    def credentials_of(self, role: str) -> Credentials:
        """A session of the role, by its ARN."""
        given = self.client("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
        return Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])


@contextmanager
def running_emulator(environment: Environment, folder: Path) -> Iterator[Emulator]:
    """folder: for its state and log. It ends with the context, and its functions with it."""
    port, log = _free_port(), folder / "emulator.log"
    settings = {
        "AUTH": "true",
        "AWS_ACCESS_KEY_ID": OWNER.access_key,
        "AWS_SECRET_ACCESS_KEY": OWNER.secret_key,
        "AWS_DEFAULT_REGION": REGION,
        "MINISTACK_REGION": REGION,
        "BIND_HOST": "127.0.0.1",  # every address otherwise
        "GATEWAY_PORT": str(port),
        "SFN_WAIT_SCALE": "0",  # a step that failed is tried again at once
        "STATE_DIR": str(folder / "state"),
        "TMPDIR": str(folder),
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AGENT_MEMORY_"))}
    with log.open("wb") as written:
        process = subprocess.Popen(
            [str(environment.python), "-m", "ministack"],
            env=kept | settings,
            stdout=written,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            emulator = Emulator(f"http://127.0.0.1:{port}", log)
            _wait_until_ready(emulator, process)
            yield emulator
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_ready(emulator: Emulator, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"{emulator.url}/_ministack/health"):
            return
        time.sleep(0.1)
    raise AssertionError(f"the emulator does not answer:\n{emulator.log.read_text('utf-8', 'replace')[-3000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

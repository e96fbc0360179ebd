"""Clients of AWS's services, and signatures for what has none, by botocore alone: boto3 before it would add a quarter
to what a function's start costs (tests/performance/cold_start.py) and give nothing that is used.

Imported where a client is made, since botocore takes longer to import than all else together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any

Sign = Callable[[str, str, bytes], dict[str, str]]
"""(method, url, body) → the headers to send, signed ones among them."""

CONTENT_TYPE = "application/json"  # OpenSearch takes lines of JSON under it as well


class Unsigned(Exception):
    """There is nothing to sign with."""


_making = Lock()  # a session makes one client at a time


def client(service: str, *, config: Any, region: str | None = None, endpoint: str | None = None) -> Any:
    """A low-level client, safe for threads. Raises `BotoCoreError` where the region is missing."""
    with _making:
        return _session().create_client(service, region_name=region, endpoint_url=endpoint, config=config)


def signer(service: str) -> Sign:
    """Signature version 4 with this process's credentials, for the service (`es`, `aoss`). Signing raises
    `Unsigned` where there are none."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import BotoCoreError

    session = _session()
    region = session.get_config_variable("region")

    def sign(method: str, url: str, body: bytes) -> dict[str, str]:
        try:
            credentials = session.get_credentials()
        except BotoCoreError as error:
            raise Unsigned(type(error).__name__) from None
        if credentials is None:
            raise Unsigned("no credentials")
        # Serverless collections (aoss) ask for the hash as a header of its own, domains take it.
        headers = {"X-Amz-Content-SHA256": sha256(body).hexdigest(), "Content-Type": CONTENT_TYPE}
        request = AWSRequest(method, url, headers, data=body)
        SigV4Auth(credentials.get_frozen_credentials(), service, region).add_auth(request)
        return dict(request.headers)

    return sign


@cache
def _session() -> Any:
    from botocore.session import get_session

    return get_session()

"""Who is calling: a signature for AWS, a token for the one-machine server."""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx

from agent_memory.domain.errors import Unauthenticated

if TYPE_CHECKING:
    from botocore.awsrequest import AWSRequest

_TOKEN = re.compile("[!-~]+")
_SERVICE = "execute-api"
_REGION = re.compile(r"\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$")
_SIGNED = (
    "content-type",
    "idempotency-key",
    "if-match",
    "if-none-match",
)  # and the host; a proxy may change what else httpx adds


class Bearer(httpx.Auth):
    """A token of the server's principals file: visible ASCII characters, as headers take them."""

    def __init__(self, token: str) -> None:
        if not _TOKEN.fullmatch(token):  # here, since what a header refuses is quoted by whoever refuses it
            raise ValueError("token takes visible ASCII characters")
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class SigV4(httpx.Auth):
    """Signs each request anew with AWS Signature Version 4, by botocore's own signer.

    region: the API's; where it is not given, that of the address, else that of the environment.
    credentials: botocore's; where they are not given, those of the chain (environment, profile, role), refreshed as
    they expire. profile: which profile the chain reads.
    A call raises `Unauthenticated` where there are no credentials or no region."""

    requires_request_body = True

    def __init__(self, region: str | None = None, *, credentials: Any = None, profile: str | None = None) -> None:
        self._region = region
        self._credentials = credentials
        self._profile = profile

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        signed = self._signed(request)
        request.headers.update(dict(signed.headers.items()))
        yield request

    def _signed(self, request: httpx.Request) -> AWSRequest:
        from botocore.auth import SigV4Auth  # only who signs pays for botocore
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError

        headers = {name: request.headers[name] for name in _SIGNED if name in request.headers}
        unsigned = AWSRequest(request.method, str(request.url), headers=headers, data=request.content)
        try:
            credentials = self._credentials or self._session.get_credentials()
            region = self._region or self._region_of(request.url.host)
            if credentials is None or region is None:
                raise Unauthenticated(f"No AWS {'region' if credentials else 'credentials'} to sign with.")
            SigV4Auth(credentials.get_frozen_credentials(), _SERVICE, region).add_auth(unsigned)
        except BotoCoreError as error:
            raise Unauthenticated(f"AWS credentials are not to be had: {type(error).__name__}.") from error
        return unsigned

    def _region_of(self, host: str) -> str | None:
        named = _REGION.search(host)
        configured: str | None = named[1] if named else self._session.get_config_variable("region")
        return configured

    @cached_property
    def _session(self) -> Any:
        from botocore.session import Session

        return Session(profile=self._profile)

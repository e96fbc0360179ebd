"""Who calls: SigV4 as API Gateway verifies it, by a verifier written after AWS's description of the algorithm, from the
request as it came over the wire; and tokens."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from urllib.parse import quote, unquote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_api import Asked, Say, ScriptedApi, scripted_api

from agent_memory.client import AgentMemory, Bearer, SigV4, Unauthenticated
from agent_memory.client.connection import Call, Connection

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "not-a-real-secret", "session/token+with=signs"
REGION = "eu-central-1"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def api() -> Iterator[ScriptedApi]:
    with scripted_api() as api:
        yield api


@pytest.fixture(scope="module")
def connection(api: ScriptedApi) -> Iterator[Connection]:
    auth = SigV4(REGION, credentials=Credentials(KEY, SECRET, TOKEN))
    connection = Connection(api.url, auth=auth)
    yield connection
    connection.close()


# ---------------------------------------------------------------- the verifier


def verified(asked: Asked, secret: str = SECRET, region: str = REGION) -> bool:
    """Whether the signature is right, of what the request means once its escapes are undone."""
    headers = asked.headers
    fields = dict(part.split("=", 1) for part in headers["authorization"].split(" ", 1)[1].split(", "))
    signed = fields["SignedHeaders"].split(";")
    path, _, query = asked.target.partition("?")
    canonical = [
        asked.method,
        quote("/".join(quote(unquote(part), safe="-._~") for part in path.split("/")), safe="/-._~"),
        "&".join(f"{name}={value}" for name, value in sorted(pairs(query))),
        *(f"{name}:{headers[name].strip()}" for name in signed),
        "",
        ";".join(signed),
        hashlib.sha256(asked.body).hexdigest(),
    ]
    scope = [headers["x-amz-date"][:8], region, "execute-api", "aws4_request"]
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join(scope), digest])
    key = ("AWS4" + secret).encode()
    for part in (*scope, to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    complete = {"host", "x-amz-date", "x-amz-security-token"} <= set(signed)
    return complete and fields["Credential"] == "/".join([KEY, *scope]) and fields["Signature"] == key.hex()


def pairs(query: str) -> list[tuple[str, str]]:
    split = [pair.partition("=") for pair in query.split("&") if pair]
    return [(quote(unquote(name), safe="-._~"), quote(unquote(value), safe="-._~")) for name, _, value in split]


# ---------------------------------------------------------------- signatures


@pytest.mark.rule("IF-3")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS.filter(lambda text: text not in (".", "..")), st.lists(st.tuples(TEXTS, TEXTS), max_size=4), TEXTS)
def test_every_call_is_signed_as_it_is_sent(
    api: ScriptedApi, connection: Connection, agent: str, query: list[tuple[str, str]], text: str
) -> None:
    api.says(Say())
    resource = "/v1/agents/{agent}/turns"
    connection.send(Call(method="POST", resource=resource, path={"agent": agent}, query=dict(query), body={"t": text}))
    (asked,) = api.asked
    assert verified(asked)
    assert ";idempotency-key;" in asked.headers["authorization"]
    assert not verified(asked, secret="another")
    assert not verified(Asked(asked.method, asked.target, asked.headers, asked.body + b" "))


@pytest.mark.rule("IF-3")
@pytest.mark.parametrize("target", ["/v1/status", "/v1/agents/{agent}/memories"])
def test_a_call_without_a_body_is_signed_too(api: ScriptedApi, connection: Connection, target: str) -> None:
    api.says(Say())
    query = {"status": ["b", "a"], "label.room": "7 b", "after": "x+/=~", "user_id": "ü"}
    connection.send(Call(method="GET", resource=target, path={"agent": "§ 1"}, query=query))
    assert verified(api.asked[0])


def test_the_signature_is_botocores_own(api: ScriptedApi, connection: Connection) -> None:
    api.says(Say())
    headers = {"If-Match": '"3"'}
    connection.send(
        Call(method="PUT", resource="/v1/agents/{agent}/config", path={"agent": "ü a"}, body={"b": 1}, headers=headers)
    )
    (asked,) = api.asked
    sent = {"Content-Type": "application/json", **headers}
    expected = AWSRequest(asked.method, api.url.removesuffix("/prod") + asked.target, headers=sent, data=asked.body)
    signer = SigV4Auth(Credentials(KEY, SECRET, TOKEN), "execute-api", REGION)
    expected.context["timestamp"] = asked.headers["x-amz-date"]
    expected.headers["X-Amz-Date"] = asked.headers["x-amz-date"]
    expected.headers["X-Amz-Security-Token"] = TOKEN
    signature = signer.signature(signer.string_to_sign(expected, signer.canonical_request(expected)), expected)
    assert asked.headers["authorization"].endswith(f"Signature={signature}")
    assert "SignedHeaders=content-type;host;if-match;x-amz-date;x-amz-security-token," in asked.headers["authorization"]


def test_each_attempt_is_signed_anew(api: ScriptedApi) -> None:
    keys = Rotating()
    with AgentMemory(api.url, auth=SigV4(REGION, credentials=keys)) as memory:
        api.says(Say(503, headers={"Retry-After": "0"}), Say())
        memory.openapi()
    first, second = (asked.headers["authorization"].partition("/")[0] for asked in api.asked)
    assert (first, second) == ("AWS4-HMAC-SHA256 Credential=KEY1", "AWS4-HMAC-SHA256 Credential=KEY2")


class Rotating:
    """Credentials that are refreshed at every use, as those of a role may be."""

    used = 0

    def get_frozen_credentials(self) -> Credentials:
        self.used += 1
        return Credentials(f"KEY{self.used}", SECRET)


# ---------------------------------------------------------------- where region and credentials come from


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One in which the chain finds what the test puts there, and nothing of this machine."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


def test_credentials_and_region_are_those_of_the_chain(api: ScriptedApi, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_ACCESS_KEY_ID", KEY)
    environment.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    environment.setenv("AWS_SESSION_TOKEN", TOKEN)
    environment.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    api.says(Say())
    with AgentMemory(api.url, auth=SigV4()) as memory:
        memory.openapi()
    assert verified(api.asked[0], region="ap-south-1")


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("abc123.execute-api.eu-west-3.amazonaws.com", "eu-west-3"),
        ("abc123.execute-api.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("memory.example.com", None),
        ("abc.execute-api.eu-west-3.amazonaws.com.example.com", None),
    ],
)
def test_the_region_is_read_from_the_address(host: str, region: str | None, environment: pytest.MonkeyPatch) -> None:
    assert SigV4()._region_of(host) == region


@pytest.mark.parametrize("auth", [SigV4(), SigV4(profile="nobody"), SigV4(credentials=Credentials(KEY, SECRET))])
def test_nothing_is_sent_that_cannot_be_signed(api: ScriptedApi, environment: pytest.MonkeyPatch, auth: SigV4) -> None:
    api.says(Say())
    with AgentMemory(api.url, auth=auth) as memory, pytest.raises(Unauthenticated):
        memory.openapi()
    assert api.asked == []


# ---------------------------------------------------------------- tokens


def test_a_token_is_sent_as_it_is_given(api: ScriptedApi) -> None:
    api.says(Say())
    with AgentMemory(api.url, auth=Bearer("t-1")) as memory:
        memory.openapi()
    assert api.asked[0].headers["authorization"] == "Bearer t-1"


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ü"])
def test_what_no_header_takes_is_no_token_and_is_not_quoted(token: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII") as error:
        Bearer(token)
    assert token not in str(error.value) or not token


def test_without_auth_none_is_sent(api: ScriptedApi) -> None:
    api.says(Say())
    with AgentMemory(api.url) as memory:
        memory.openapi()
    assert "authorization" not in api.asked[0].headers

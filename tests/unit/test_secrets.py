"""Secrets in texts: what is found, what passes, and what is put in their place (GT-1, GT-4, HI-7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_examples import HARMLESS, SECRETS

from agent_memory.domain.secret_patterns import SECRETS as PATTERNS
from agent_memory.domain.secrets import find_secrets, redacted, redacted_json

TEXTS = [text for _, text, _ in SECRETS]


@pytest.mark.rule("GT-1", "HI-7")
@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS, ids=[f"{n}-{one[0]}" for n, one in enumerate(SECRETS)])
def test_a_secret_is_found_and_its_kind_named(kind: str, text: str, secret: str) -> None:
    finds = find_secrets(text)
    assert [(find.kind, text[find.start : find.end]) for find in finds] == [(kind, secret)]


@pytest.mark.rule("GT-1", "HI-7")
@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_talk_placeholders_look_ups_and_hashes_pass(text: str) -> None:
    assert redacted(text) == (text, [])


@pytest.mark.rule("HI-7")
@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS, ids=[f"{n}-{one[0]}" for n, one in enumerate(SECRETS)])
def test_a_removal_leaves_the_rest_to_the_character(kind: str, text: str, secret: str) -> None:
    assert redacted(text)[0] == text.replace(secret, f"[removed: {kind}]")


@pytest.mark.rule("HI-7")
@given(st.lists(st.sampled_from([*TEXTS, *HARMLESS]), max_size=5), st.text(max_size=40))
def test_a_text_that_was_redacted_holds_no_secret_more(pieces: list[str], between: str) -> None:
    text, _ = redacted(f"\n{between}\n".join(pieces))
    assert redacted(text) == (text, [])


@pytest.mark.rule("GT-1")
@given(st.text())
def test_finds_stand_in_order_and_apart_in_any_text(text: str) -> None:
    ends = [0, *(bound for find in find_secrets(text) for bound in (find.start, find.end)), len(text)]
    assert ends == sorted(ends)


@pytest.mark.rule("GT-4")
def test_a_kind_of_its_own_has_an_example() -> None:
    unproved = {"google_token", "huggingface_token", "pypi_token", "discord_token", "twilio_key"}
    unproved |= {"mailgun_key", "digitalocean_token", "shopify_token", "databricks_token", "vault_token"}
    unproved |= {"notion_token", "linear_key"}
    assert {pattern.kind for pattern in PATTERNS} - {kind for kind, _, _ in SECRETS} <= unproved


@pytest.mark.rule("HI-7")
def test_secrets_are_taken_out_of_json_and_a_name_is_a_label() -> None:
    given = {
        "password": "hunter2x",
        "deep": [{"api_key": "abcd1234efgh5678ijkl", "page": 2, "open": True}],
        "note": TEXTS[3],
        "password2": 12345678,
        "body": "line one\npassword: hunter22\nline three",
    }
    assert redacted_json(given) == {
        "password": "[removed: password]",
        "deep": [{"api_key": "[removed: api_key]", "page": 2, "open": True}],
        "note": "The key is [removed: aws_key].",
        "password2": "[removed: password]",
        "body": "line one\npassword: [removed: password]\nline three",
    }


def test_a_lone_surrogate_hides_nothing() -> None:
    assert redacted("\ud83d password: hunter2")[0] == "\ud83d password: [removed: password]"


@pytest.mark.parametrize("piece", ["password ", "-----BEGIN PRIVATE KEY-----", "4111 ", "a://b:", "token=", "密码"])
def test_a_long_text_of_beginnings_is_read_in_one_go(piece: str) -> None:
    assert find_secrets(piece * (200_000 // len(piece))) == []

"""The responses of an operation in the OpenAPI document: what it answers, which problems, with which headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel

from . import problems, receipts
from .routes import Route
from .shapes import ANSWERS, Problem

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_SECONDS: Schema = {"type": "integer", "minimum": 1}

HEADERS: Mapping[str, Schema] = {
    "Request-Id": {"description": "Names this answer, in the server's logs too.", "schema": _TEXT},
    "ETag": {"description": 'The version, quoted, such as "3": what If-Match takes.', "schema": _TEXT},
    "Location": {"description": "The path of the record.", "schema": _TEXT},
    receipts.REPLAYED: {"description": "`true`: the answer of the first call with this key.", "schema": _TEXT},
    "Retry-After": {"description": "Seconds to wait before the call is sent again.", "schema": _SECONDS},
    "WWW-Authenticate": {"description": "How to say who calls.", "schema": _TEXT},
    "Allow": {"description": "The methods that the path takes.", "schema": _TEXT},
}
"""Components of the document, by their names."""

_EVERYWHERE = (400, 401, 403, 404, 405, 413, 429, 503)
_OF_KEYS = ("in_progress", "idempotency_mismatch")
_OF_STATUS: Mapping[int, str] = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}
_VERSIONED = frozenset({"config", "memory"})  # what an operation ends in whose answer has an ETag


def responses(route: Route, named: Mapping[type[BaseModel], Schema]) -> dict[str, Schema]:
    """By status. named: references to the shapes."""
    return {**_successes(route, named[ANSWERS[route.operation]]), **_problems(route, named[Problem])}


def _successes(route: Route, shape: Schema) -> dict[str, Schema]:
    content = {"application/json": {"schema": shape}}
    names = [*(["ETag"] if _has_etag(route) else []), *(["Location"] if "insert" in route.operation else [])]
    names += [receipts.REPLAYED] if route.method == "POST" else []
    return {
        str(status): {"description": _succeeds(status), "headers": _headers(names), "content": content}
        for status in route.success
    }


def _succeeds(status: int) -> str:
    phrase = HTTPStatus(status).phrase
    return f"{phrase}: it is begun, and goes on by itself" if status == HTTPStatus.ACCEPTED else phrase


def _has_etag(route: Route) -> bool:
    return route.operation == "configure" or route.operation.split("_")[-1] in _VERSIONED


def _problems(route: Route, shape: Schema) -> dict[str, Schema]:
    content = {problems.CONTENT_TYPE: {"schema": shape}}
    codes: dict[int, list[str]] = {status: [] for status in _EVERYWHERE}
    for code in (*route.codes, *(_OF_KEYS if route.method == "POST" else ())):
        codes.setdefault(problems.status_of_code(code), []).append(code)
    return {
        str(status): {"description": _described(status, own), "headers": _of_problem(status, own), "content": content}
        for status, own in sorted(codes.items())
    }


def _of_problem(status: int, codes: Iterable[str]) -> Schema:
    waits = ["Retry-After"] if "in_progress" in codes else []
    return _headers([*([_OF_STATUS[status]] if status in _OF_STATUS else []), *waits])


def _headers(names: Iterable[str]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("Request-Id", *names)}


def _described(status: int, codes: list[str]) -> str:
    phrase = HTTPStatus(status).phrase
    return f"{phrase}: {', '.join(codes)}" if codes else phrase

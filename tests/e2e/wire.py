"""HTTP as bytes on a socket, for what no client would send."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx


def raw(connection: socket.socket, sent: bytes) -> httpx.Response:
    """Send bytes as they are; the answer up to the end of the connection, which the request must ask for."""
    connection.sendall(sent)
    head, _, body = received(connection).partition(b"\r\n\r\n")
    status, *headers = head.decode("latin-1").split("\r\n")
    pairs = [(name.lower(), value) for name, _, value in (line.partition(": ") for line in headers)]
    body = body[: int(dict(pairs)["content-length"])]  # behind it stand the answers to what else was sent
    method = sent.split(b" ", 1)[0].decode("latin-1")
    request = httpx.Request(method if method.isalpha() else "GET", "http://127.0.0.1")
    return httpx.Response(int(status.split()[1]), headers=pairs, content=body, request=request)


def received(connection: socket.socket) -> bytes:
    """All that comes until the other side hangs up."""
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def greeted(connection: socket.socket) -> None:
    """One whole call, after which the connection stays open: the server has surely taken it up."""
    connection.sendall(head("GET", "/v1/dev/nothing").replace(b"Connection: close\r\n", b""))
    answer = b""
    while not answer.endswith(b"{}"):
        answer += connection.recv(65536)


def head(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()

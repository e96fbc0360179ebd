"""Keeps web pages away from a server that asks nobody who they are: a page in a browser on this machine can reach
127.0.0.1 too. Programs send no Origin, and call the server by its address or as localhost."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_foreign(origin: str | None, host: str | None, *, loopback: bool) -> bool:
    """Whether a page of another site sent it: one that says so, or, where only this machine can call (`loopback`), one
    whose own name was made to point here (DNS rebinding)."""
    if origin is not None and origin.partition("://")[2] != host:
        return True
    return loopback and host is not None and not is_loopback(_name_of(host))


def is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _name_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:  # [::1 without its other bracket
        return ""

"""`agent-memory serve`: the socket, uvicorn, and an orderly end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress

import uvicorn

from .browsers import is_loopback
from .edition import Edition
from .gateway import Gateway
from .principals import Principals
from .protocol import Protocol

ANSWERING_S = 3  # for what is in flight when asked to leave; with all else it leaves within 5 s
KEEP_ALIVE_S = 75  # longer than harnesses pause between calls, so that they need not connect again


class Server(uvicorn.Server):
    """Says where it listens once it answers."""

    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(f"listening on {self._url}", flush=True)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises `OSError`."""
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    # By name, since with protocol 0 asyncio takes the connections for something else than TCP and leaves Nagle's
    # algorithm on: with delayed acknowledgements each answer then takes 40 ms.
    listening = socket.socket(family, kind, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listening.bind(address)
        listening.listen(1024)
    except OSError:
        listening.close()
        raise
    return listening


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(edition: Edition, listening: socket.socket, principals: Principals | None = None) -> None:
    """Answer until SIGTERM or Ctrl-C, then finish what is in flight. principals: who may call, None: whoever can."""
    url = url_of(listening)
    loopback = is_loopback(listening.getsockname()[0])
    gateway = Gateway(edition.switches, principals=principals, loopback=loopback)
    config = uvicorn.Config(
        gateway.app(),
        http=Protocol,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=ANSWERING_S,
    )
    # uvicorn takes both signals while it serves, and raises them again when it is done.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit)
    with suppress(SystemExit):
        edition.start()
        asyncio.run(Server(config, url).serve(sockets=[listening]))
    _leave(edition, gateway)


def _exit(*_: object) -> None:
    raise SystemExit


def _leave(edition: Edition, gateway: Gateway) -> None:
    """What is answered is on the disk, so a call that hangs may be left behind, and with it the files."""
    if gateway.idle:
        edition.stop()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # not by returning: Python would wait for threads that hang in a call

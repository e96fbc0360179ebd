"""HTTP/1.1 as uvicorn speaks it, but that what is no HTTP is answered as a problem too (IF-1).

Such a request never reaches the gateway: a head that is malformed or longer than 64 KB, a body with a wrong length or
wrong chunks.
"""

from __future__ import annotations

import uuid

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from agent_memory.domain.errors import InvalidRequest
from agent_memory.runtime.http import proxy_answer
from agent_memory.runtime.problems import problem

READING_S = (
    2.0  # what still comes is read and dropped: closing over unread bytes would take the answer back (RFC 9112, 9.6)
)


class Protocol(H11Protocol):
    _refused = False

    def data_received(self, data: bytes) -> None:
        if not self._refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Answer, unless the answer has begun already (the fault is then in the rest of a body that nobody asked for),
        and hang up: where the next request would begin, nobody knows."""
        self._refused = True
        answers = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if answers:
            for event in _refusal():
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            self.cycle.disconnected = True  # whoever waits for the rest of the body, or is about to answer, need not
            self.cycle.message_event.set()
        if answers and self.transport.can_write_eof():
            self.transport.write_eof()
            self.loop.call_later(READING_S, self.transport.close)
        else:
            self.transport.close()


def _refusal() -> list[h11.Event]:
    request_id = str(uuid.uuid4())
    refused = InvalidRequest("This is no HTTP/1.1 request, or its head is longer than 64 KB.")
    answer = proxy_answer(problem(refused, request_id), request_id)
    body = answer["body"].encode()
    headers = {**answer["headers"], "Content-Length": str(len(body)), "Connection": "close"}
    start = h11.Response(status_code=answer["statusCode"], headers=list(headers.items()), reason=b"Bad Request")
    return [start, h11.Data(data=body), h11.EndOfMessage()]

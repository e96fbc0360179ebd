"""The connection to DynamoDB: a client with time limits, what its errors mean, and the one loop that tries again.

botocore's own retries are off. They cannot be set per call, and a transaction must not be repeated blindly: after a
lost answer its own effect would look like a conflict. One loop for all calls is also one place that knows the waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
)
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_after_delay, wait_random_exponential

from ..domain.errors import ConditionFailed, StoreUnavailable
from .dynamodb_values import from_attributes

T = TypeVar("T")

ATTEMPTS = 8  # with full jitter up to 25 ms, 50 ms, … 1 s: contention of a hot item ends within some 2 s
GIVE_UP_AFTER_S = 10.0  # an answer must leave API Gateway within 29 s, and one more attempt may take 4 s

_CONTENTION = frozenset(
    {  # nothing was written
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


class TryAgain(Exception):
    """Throttled, in conflict, or never reached: nothing was written."""


class OutcomeUnknown(TryAgain):
    """The answer is lost, or says that the server failed: it may have been written."""


def dynamodb_client(region: str | None = None, endpoint: str | None = None) -> Any:
    """A low-level client, safe for threads. Time limits: 1 s to connect, 3 s to answer (usual: 2 to 20 ms)."""
    import boto3  # 100 ms, which only who makes a client shall pay

    config = Config(
        connect_timeout=1,
        read_timeout=3,
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=16,
        tcp_keepalive=True,
    )
    return boto3.client("dynamodb", region_name=region, endpoint_url=endpoint, config=config)


def try_again(call: Callable[[], T], attempts: int = ATTEMPTS) -> T:
    """What the call gives, repeated with jitter while it raises `TryAgain`. In the end raises `StoreUnavailable`."""
    loop = Retrying(
        stop=stop_after_attempt(attempts) | stop_after_delay(GIVE_UP_AFTER_S),
        wait=wait_random_exponential(multiplier=0.025, max=1),
        retry=retry_if_exception_type(TryAgain),
        reraise=True,
    )
    try:
        return loop(call)
    except TryAgain as error:
        raise StoreUnavailable(f"table: {error}") from error


@contextmanager
def mapped_errors() -> Iterator[None]:
    """botocore's errors as ours: `ConditionFailed`, `TryAgain`, `OutcomeUnknown`, `StoreUnavailable`, `ValueError`."""
    try:
        yield
    except ClientError as error:
        raise _meaning(error) from error
    except (ConnectTimeoutError, EndpointConnectionError) as error:
        raise TryAgain("no connection") from error
    except HTTPClientError as error:
        raise OutcomeUnknown(type(error).__name__) from error
    except BotoCoreError as error:  # no credentials, no region
        raise StoreUnavailable(f"table: {type(error).__name__}") from error


def _meaning(error: ClientError) -> Exception:
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed({0: _present(error.response)})
    if code == "TransactionCanceledException":
        return _cancellation(error.response.get("CancellationReasons", []))
    if code in _CONTENTION:
        return TryAgain(code)
    if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
        return OutcomeUnknown(code)
    if code == "ValidationException":  # `limits` let it through: a fault of ours; its text may quote values
        return ValueError("the table refused the request as invalid")
    return StoreUnavailable(f"table: {code}")


def _cancellation(reasons: list[dict[str, Any]]) -> Exception:
    codes = [reason.get("Code", "None") for reason in reasons]
    if contended := _CONTENTION.intersection(codes):
        # Also beside a failed condition: the next attempt tells all failed positions.
        return TryAgain(min(contended))
    failed = {at: _present(reason) for at, reason in enumerate(reasons) if codes[at] == "ConditionalCheckFailed"}
    if failed:
        return ConditionFailed(failed)
    if "ValidationError" in codes:
        return ValueError("the table refused an action as invalid")
    return StoreUnavailable(f"table: transaction cancelled, {sorted({code for code in codes if code != 'None'})}")


def _present(answer: Any) -> dict[str, Any] | None:
    return from_attributes(answer["Item"]) if answer.get("Item") else None

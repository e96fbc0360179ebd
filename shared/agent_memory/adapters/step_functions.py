"""The ends of turns as executions of a state machine (`TurnEnds` in AWS).

An execution is named after the turn, so that a second start of the same is none: names are kept for 90 days. Its input
is ids alone. boto3 is imported, and the client made, at the first start: most functions never begin one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from agent_memory.domain.errors import StoreUnavailable


class StateMachine:
    """client: makes a `stepfunctions` client, called once."""

    def __init__(self, arn: str, client: Callable[[], Any] | None = None) -> None:
        self._arn = arn
        self._client = cache(client or _client)

    def start(self, agent_id: str, turn_id: str, tries: int, again: str = "") -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        name = "-".join([turn_id, str(tries), *([again] if again else [])])
        asked = json.dumps({"agent_id": agent_id, "turn_id": turn_id})
        try:
            self._client().start_execution(stateMachineArn=self._arn, name=name, input=asked)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
                raise StoreUnavailable(f"Step Functions answered {error.response['Error']['Code']}.") from error
        except BotoCoreError as error:
            raise StoreUnavailable(f"Step Functions did not answer: {type(error).__name__}.") from error


def _client() -> Any:
    import boto3
    from botocore.config import Config

    config = Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 3})
    return boto3.client("stepfunctions", config=config)

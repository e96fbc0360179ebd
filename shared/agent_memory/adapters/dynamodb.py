"""The `Table` port on two DynamoDB tables with the key attributes `pk` and `sk` (strings). Every read is consistent.

Knows requests, pages and batches, and how a transaction learns its outcome after a lost answer. Values and conditions
are written by `dynamodb_values`, errors and waits are `dynamodb_client`'s, quotas `limits`'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import uuid4

from ..domain.errors import ConditionFailed
from ..domain.ports import Condition, Delete, Item, Key, Put, Row, TableName, Write
from .dynamodb_client import ATTEMPTS, OutcomeUnknown, TryAgain, mapped_errors, try_again
from .dynamodb_values import (
    Attributes,
    condition_arguments,
    from_attributes,
    to_attribute,
    to_attributes,
    to_key,
)
from .limits import check_counters, check_key, check_query, check_transaction, last_writes

T = TypeVar("T")
R = TypeVar("R")

_GET_KEYS = 100  # of one BatchGetItem (DynamoDB quota)
_WRITE_ITEMS = 25  # of one BatchWriteItem (DynamoDB quota)
_THREADS = 8  # batches of one call at a time


class DynamoDBTable:
    """client: of `dynamodb_client()`, or one that does not retry by itself. attempts: of one request, in all."""

    def __init__(self, memory_table: str, execution_table: str, client: Any, *, attempts: int = ATTEMPTS) -> None:
        self._names: dict[TableName, str] = {"memory": memory_table, "execution": execution_table}
        self._tables: dict[str, TableName] = {memory_table: "memory", execution_table: "execution"}
        self._client = client
        self._attempts = attempts

    def get(self, key: Key) -> Item | None:
        check_key(key)
        attributes = self._send(lambda: self._get(key))
        return from_attributes(attributes) if attributes else None

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            check_key(key)
        found: dict[Key, Item] = {}
        for part in _in_parallel(self._get_batch, _batches(wanted, _GET_KEYS)):
            found |= part
        return {key: found[key] for key in wanted if key in found}

    def query(
        self,
        table: TableName,
        partition: str,
        *,
        prefix: str = "",
        newest_first: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Row]:
        check_query(partition, prefix, after)
        start: Attributes | None = None
        if after and after.startswith(prefix):
            start = to_key(Key(table, partition, after))
        elif after is not None and (after.encode() < prefix.encode() or not after) == newest_first:
            return []  # `after` lies outside the prefix, on the far side; DynamoDB would refuse it as a start
        return self._pages(table, partition, prefix, newest_first, start, limit)

    def transact(self, writes: Sequence[Write]) -> None:
        """Reads the first `Put`'s item after a lost answer. That item should be one which nobody else overwrites within
        seconds, else our own write is taken for a conflict."""
        witness, stamp = check_transaction(writes), uuid4().hex
        actions = [self._action(write, stamp if write is witness else None) for write in writes]
        lost = False

        def attempt() -> None:
            nonlocal lost
            try:
                with mapped_errors():
                    self._client.transact_write_items(TransactItems=actions)
            except (OutcomeUnknown, ConditionFailed) as error:
                lost = lost or isinstance(error, OutcomeUnknown)
                if not (lost and self._is_writer(witness.key, stamp)):
                    raise

        try_again(attempt, self._attempts)

    def increment(self, key: Key, counters: Mapping[str, int], *, condition: Condition | None = None) -> Item:
        check_key(key)
        check_counters(counters)
        request = {"TableName": self._names[key.table], "Key": to_key(key), "ReturnValues": "ALL_NEW"}
        request |= condition_arguments(condition) | _addition(counters, condition)
        answer = self._send(lambda: self._client.update_item(**request))
        return from_attributes(answer["Attributes"])

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        for _ in _in_parallel(self._write_batch, _batches(last_writes(writes), _WRITE_ITEMS)):
            pass

    # ------------------------------------------------------------ requests

    def _send(self, request: Callable[[], T]) -> T:
        def attempt() -> T:
            with mapped_errors():
                return request()

        return try_again(attempt, self._attempts)

    def _get(self, key: Key) -> Attributes | None:
        answer = self._client.get_item(TableName=self._names[key.table], Key=to_key(key), ConsistentRead=True)
        attributes: Attributes | None = answer.get("Item")
        return attributes

    def _is_writer(self, key: Key, stamp: str) -> bool:
        with mapped_errors():
            attributes = self._get(key)
        return attributes is not None and attributes.get("writer") == {"S": stamp}

    def _get_batch(self, keys: Sequence[Key]) -> dict[Key, Item]:
        request: dict[str, Any] = {}
        for key in keys:
            request.setdefault(self._names[key.table], {"Keys": [], "ConsistentRead": True})["Keys"].append(to_key(key))
        found: dict[Key, Item] = {}

        def some() -> None:
            nonlocal request
            while request:
                answer = self._client.batch_get_item(RequestItems=request)
                before = len(found)
                for name, items in answer["Responses"].items():
                    found.update(self._row(self._tables[name], attributes) for attributes in items)
                request = answer.get("UnprocessedKeys") or {}
                if request and len(found) == before:
                    raise TryAgain("unprocessed keys")

        self._send(some)
        return found

    def _write_batch(self, writes: Sequence[Put | Delete]) -> None:
        request: dict[str, list[Any]] = {}
        for write in writes:
            request.setdefault(self._names[write.key.table], []).append(_batch_action(write))

        def some() -> None:
            nonlocal request
            request = self._client.batch_write_item(RequestItems=request).get("UnprocessedItems") or {}
            if request:
                raise TryAgain("unprocessed items")

        self._send(some)

    def _pages(
        self,
        table: TableName,
        partition: str,
        prefix: str,
        newest_first: bool,
        start: Attributes | None,
        limit: int | None,
    ) -> list[Row]:
        request: dict[str, Any] = {
            "TableName": self._names[table],
            "ConsistentRead": True,
            "ScanIndexForward": not newest_first,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)" if prefix else "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": partition}} | ({":sk": {"S": prefix}} if prefix else {}),
        }
        rows: list[Row] = []
        while limit is None or len(rows) < limit:
            page = request | ({"ExclusiveStartKey": start} if start else {})
            if limit is not None:
                page["Limit"] = limit - len(rows)
            answer = self._send(lambda page=page: self._client.query(**page))  # type: ignore[misc]
            rows += (Row(*self._row(table, attributes)) for attributes in answer["Items"])
            start = answer.get("LastEvaluatedKey")
            if not start:
                break
        return rows

    def _row(self, table: TableName, attributes: Attributes) -> tuple[Key, Item]:
        return Key(table, attributes["pk"]["S"], attributes["sk"]["S"]), from_attributes(attributes)

    def _action(self, write: Write, stamp: str | None) -> dict[str, Any]:
        action = {"TableName": self._names[write.key.table]} | condition_arguments(write.condition)
        if isinstance(write, Put):
            attributes = to_attributes(write.key, write.item) | ({"writer": {"S": stamp}} if stamp else {})
            return {"Put": action | {"Item": attributes}}
        return {"Delete" if isinstance(write, Delete) else "ConditionCheck": action | {"Key": to_key(write.key)}}


def _batch_action(write: Put | Delete) -> dict[str, Any]:
    if isinstance(write, Put):
        return {"PutRequest": {"Item": to_attributes(write.key, write.item)}}
    return {"DeleteRequest": {"Key": to_key(write.key)}}


def _addition(counters: Mapping[str, int], condition: Condition | None) -> dict[str, Any]:
    stated = condition_arguments(condition)
    names = {f"#n{at}": name for at, name in enumerate(counters)}
    values = {f":n{at}": to_attribute(number) for at, number in enumerate(counters.values())}
    return {
        "UpdateExpression": "ADD " + ", ".join(f"#n{at} :n{at}" for at in range(len(counters))),
        "ExpressionAttributeNames": stated.get("ExpressionAttributeNames", {}) | names,
        "ExpressionAttributeValues": stated.get("ExpressionAttributeValues", {}) | values,
    }


def _batches(things: Sequence[T], size: int) -> list[Sequence[T]]:
    return [things[start : start + size] for start in range(0, len(things), size)]


def _in_parallel(work: Callable[[Sequence[T]], R], batches: Sequence[Sequence[T]]) -> list[R]:
    if len(batches) < 2:
        return [work(batch) for batch in batches]
    with ThreadPoolExecutor(min(_THREADS, len(batches))) as threads:
        return list(threads.map(work, batches))

"""Both sides of the `Table` port, empty, and builders for what the tests write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from moto import mock_aws

from agent_memory.adapters.dynamodb import DynamoDBTable
from agent_memory.adapters.dynamodb_client import dynamodb_client
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import Item, Key, Put, Table, TableName

Fault = Callable[[Callable[..., Any], dict[str, Any]], Any]


class OneByOne:
    """A client whose calls run one at a time: moto restores whole tables when a transaction fails, under others' feet.

    faults: what happens to the next calls of an operation, by its name, instead of the plain call.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = Lock()
        self.faults: dict[str, list[Fault]] = {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._client, name)

        def run(**arguments: Any) -> Any:
            with self._lock:
                self.calls.append(name)
                waiting = self.faults.get(name)
                return waiting.pop(0)(call, arguments) if waiting else call(**arguments)

        return run


def create_tables(client: Any, *names: str) -> None:
    for name in names:
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": part, "AttributeType": "S"} for part in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )


@pytest.fixture(scope="session")
def dynamodb_connection() -> Any:
    with mock_aws():  # for its credentials; making a client takes ten times as long as a test
        return dynamodb_client(region="eu-central-1")


@pytest.fixture
def dynamodb(dynamodb_connection: Any) -> Iterator[OneByOne]:
    with mock_aws():
        client = OneByOne(dynamodb_connection)
        create_tables(client, "Memory", "Execution")
        yield client


@pytest.fixture
def dynamodb_table(dynamodb: OneByOne) -> DynamoDBTable:
    return DynamoDBTable("Memory", "Execution", dynamodb)


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def sqlite_table(sqlite_path: Path) -> Iterator[SqliteTable]:
    table = SqliteTable(sqlite_path)
    yield table
    table.close()


@pytest.fixture(params=["sqlite_table", "dynamodb_table"])
def table(request: pytest.FixtureRequest) -> Table:
    side: Table = request.getfixturevalue(request.param)
    return side


def key(sort: str = "s", partition: str = "p", table: TableName = "memory") -> Key:
    return Key(table, partition, sort)


def put(sort: str = "s", item: Item | None = None, **more: Any) -> Put:
    return Put(key(sort), item or {}, **more)

"""`world`: the product over both editions."""

from collections.abc import Iterator

import pytest
from moto import mock_aws
from table_fixtures import OneByOne, create_tables
from world import World, in_aws, one_machine

from agent_memory.adapters.dynamodb_client import dynamodb_client


@pytest.fixture(scope="session")
def dynamodb_connection():
    with mock_aws():
        return dynamodb_client(region="eu-central-1")


@pytest.fixture
def machine(tmp_path) -> Iterator[World]:
    with one_machine(tmp_path) as world:
        yield world


@pytest.fixture
def aws(dynamodb_connection, opensearch_url) -> Iterator[World]:
    with mock_aws():
        client = OneByOne(dynamodb_connection)
        create_tables(client, "Memory", "Execution")
        with in_aws(client, opensearch_url) as world:
            yield world


@pytest.fixture(params=["machine", "aws"])
def world(request) -> World:
    return request.getfixturevalue(request.param)

"""Fixtures that the contract suites share, by port."""

from index_fixtures import backend  # noqa: F401
from table_fixtures import dynamodb, dynamodb_connection, dynamodb_table, sqlite_path, sqlite_table, table  # noqa: F401

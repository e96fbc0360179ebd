"""Fixtures that the contract suites share, by port."""

from table_fixtures import dynamodb, dynamodb_connection, dynamodb_table, sqlite_path, sqlite_table, table  # noqa: F401

"""The fixtures of this folder: both editions at the door of the operations, and the HTTP interface."""

from http_api import api, edition  # noqa: F401
from worlds import aws, dynamodb_connection, machine, world  # noqa: F401

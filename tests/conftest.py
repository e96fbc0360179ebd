"""What all tests share: the one OpenSearch node of the session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from opensearch_node.node import NodeMissing, running_node


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """A real node: the one in OPENSEARCH_URL, else one started here. It may be shared, so names of indices are random.

    Where it cannot be had, tests skip and say how to get it; under CI they fail, so that nothing goes unproved."""
    with ExitStack() as stack:
        yield os.environ.get("OPENSEARCH_URL") or started_node(stack)


def started_node(stack: ExitStack) -> str:
    try:
        return stack.enter_context(running_node())
    except NodeMissing as reason:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up(f"no OpenSearch node: {reason}")

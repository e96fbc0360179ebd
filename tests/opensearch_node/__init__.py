"""A real OpenSearch node for the tests, without Docker."""

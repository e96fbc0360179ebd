"""Imported first by every test module that makes constructs: they skip without Node, and fail under CI."""

import os

import pytest
from node_js import node_missing

os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")

if reason := node_missing():
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)

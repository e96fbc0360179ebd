"""The marks by which tests name rules."""

from __future__ import annotations

import re

import open_rules
import pytest
from open_rules import Mark


def test_every_mark_names_a_rule_of_the_specification():
    assert open_rules.faults(open_rules.marks(), open_rules.known_rules()) == []


def test_every_rule_is_listed_once_with_a_name():
    lines = open_rules.RULES.read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"[A-Z]{2}-[1-9][0-9]? \S.*\S", line) for line in lines)
    assert len({line.split()[0] for line in lines}) == len(lines) == 114


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.rule("RK-4")\ndef test_it(): ...',
        'pytestmark = pytest.mark.rule("RK-4")',
        'pytestmark = [pytest.mark.slow, pytest.mark.rule("RK-4")]',
        '@pytest.mark.parametrize("a", [pytest.param(1, marks=pytest.mark.rule("RK-4"))])\ndef test_it(a): ...',
        'rule = pytest.mark.rule\n@rule("RK-4")\ndef test_it(rule): rule = 1; other.rule("x")',
        'from pytest import mark\n@mark.rule("RK-4")\nclass TestIt: ...',
    ],
)
def test_a_mark_is_found_wherever_it_stands(source):
    assert [mark.rule for mark in open_rules.marks_in(source)] == ["RK-4"]


def test_a_mark_may_name_several_rules():
    assert [mark.rule for mark in open_rules.marks_in('@pytest.mark.rule("RK-4", "RK-7")\ndef test_it(): ...')] == [
        "RK-4",
        "RK-7",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.rule()\ndef test_it(): ...",
        "@pytest.mark.rule(RULE)\ndef test_it(): ...",
        '@pytest.mark.rule("RK-40")\ndef test_it(): ...',
    ],
)
def test_a_mark_that_names_no_rule_is_a_fault(source):
    assert len(open_rules.faults(open_rules.marks_in(source, "test_a.py"), ["RK-4"])) == 1


def test_a_fault_says_where_it_stands():
    assert open_rules.faults([Mark("RK-40", "test_a.py:3")], ["RK-4"]) == ["test_a.py:3: RK-40"]

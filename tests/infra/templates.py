"""How tests look at a CloudFormation template: resources by type, policy statements, and references as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Template:
    body: Json

    @property
    def resources(self) -> dict[str, Json]:
        return self.body["Resources"]

    def of_type(self, type: str) -> dict[str, Json]:
        """Properties by logical id."""
        return {id: each.get("Properties", {}) for id, each in self.resources.items() if each["Type"] == type}

    def the(self, type: str, like: str = "") -> Json:
        """The properties of the one resource of the type whose logical id contains `like`."""
        found = [properties for id, properties in self.of_type(type).items() if like in id]
        assert len(found) == 1, f"{len(found)} of {type} like {like!r}"
        return found[0]

    def statements(self) -> Iterator[tuple[str, Json]]:
        """Each statement of a role's or user's policy, with the policy's logical id."""
        for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            for id, policy in self.of_type(kind).items():
                for statement in policy["PolicyDocument"]["Statement"]:
                    yield id, statement


@dataclass(frozen=True)
class Synthesised:
    dev: Template
    prod: Template
    report: Json  # of cdk-nag
    kept: set[tuple[str, str]]  # where, and which finding, `infra.review` keeps


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def text(value: Any) -> str:
    """A value with its references written out: `${Ref}`, `${Resource.Attribute}`."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"${{{name}}}"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"${{{name}.{attribute}}}"
        case {"Fn::Join": [separator, parts]}:
            return separator.join(map(text, parts))
        case _:
            return str(value)


def references(value: Any) -> Iterator[str]:
    """The logical ids that a value names."""
    match value:
        case {"Ref": name}:
            yield name
        case {"Fn::GetAtt": [name, *_]}:
            yield name
        case dict():
            for each in value.values():
                yield from references(each)
        case list():
            for each in value:
                yield from references(each)

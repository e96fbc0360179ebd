"""Python values as DynamoDB's attribute values and back, and conditions as its expressions. No call is made here.

Written by hand because boto3's `TypeSerializer` takes no floats and gives `Decimal` back.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ..domain.ports import Absent, AllOf, Condition, Equals, Item, Key
from .limits import RESERVED

Attribute = dict[str, Any]  # {"S": "text"}
Attributes = dict[str, Attribute]


def to_attribute(value: Any) -> Attribute:
    """A value that `limits` let through. Floats go by `repr`, which reads back as the very same float."""
    if isinstance(value, str):
        return {"S": value}
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return {"N": _digits(value)}
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, dict):
        return {"M": {name: to_attribute(inner) for name, inner in value.items()}}
    return {"L": [to_attribute(inner) for inner in value]}


def _digits(value: int | float) -> str:
    # 1e25 is not 10**25: a whole float is sent with the digits of the integer that it equals.
    return repr(value) if isinstance(value, float) and not value.is_integer() else str(int(value))


def from_attribute(attribute: Attribute) -> Any:
    """The value; a whole number is an int."""
    ((kind, value),) = attribute.items()
    match kind:
        case "N":
            return _number(value)
        case "NULL":
            return None
        case "M":
            return {name: from_attribute(inner) for name, inner in value.items()}
        case "L":
            return [from_attribute(inner) for inner in value]
        case _:
            return value


def _number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        exact = Decimal(digits)  # DynamoDB may write 1E+20
        return int(exact) if exact == exact.to_integral_value() else float(digits)


def to_key(key: Key) -> Attributes:
    return {"pk": {"S": key.partition}, "sk": {"S": key.sort}}


def to_attributes(key: Key, item: Item) -> Attributes:
    return to_key(key) | {name: to_attribute(value) for name, value in item.items()}


def from_attributes(attributes: Attributes) -> Item:
    """The item without its key and its writer."""
    return {name: from_attribute(value) for name, value in attributes.items() if name not in RESERVED}


def condition_arguments(condition: Condition | None) -> dict[str, Any]:
    """The part of a request that states the condition, and asks for the item that stands there if it fails."""
    if condition is None:
        return {}
    names: dict[str, str] = {}
    values: Attributes = {}
    arguments: dict[str, Any] = {
        "ConditionExpression": _expression(condition, names, values),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if names:
        arguments["ExpressionAttributeNames"] = names
    if values:
        arguments["ExpressionAttributeValues"] = values
    return arguments


def _expression(condition: Condition, names: dict[str, str], values: Attributes) -> str:
    if isinstance(condition, Absent):
        return "attribute_not_exists(pk)"
    equals = condition.conditions if isinstance(condition, AllOf) else (condition,)
    return " AND ".join(["attribute_exists(pk)", *(_equality(each, names, values) for each in equals)])


def _equality(equals: Equals, names: dict[str, str], values: Attributes) -> str:
    name, value = f"#c{len(names)}", f":c{len(names)}"
    names[name] = equals.attribute
    if equals.value is None:
        values[value] = {"S": "NULL"}
        return f"(attribute_not_exists({name}) OR attribute_type({name}, {value}))"
    values[value] = to_attribute(equals.value)
    return f"{name} = {value}"

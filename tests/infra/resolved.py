"""A synthesised template read as CloudFormation would: intrinsics are replaced by values of one invented account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

ACCOUNT, REGION, API_ID = "111122223333", "eu-central-1", "abcde12345"

_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": "stack",
    "AWS::URLSuffix": "amazonaws.com",
}
_ARNS = {  # by type: where a resource of that name lies; of the rest nothing depends on it
    "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{{}}",
    "AWS::IAM::Role": f"arn:aws:iam::{ACCOUNT}:role/{{}}",
    "AWS::Logs::LogGroup": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{{}}:*",
    "AWS::Lambda::Function": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{{}}",
    "AWS::StepFunctions::StateMachine": f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{{}}",
    "AWS::SQS::Queue": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{{}}",
}
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Resolved:
    template: Mapping[str, Any]

    @cached_property
    def resources(self) -> dict[str, dict[str, Any]]:
        """Type and properties by logical id, without intrinsics."""
        return {
            id: {"Type": raw["Type"], "Properties": self.resolved(raw.get("Properties", {}))}
            for id, raw in self.template["Resources"].items()
        }

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Properties by logical id."""
        return {id: each["Properties"] for id, each in self.resources.items() if each["Type"] == kind}

    def arn(self, id: str) -> str:
        kind = self.template["Resources"][id]["Type"]
        return _ARNS.get(kind, f"arn:aws:{kind.split('::')[1].lower()}:{REGION}:{ACCOUNT}:{{}}").format(id)

    def policies_of(self, role: str) -> list[Document]:
        """All documents of a role, by its logical id."""
        inline = [each["PolicyDocument"] for each in self.resources[role]["Properties"].get("Policies", [])]
        attached = self.of_type("AWS::IAM::Policy").values()
        return [*inline, *(each["PolicyDocument"] for each in attached if role in each["Roles"])]

    def tags_of(self, role: str) -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in self.resources[role]["Properties"].get("Tags", [])}

    def resolved(self, value: Any) -> Any:
        match value:
            case {"Ref": str(name)}:
                return self._ref(name)
            case {"Fn::GetAtt": [str(id), str(name)]}:
                return self._attribute(id, name)
            case {"Fn::Join": [str(between), list(parts)]}:
                return between.join(str(self.resolved(part)) for part in parts)
            case {"Fn::Select": [index, given]}:
                return self.resolved(given)[int(index)]
            case {"Fn::Split": [str(between), given]}:
                return self.resolved(given).split(between)
            case {"Fn::Sub": str(text)}:
                for name, known in _PSEUDO.items():
                    text = text.replace(f"${{{name}}}", known)
                return text
            case dict():
                return {key: self.resolved(each) for key, each in value.items()}
            case list():
                return [self.resolved(each) for each in value]
            case _:
                return value

    def _ref(self, name: str) -> str:
        if name in _PSEUDO:
            return _PSEUDO[name]
        match self.template["Resources"].get(name, {}).get("Type"):
            case "AWS::ApiGateway::RestApi":
                return API_ID
            case "AWS::ApiGateway::Stage":
                return str(self.template["Resources"][name]["Properties"]["StageName"])
            case "AWS::Lambda::Alias":
                return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}:live"
            case "AWS::Lambda::Version":
                return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}:1"
            case "AWS::StepFunctions::StateMachine":
                return self.arn(name)
            case _:
                return name

    def _attribute(self, id: str, name: str) -> str:
        if name == "Arn":
            return self.arn(id)
        if name == "Name":
            return id
        return f"{self.arn(id)}/stream/1" if name == "StreamArn" else f"{id}.{name}"


def statements(document: Document) -> list[dict[str, Any]]:
    """Its statements, with actions and resources as lists."""
    found = document["Statement"]
    return [_listed(each) for each in (found if isinstance(found, list) else [found])]


def _listed(statement: Mapping[str, Any]) -> dict[str, Any]:
    as_lists = {
        key: given if isinstance(given, list) else [given]
        for key, given in statement.items()
        if key in ("Action", "Resource")
    }
    return {**statement, **as_lists}

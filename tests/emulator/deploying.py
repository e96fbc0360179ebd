"""Puts a synthesised stack into the emulator as `cdk deploy` does: its assets into the bootstrap's bucket, then its
template to CloudFormation. What is changed before is all in `fitted`."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from .process import REGION, Emulator

STACK_TIMEOUT_S = 300
FUNCTION_TIMEOUT_S = 300  # a cold start on a machine that does much else


@dataclass(frozen=True)
class Deployed:
    """api: where `/v1` begins. outputs: of the stack. functions: their names by the folder of their handler."""

    emulator: Emulator
    name: str
    api: str
    outputs: Mapping[str, str]
    functions: Mapping[str, str]

    def invoke(self, function: str) -> dict[str, Any]:
        answer = self.emulator.client("lambda").invoke(FunctionName=f"{self.functions[function]}:live", Payload=b"{}")
        said = answer["Payload"].read()
        assert "FunctionError" not in answer, said
        body: dict[str, Any] = json.loads(said)
        return body

    def logged(self) -> list[str]:
        """Every line that the functions have logged."""
        logs = self.emulator.client("logs")
        groups = [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]]
        pages = (page for group in groups for page in _pages(logs, group))
        return [event["message"] for page in pages for event in page["events"]]

    def destroy(self) -> None:
        cloudformation = self.emulator.client("cloudformation")
        cloudformation.delete_stack(StackName=self.name)
        assert _settled(cloudformation, self.name) in ("DELETE_COMPLETE", None)


def _pages(logs: Any, group: str) -> Iterator[dict[str, Any]]:
    return iter(logs.get_paginator("filter_log_events").paginate(logGroupName=group))


def deploy(emulator: Emulator, assembly: Path, name: str, *, layer: Path, environment: Mapping[str, str]) -> Deployed:
    """assembly: the folder `cdk.out`. layer: in place of the stack's own. environment: of the functions, besides."""
    bucket = _bootstrapped(emulator)
    _upload(emulator, bucket, assembly, name, layer)
    template = fitted(json.loads((assembly / f"{name}.template.json").read_text("utf-8")), environment)
    emulator.client("s3").put_object(Bucket=bucket, Key=f"{name}.json", Body=json.dumps(template).encode())
    cloudformation = emulator.client("cloudformation")
    url = f"{emulator.url}/{bucket}/{name}.json"
    cloudformation.create_stack(StackName=name, TemplateURL=url, Capabilities=["CAPABILITY_IAM"])
    status = _settled(cloudformation, name)
    assert status == "CREATE_COMPLETE", _failures(cloudformation, name)
    (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
    api_id, stage = outputs["Url"].removeprefix("https://").split("/")[:2]
    api = f"{emulator.url}/restapis/{api_id.partition('.')[0]}/{stage}/_user_request_"
    return Deployed(emulator, name, api, outputs, _functions(emulator))


def fitted(template: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """For the emulator: the domain's own roles are left out, since the node has no security plugin; the functions are
    told of this machine's node and model, and given time."""
    resources = {
        id: each for id, each in template["Resources"].items() if each["Type"] != "AWS::CloudFormation::CustomResource"
    }
    for each in resources.values():
        if each["Type"] == "AWS::Lambda::Function" and "Environment" in each["Properties"]:
            each["Properties"]["Environment"]["Variables"] |= environment
            each["Properties"]["Timeout"] = FUNCTION_TIMEOUT_S
    return {**template, "Resources": resources}


def _bootstrapped(emulator: Emulator) -> str:
    account = emulator.client("sts").get_caller_identity()["Account"]
    bucket = f"cdk-hnb659fds-assets-{account}-{REGION}"
    emulator.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    version = {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": "30", "Type": "String"}
    emulator.client("ssm").put_parameter(**version)
    return bucket


def _upload(emulator: Emulator, bucket: str, assembly: Path, name: str, layer: Path) -> None:
    s3 = emulator.client("s3")
    manifest = json.loads((assembly / f"{name}.assets.json").read_text("utf-8"))
    for asset in manifest["files"].values():
        if asset["source"]["packaging"] == "zip":
            is_layer = asset["displayName"].endswith("/Layer/Code")
            body = _zipped(layer if is_layer else assembly / asset["source"]["path"])
            (destination,) = asset["destinations"].values()
            s3.put_object(Bucket=bucket, Key=destination["objectKey"], Body=body)


def _zipped(folder: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return out.getvalue()


def _settled(cloudformation: Any, name: str) -> str | None:
    """The state in which the stack stays; None: it is gone."""
    patience = Event()
    for _ in range(STACK_TIMEOUT_S * 5):
        try:
            status: str = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
        except cloudformation.exceptions.ClientError:
            return None
        if not status.endswith("_IN_PROGRESS"):
            return status
        patience.wait(0.2)
    raise AssertionError(f"{name} does not settle")


def _failures(cloudformation: Any, name: str) -> list[str]:
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    return [
        f"{each['LogicalResourceId']} ({each['ResourceType']}): {each.get('ResourceStatusReason')}"
        for each in events
        if "FAILED" in each["ResourceStatus"]
    ]


def _functions(emulator: Emulator) -> dict[str, str]:
    found = emulator.client("lambda").list_functions()["Functions"]
    handlers = {each["FunctionName"]: each["Handler"].split(".") for each in found}
    return {name: function for function, (package, name, *_) in handlers.items() if package == "functions"}

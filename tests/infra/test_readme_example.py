"""The README's example of grants runs as it stands, in a stack of one's own."""

import re
from pathlib import Path

import needs_node  # noqa: F401
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template as Assertions
from templates import Template

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_the_readmes_grants_give_each_of_its_roles_something():
    (example,) = [text for text in re.findall(r"^```python\n(.*?)^```", README, re.M | re.S) if "grant_run" in text]
    stack = Stack(App(), "Own")
    names = dict.fromkeys(re.findall(r"grant_\w+\((\w+)", example))
    roles = {name: iam.Role(stack, name, assumed_by=iam.AccountRootPrincipal()) for name in names}
    exec(example, {"self": stack, **roles})
    template = Template(Assertions.from_stack(stack).to_json())
    granted = {ref["Ref"] for each in template.of_type("AWS::IAM::Policy").values() for ref in each["Roles"]}
    assert all(any(ref.startswith(name) for ref in granted) for name in names)

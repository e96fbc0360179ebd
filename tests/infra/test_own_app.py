"""An owner's own app: the construct in a stack of theirs, in a network, with their key, alarms and roles."""

from dataclasses import replace

import needs_node  # noqa: F401
import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template as Assertions
from templates import Template, listed, text

from infra.constructs.memory import AgentMemory
from infra.constructs.network import private_network
from infra.grants import ALL
from infra.roles import MAINTENANCE
from infra.stages import PROD

KEY = "arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555"
TOPIC = "arn:aws:sns:eu-central-1:111122223333:alarms"


@pytest.fixture(scope="module")
def own() -> Template:
    stack = Stack(App(), "Own")
    stage = replace(PROD, name="own", private=True, customer_key_arn=KEY, alarm_topic_arn=TOPIC)
    memory = AgentMemory(stack, "Memory", stage=stage, vpc=private_network(stack, "Network"))
    desk, operator = (iam.Role(stack, name, assumed_by=iam.AccountRootPrincipal()) for name in ("Desk", "Operator"))
    memory.grant_run(desk, agents=["support"])
    memory.grant_select(desk, agents=["support"])
    memory.grant_update(desk, agents=["support"])
    memory.grant_insert(desk, agents=["support"])
    memory.grant_configure(desk, agents=["support"])
    memory.grant_operate(operator, agents=ALL)
    memory.grant_approve(operator)
    memory.grant_maintenance(operator)
    return Template(Assertions.from_stack(stack).to_json())


def test_everything_that_connects_lies_in_the_network(own):
    assert len(own.the("AWS::OpenSearchService::Domain")["VPCOptions"]["SubnetIds"]) == 3
    assert all("VpcConfig" in function for function in own.of_type("AWS::Lambda::Function").values())
    services = [text(each["ServiceName"]) for each in own.of_type("AWS::EC2::VPCEndpoint").values()]
    for name in (".dynamodb", ".s3", ".bedrock-runtime", ".states", ".xray"):
        assert any(service.endswith(name) for service in services)
    assert own.of_type("AWS::EC2::NatGateway") == {}


def test_the_owners_key_encrypts_tables_and_domain_and_is_used_through_dynamodb_alone(own):
    tables = own.of_type("AWS::DynamoDB::Table").values()
    assert {text(table["SSESpecification"]["KMSMasterKeyId"]) for table in tables} == {KEY}
    assert own.the("AWS::OpenSearchService::Domain")["EncryptionAtRestOptions"]["KmsKeyId"] == KEY
    using = [s for _, s in own.statements() if any(action.startswith("kms:") for action in listed(s["Action"]))]
    assert using
    assert all("kms:ViaService" in s["Condition"]["StringEquals"] for s in using)


def test_every_alarm_tells_the_owners_topic(own):
    assert {str(alarm["AlarmActions"]) for alarm in own.of_type("AWS::CloudWatch::Alarm").values()} == {str([TOPIC])}


def test_only_who_is_given_maintenance_reaches_table_and_domain_beside_the_functions(own):
    reaching = {
        id for id, s in own.statements() if any(a.startswith(("dynamodb:", "es:")) for a in listed(s["Action"]))
    }
    assert {id for id in reaching if not id.startswith("Memory")} == {
        id for id in own.of_type("AWS::IAM::Policy") if id.startswith("Operator")
    }
    verbs = {a for id, s in own.statements() if id.startswith("Operator") for a in listed(s["Action"])}
    assert {f"dynamodb:{verb}" for verb in MAINTENANCE.memory} <= verbs
    roles = text(own.the("AWS::CloudFormation::CustomResource")["Roles"])
    assert roles.partition("agent_memory_index")[2].count("${Operator") == 2


def test_a_desk_that_selects_and_updates_holds_a_tag_for_each_part(own):
    tags = {tag["Key"].rpartition("/")[2] for tag in own.the("AWS::IAM::Role", "Desk")["Tags"]}
    assert tags == {"RUN", "SELECT-indexes", "SELECT-document", "UPDATE", "INSERT", "CONFIGURE"}

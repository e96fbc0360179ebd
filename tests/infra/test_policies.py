"""What roles may do: verbs one by one, on resources by name."""

import needs_node  # noqa: F401
import pytest
from templates import listed, text

from infra.roles import NEEDS
from infra.stages import DEV

WITHOUT_RESOURCE = {
    *("xray:GetSamplingRules", "xray:GetSamplingTargets", "xray:PutTelemetryRecords", "xray:PutTraceSegments"),
    *(f"logs:{verb}LogDelivery" for verb in ("Create", "Delete", "Get", "Update")),
    *("logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:ListLogDeliveries", "logs:PutResourcePolicy"),
}
"""Actions for which IAM knows no resource."""


def test_no_statement_has_an_asterisk_as_action_or_where_a_resource_has_a_name(template):
    for id, statement in template.statements():
        actions = listed(statement["Action"])
        assert all("*" not in action for action in actions), id
        if "*" in listed(statement["Resource"]):
            assert set(actions) <= WITHOUT_RESOURCE, id


@pytest.mark.rule("GR-2")
def test_nobody_may_scan_a_table(template):
    assert all("Scan" not in str(statement) for _, statement in template.statements())


@pytest.mark.rule("GR-2")
@pytest.mark.parametrize("name", sorted(NEEDS))
def test_a_function_may_do_what_the_table_of_roles_says_and_no_more(dev, name):
    tables, searches, models, executions = {}, set(), set(), set()
    for id, statement in dev.statements():
        if f"Memory{name.title()}Role" not in id:
            continue
        for action in listed(statement["Action"]):
            service, _, verb = action.partition(":")
            resources = [text(each) for each in listed(statement["Resource"])]
            if service == "dynamodb" and not any("stream" in each.lower() for each in resources):
                for each in resources:  # two where both tables are open to the same verbs
                    tables.setdefault("memory" if "TablesMemory" in each else "execution", set()).add(verb)
            searches |= {verb for each in resources if service == "es" and each.endswith("/_msearch")}
            models |= {(verb, each.rpartition("/")[2]) for each in resources if service == "bedrock"}
            executions |= {(verb, each) for each in resources if service == "states"}
    needs = NEEDS[name]
    assert tables.get("memory", set()) == set(needs.memory)
    assert tables.get("execution", set()) == set(needs.execution)
    assert searches == ({"ESHttpPost"} if needs.searches else set())
    assert models == {
        *([("InvokeModel", DEV.embedder_model)] if needs.embeds else []),
        *([("InvokeModel", DEV.reviewer_model)] if needs.reviews else []),
    }
    assert {verb for verb, _ in executions} == ({"StartExecution"} if needs.ends else set())
    assert all("TurnEndMachine" in arn for _, arn in executions)


def test_only_functions_and_services_of_the_stack_take_on_its_roles(template):
    for role in template.of_type("AWS::IAM::Role").values():
        for statement in role["AssumeRolePolicyDocument"]["Statement"]:
            assert set(statement["Principal"]) == {"Service"}


def test_cdk_nag_finds_nothing_but_what_is_kept_for_a_reason(synthesised):
    (report,) = synthesised.report["pluginReports"]
    assert report["violations"] == []
    assert all(len(each["reason"]) > 20 for each in report["suppressedViolations"])


def test_each_finding_that_is_kept_is_still_found(synthesised):
    (report,) = synthesised.report["pluginReports"]
    assert {
        (each["acknowledgedAt"], each["acknowledgedId"]) for each in report["suppressedViolations"]
    } == synthesised.kept

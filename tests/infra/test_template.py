"""What the templates of both stages say; of the interface, `test_api_template.py`."""

import json
import re
from graphlib import TopologicalSorter

import needs_node  # noqa: F401
import pytest
from templates import listed, references, text

from agent_memory.runtime import settings
from agent_memory.runtime.routes import ROUTES
from agent_memory.store.keys import EXPIRES, UNINDEXED
from infra.constructs.indexing import commit_filter
from infra.constructs.tables import TTL_ATTRIBUTE
from infra.roles import NEEDS


def functions(template):
    return {
        each["Handler"].split(".")[1]: each
        for each in template.of_type("AWS::Lambda::Function").values()
        if each["Handler"].startswith("functions.")
    }


# ------------------------------------------------------------ the whole


def test_the_resources_can_be_made_in_some_order(template):
    needs = {id: {*references(each), *listed(each.get("DependsOn", []))} for id, each in template.resources.items()}
    TopologicalSorter(needs).prepare()  # raises for a cycle


def test_two_stages_in_one_account_and_region_share_no_name(synthesised):
    named = (
        "DomainName",
        "PolicyName",
        "FunctionName",
        "RoleName",
        "TableName",
        "QueueName",
        "LogGroupName",
        "AlarmName",
    )

    def names(template):
        for each in template.resources.values():
            if each["Type"] != "AWS::IAM::Policy":  # inline: its name is its role's own affair
                given = {name: each.get("Properties", {}).get(name) for name in named}
                yield from (f"{each['Type']} {value}" for value in given.values() if isinstance(value, str))

    assert set(names(synthesised.dev)) & set(names(synthesised.prod)) == set()


def test_prod_keeps_what_it_holds_and_dev_leaves_nothing(synthesised):
    holding = ("AWS::DynamoDB::Table", "AWS::OpenSearchService::Domain", "AWS::Logs::LogGroup")
    for template, policy in ((synthesised.dev, "Delete"), (synthesised.prod, "Retain")):
        held = [each for each in template.resources.values() if each["Type"] in holding]
        assert {each["DeletionPolicy"] for each in held} == {policy}
    assert {each.get("DeletionPolicy", "Delete") for each in synthesised.dev.resources.values()} == {"Delete"}


# ------------------------------------------------------------ tables


def test_there_are_two_tables_on_demand_that_can_be_restored_for_35_days(template):
    tables = template.of_type("AWS::DynamoDB::Table")
    assert len(tables) == 2
    for table in tables.values():
        assert table["KeySchema"] == [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ]
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["TimeToLiveSpecification"] == {"AttributeName": EXPIRES, "Enabled": True}
        backup = table["PointInTimeRecoverySpecification"]
        assert backup == {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35}
        assert "TableName" not in table


def test_rows_are_removed_by_the_attribute_that_the_code_writes():
    assert TTL_ATTRIBUTE == EXPIRES


def test_only_the_memory_table_has_a_stream_and_it_carries_keys_alone(template):
    assert template.the("AWS::DynamoDB::Table", "Memory12")["StreamSpecification"] == {"StreamViewType": "KEYS_ONLY"}
    assert "StreamSpecification" not in template.the("AWS::DynamoDB::Table", "Execution")


def test_the_tables_of_prod_refuse_to_be_deleted(dev, prod):
    assert {each["DeletionProtectionEnabled"] for each in prod.of_type("AWS::DynamoDB::Table").values()} == {True}
    assert {each["DeletionProtectionEnabled"] for each in dev.of_type("AWS::DynamoDB::Table").values()} == {False}


# ------------------------------------------------------------ search


def test_the_domain_speaks_tls_only_and_encrypts_all(template):
    domain = template.the("AWS::OpenSearchService::Domain")
    assert domain["EngineVersion"] == "OpenSearch_2.19"
    assert domain["DomainEndpointOptions"]["EnforceHTTPS"] is True
    assert domain["DomainEndpointOptions"]["TLSSecurityPolicy"].startswith("Policy-Min-TLS-1-2")
    assert domain["EncryptionAtRestOptions"]["Enabled"] is True
    assert domain["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert {kind for kind, option in domain["LogPublishingOptions"].items() if option["Enabled"]} == {
        "SEARCH_SLOW_LOGS",
        "INDEX_SLOW_LOGS",
        "ES_APPLICATION_LOGS",
    }


def test_the_domain_has_one_master_role_and_no_users(template):
    options = template.the("AWS::OpenSearchService::Domain")["AdvancedSecurityOptions"]
    assert (options["Enabled"], options["InternalUserDatabaseEnabled"]) == (True, False)
    assert "SearchMaster" in text(options["MasterUserOptions"]["MasterUserARN"])


def test_the_domain_opens_paths_to_roles_and_to_nobody_else(template):
    statements = template.the("AWS::OpenSearchService::Domain")["AccessPolicies"]["Statement"]
    for statement in statements:
        assert all(text(each).endswith(".Arn}") for each in listed(statement["Principal"]["AWS"]))
        assert all(text(each).rpartition("/domain/")[2].count("/") >= 1 for each in listed(statement["Resource"]))
    readers = {text(each) for s in statements if "_msearch" in str(s) for each in listed(s["Principal"]["AWS"])}
    searching = {"Agents", "Recall", "Records", "Review", "Tools"}
    assert {name for name in searching if any(f"Memory{name}" in each for each in readers)} == searching
    assert len(readers) == len(searching)


def test_each_domain_role_is_mapped_to_the_functions_that_need_it(template):
    roles = text(template.the("AWS::CloudFormation::CustomResource")["Roles"])
    _, memories, history, index, maintenance = re.split("agent_memory_[a-z_]+", roles)
    assert [part.count(".Arn}") for part in (memories, history, index, maintenance)] == [5, 1, 2, 1]
    assert "MemoryTools" in history
    for alias, searching in (("memories", memories), ("history", history)):
        assert f'"index_patterns":["{alias}*"],"allowed_actions":["indices:data/read/search"]' in searching


def test_each_function_is_told_who_reviews_and_who_ends_turns_which_state_machine(template):
    for name, function in functions(template).items():
        told = function["Environment"]["Variables"]
        assert told[settings.REVIEWER] == settings.DEFAULT_REVIEWER
        assert ("TurnEndMachine" in text(told.get(settings.TURN_END))) == NEEDS[name].ends


def test_prod_spreads_the_domain_over_three_zones(prod):
    cluster = prod.the("AWS::OpenSearchService::Domain")["ClusterConfig"]
    assert cluster["ZoneAwarenessConfig"] == {"AvailabilityZoneCount": 3}
    assert (cluster["InstanceCount"], cluster["DedicatedMasterCount"]) == (3, 3)


# ------------------------------------------------------------ functions


@pytest.mark.rule("GR-2")
def test_each_function_has_a_role_of_its_own(template):
    roles = [text(each["Role"]) for each in functions(template).values()]
    assert len(set(roles)) == len(roles) == len(NEEDS)


def test_each_function_runs_on_arm_traced_and_logs_json_into_a_group_with_retention(template):
    for function in functions(template).values():
        assert function["Runtime"] == "python3.13"
        assert function["Architectures"] == ["arm64"]
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
        assert "SnapStart" not in function
        assert len(function["Layers"]) == 1
    assert all(group["RetentionInDays"] for group in template.of_type("AWS::Logs::LogGroup").values())


def test_the_functions_of_routes_answer_before_the_gateway_gives_up(template):
    serving = {route.function for route in ROUTES}
    assert max(functions(template)[name]["Timeout"] for name in serving) <= 29


def test_what_is_called_is_an_alias_of_a_version(template):
    aliases = template.of_type("AWS::Lambda::Alias")
    assert {alias["Name"] for alias in aliases.values()} == {"live"}
    for method in template.of_type("AWS::ApiGateway::Method").values():
        assert set(references(method["Integration"]["Uri"])) & aliases.keys()


def test_upkeep_of_prod_never_runs_twice_at_once(prod):
    assert functions(prod)["upkeep"]["ReservedConcurrentExecutions"] == 1
    assert "ReservedConcurrentExecutions" not in functions(prod)["turns"]


# ------------------------------------------------------------ indexing and upkeep


def test_the_stream_brings_the_inserts_of_unindexed_commits_alone(template):
    source = template.the("AWS::Lambda::EventSourceMapping")
    assert json.loads(source["FilterCriteria"]["Filters"][0]["Pattern"]) == commit_filter()
    assert commit_filter()["dynamodb"]["Keys"]["sk"]["S"] == [{"prefix": UNINDEXED}]


def test_a_batch_that_always_fails_is_split_bounded_and_told(template):
    source = template.the("AWS::Lambda::EventSourceMapping")
    assert source["BisectBatchOnFunctionError"] is True
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert 0 < source["MaximumRetryAttempts"] <= 10_000
    assert 0 < source["MaximumRecordAgeInSeconds"] < 24 * 3600
    assert "IndexingFailed" in text(source["DestinationConfig"]["OnFailure"]["Destination"])


def test_queues_are_encrypted_and_take_tls_only(template):
    queues = template.of_type("AWS::SQS::Queue")
    assert {queue["SqsManagedSseEnabled"] for queue in queues.values()} == {True}
    refusing = [
        statement
        for policy in template.of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}} and statement["Effect"] == "Deny"
    ]
    assert len(refusing) == len(queues) == 2


def test_upkeep_runs_every_five_minutes(template):
    schedule = template.the("AWS::Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "rate(5 minutes)"
    assert "DeadLetterConfig" in schedule["Target"]


# ------------------------------------------------------------ alarms


def test_every_alarm_says_what_to_do_and_stands_on_the_dashboard(template):
    alarms = template.of_type("AWS::CloudWatch::Alarm")
    assert all(len(alarm["AlarmDescription"]) > 40 for alarm in alarms.values())
    assert alarms.keys() <= set(references(template.the("AWS::CloudWatch::Dashboard")))


def test_every_function_and_queue_has_an_alarm(template):
    alarms = template.of_type("AWS::CloudWatch::Alarm").values()
    watched = {(alarm.get("MetricName"), name) for alarm in alarms for name in references(alarm.get("Dimensions", []))}
    for name in functions(template):
        for metric in ("Errors", "Throttles"):
            assert any(m == metric and f"Memory{name.title()}" in id for m, id in watched)
    for queue in template.of_type("AWS::SQS::Queue"):
        assert ("ApproximateNumberOfMessagesVisible", queue) in watched


def test_the_products_own_metrics_have_a_namespace_for_each_deployment(synthesised):
    spaces = [
        {
            alarm["Namespace"]
            for alarm in template.of_type("AWS::CloudWatch::Alarm").values()
            if "AWS/" not in alarm["Namespace"]
        }
        for template in (synthesised.dev, synthesised.prod)
    ]
    assert [len(each) for each in spaces] == [1, 1]
    assert spaces[0] != spaces[1]
    environment = functions(synthesised.dev)["index"]["Environment"]["Variables"]
    assert environment["AGENT_MEMORY_METRICS_NAMESPACE"] in spaces[0]

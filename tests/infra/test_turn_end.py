"""The state machine that reviews and commits turns: every course that an end can take, and what it and those who begin
it may do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import needs_node  # noqa: F401
import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template as Assertions
from evaluator import Request, evaluate, install
from granted import principal_of
from hypothesis import given
from hypothesis import strategies as st
from resolved import ACCOUNT, REGION, Resolved
from states import Execution, NoWayOn
from templates import Template, listed, references, text

from agent_memory.adapters.review_tasks import TIMEOUT_S
from agent_memory.domain.errors import Unavailable, Unreachable
from agent_memory.runtime import metrics
from infra.constructs.function import SIZES
from infra.constructs.memory import AgentMemory
from infra.constructs.turn_end import OF_LAMBDA, OUTSIDE, definition
from infra.models import may_call
from infra.stages import DEV

REVIEW, COMMIT = "arn:review", "arn:commit"
MACHINE = definition(REVIEW, COMMIT)
IDS = {"agent_id": "support", "turn_id": "01J00000000000000000000000"}
LAMBDA_LIMIT_S = 900

Outcome = str
"""`done`, `look again`, or the name of an error."""

MAY_PASS = [*OUTSIDE, *OF_LAMBDA]
OUTCOMES = st.sampled_from(["done", "look again", *MAY_PASS, "KeyError"])


def carried_out(reviews: list[Outcome], commits: list[Outcome]) -> Execution:
    """An execution in which the functions answer so, one call after the other, and are done with all that follow."""
    left = {REVIEW: list(reviews), COMMIT: list(commits)}

    def call(function: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        outcome = left[function].pop(0) if left[function] else "done"
        ids = {name: asked[name] for name in IDS}
        if function == REVIEW and outcome in ("done", "look again"):
            return ids
        if outcome in ("done", "look again"):
            # With a review that has failed `commit` never asks for another look (`operations/commit.py`).
            return {**ids, "look_again": outcome == "look again" and "review_failed" not in asked}
        raise type(outcome, (Exception,), {})

    return Execution(MACHINE, call)


def calls_of(execution: Execution) -> list[str]:
    return [function.removeprefix("arn:") for function, _ in execution.told]


# ---------------------------------------------------------------- its courses


@pytest.mark.rule("TU-2")
def test_a_turn_is_reviewed_and_committed() -> None:
    execution = carried_out([], [])
    execution.run(IDS)
    assert execution.told == [(REVIEW, IDS), (COMMIT, IDS)]


@pytest.mark.rule("TU-8")
def test_a_turn_whose_review_has_another_step_is_looked_at_again() -> None:
    execution = carried_out([], ["look again", "look again"])
    execution.run(IDS)
    assert calls_of(execution) == ["review", "commit"] * 3


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("error", MAY_PASS)
def test_a_review_that_is_not_answered_is_tried_four_times_and_the_turn_commits_without_it(error: str) -> None:
    execution = carried_out([error] * 9, [])
    execution.run(IDS)
    assert execution.told == [(REVIEW, IDS)] * 4 + [(COMMIT, {**IDS, "review_failed": True})]
    assert execution.pauses_s == [5, 20, 60]


@pytest.mark.rule("EX-6")
def test_a_review_that_is_answered_at_last_has_not_failed() -> None:
    execution = carried_out(["ReviewerUnavailable"] * 3, [])
    execution.run(IDS)
    assert execution.told[-1] == (COMMIT, IDS)


@pytest.mark.rule("EX-6")
def test_a_fault_of_ours_asks_no_model_again_and_keeps_no_turn_from_its_commit() -> None:
    execution = carried_out(["KeyError"], [])
    execution.run(IDS)
    assert execution.told == [(REVIEW, IDS), (COMMIT, {**IDS, "review_failed": True})]


def test_a_commit_that_the_store_does_not_take_is_tried_for_minutes_and_then_the_execution_fails() -> None:
    execution = carried_out([], ["StoreUnavailable"] * 9)
    with pytest.raises(NoWayOn, match="StoreUnavailable"):
        execution.run(IDS)
    assert calls_of(execution) == ["review"] + ["commit"] * 8
    assert sum(execution.pauses_s) > 120


@given(st.lists(OUTCOMES, max_size=12), st.lists(OUTCOMES, max_size=20))
def test_whatever_happens_a_turn_is_committed_or_its_commit_has_failed(
    reviews: list[Outcome], commits: list[Outcome]
) -> None:
    execution = carried_out(reviews, commits)
    try:
        assert execution.run({**IDS, "more": "of whoever began it"}).items() >= IDS.items()
        assert execution.walked[-1] == "Done"
    except NoWayOn:
        assert execution.walked[-1] in ("Commit", "CommitUnreviewed")
    unreviewed = [n for n, state in enumerate(execution.walked) if state == "CommitUnreviewed"]
    assert "Review" not in execution.walked[unreviewed[0] :] if unreviewed else True
    assert all(asked in (IDS, {**IDS, "review_failed": True}) for _, asked in execution.told)


# ---------------------------------------------------------------- what it says


def states() -> Iterator[Mapping[str, Any]]:
    yield from (state for state in MACHINE["States"].values() if state["Type"] == "Task")


def test_every_error_of_the_product_that_may_pass_is_tried_again() -> None:
    ours = {error.__name__ for error in Unavailable.__subclasses__()} - {Unreachable.__name__}
    assert ours == set(OUTSIDE)


def test_no_two_executions_try_again_at_one_moment() -> None:
    for state in states():
        assert [retry["JitterStrategy"] for retry in state["Retry"]] == ["FULL"]


@pytest.mark.rule("EX-2")
def test_a_review_has_time_for_two_questions_and_two_corrections_each_asked_twice() -> None:
    assert 2 * 2 * 2 * (TIMEOUT_S + 2) < SIZES["review"].timeout_s < LAMBDA_LIMIT_S


def test_a_step_is_given_up_after_its_function_was() -> None:
    for state in states():
        name = state["Parameters"]["FunctionName"].removeprefix("arn:")
        assert SIZES[name].timeout_s < state["TimeoutSeconds"] < MACHINE["TimeoutSeconds"]


# ---------------------------------------------------------------- in the template


def test_the_deployed_machine_is_this_one_over_the_live_functions(template: Template) -> None:
    machine = template.the("AWS::StepFunctions::StateMachine")
    said = json.loads(Resolved(template.body).resolved(machine["DefinitionString"]))
    arns = {state["Parameters"]["FunctionName"] for state in said["States"].values() if state["Type"] == "Task"}
    review, commit = sorted(arns, reverse=True)
    assert "ReviewLive" in review
    assert "CommitLive" in commit
    spelled = json.dumps(definition(review, commit))
    partition = next(iter(states()))["Resource"].split(":")[1]
    assert said == json.loads(spelled.replace(partition, "aws"))
    assert machine.get("StateMachineType", "STANDARD") == "STANDARD"


@pytest.mark.rule("IF-1")
def test_it_is_traced_and_logs_errors_without_what_it_was_given(template: Template) -> None:
    machine = template.the("AWS::StepFunctions::StateMachine")
    assert machine["TracingConfiguration"] == {"Enabled": True}
    logging = machine["LoggingConfiguration"]
    assert (logging["Level"], logging["IncludeExecutionData"]) == ("ERROR", False)


@pytest.mark.rule("GR-2")
def test_it_may_call_its_two_functions_and_nothing_else(template: Template) -> None:
    own = [statement for id, statement in template.statements() if "TurnEndRole" in id]
    named = [each for each in own if "*" not in listed(each["Resource"])]
    assert {action for each in named for action in listed(each["Action"])} == {"lambda:InvokeFunction"}
    called = [text(arn) for each in named for arn in listed(each["Resource"])]
    assert sorted("ReviewLive" in arn for arn in called) == [False, True]
    assert all("Live" in arn for arn in called)


def test_somebody_hears_of_an_end_that_fails_or_takes_an_hour_and_of_a_failed_review(template: Template) -> None:
    alarms = template.of_type("AWS::CloudWatch::Alarm").values()
    (machine,) = template.of_type("AWS::StepFunctions::StateMachine")
    watched = {alarm["MetricName"] for alarm in alarms if machine in references(alarm.get("Dimensions", []))}
    assert watched == {"ExecutionsFailed", "ExecutionsTimedOut"}
    assert metrics.REVIEWS_FAILED.name in {alarm["MetricName"] for alarm in alarms}


# ---------------------------------------------------------------- who may begin it


@pytest.mark.rule("GR-1", "GR-2")
def test_a_workflow_of_the_owners_begins_it_waits_for_it_and_may_nothing_else() -> None:
    install()
    stack = Stack(App(), "Own")
    memory = AgentMemory(stack, "Memory", stage=DEV)
    workflow = iam.Role(stack, "Workflow", assumed_by=iam.ServicePrincipal("states.amazonaws.com"))
    memory.grant_turn_end(workflow)
    deployed = Resolved(Assertions.from_stack(stack).to_json())
    (machine,) = (deployed.arn(id) for id in deployed.of_type("AWS::StepFunctions::StateMachine"))
    execution = f"{machine.replace(':stateMachine:', ':execution:')}:any"
    rule = f"arn:aws:events:{REGION}:{ACCOUNT}:rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"
    opened = {
        machine: ["states:StartExecution"],
        execution: ["states:DescribeExecution", "states:StopExecution"],
        rule: ["events:DescribeRule", "events:PutRule", "events:PutTargets"],
    }
    closed = {
        f"{machine}-2": ["states:StartExecution", "states:UpdateStateMachine"],
        machine: ["states:DeleteStateMachine", "states:DescribeStateMachine", "states:UpdateStateMachine"],
        execution: ["states:GetExecutionHistory"],
        execution.replace(":any", "-2:any"): ["states:DescribeExecution", "states:StopExecution"],
        f"{rule}2": ["events:PutRule", "events:PutTargets"],
    }
    (role,) = (id for id in deployed.of_type("AWS::IAM::Role") if id.startswith("Workflow"))
    roles = {role: principal_of(deployed, role)}
    asked = [
        [Request(role, action, arn) for arn, actions in each.items() for action in actions] for each in (opened, closed)
    ]
    assert all(evaluate(ACCOUNT, roles, asked[0]))
    assert not any(evaluate(ACCOUNT, roles, asked[1]))
    (policy,) = roles[role].policies
    assert len(policy["Statement"]) == len(opened)


# ---------------------------------------------------------------- the reviewer's model


@pytest.mark.rule("EX-8", "GR-2")
def test_a_profile_opens_itself_and_its_model_through_it_alone() -> None:
    by_profile, through_it = (each.to_statement_json() for each in may_call("eu.anthropic.claude-x-v1:0"))
    assert by_profile["Resource"].endswith(":inference-profile/eu.anthropic.claude-x-v1:0")
    assert through_it["Resource"].endswith(":bedrock:*::foundation-model/anthropic.claude-x-v1:0")
    condition = {"StringEquals": {"bedrock:InferenceProfileArn": by_profile["Resource"]}}
    assert (by_profile.get("Condition"), through_it["Condition"]) == (None, condition)
    (plain,) = (each.to_statement_json() for each in may_call("openai.gpt-oss-120b-1:0"))
    assert plain["Resource"].endswith("}::foundation-model/openai.gpt-oss-120b-1:0")
    assert "Condition" not in plain


@pytest.mark.rule("EX-8")
def test_where_rules_review_no_function_calls_a_model_for_it() -> None:
    stack = Stack(App(), "Rules")
    AgentMemory(stack, "Memory", stage=replace(DEV, reviewer="rules"))
    template = Template(Assertions.from_stack(stack).to_json())
    models = {text(s["Resource"]) for _, s in template.statements() if s["Action"] == "bedrock:InvokeModel"}
    assert [model.rpartition("/")[2] for model in models] == [DEV.embedder_model]

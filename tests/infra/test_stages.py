"""Settings: what is missing or contradicts is told by its name."""

from dataclasses import replace

import pytest

from infra.stages import DEV, PROD, SearchSize, StageError, Throttle, stage_named

CONTRADICTIONS = {
    "name": lambda: replace(DEV, name="Dev 1"),
    "backup_days": lambda: replace(DEV, backup_days=36),
    "log_days": lambda: replace(DEV, log_days=8),
    "retained, search.zones": lambda: replace(PROD, search=DEV.search),
    "concurrency": lambda: replace(DEV, concurrency={"recall": 0}),
    "customer_key_arn": lambda: replace(DEV, customer_key_arn="alias/mine"),
    "alarm_topic_arn": lambda: replace(DEV, alarm_topic_arn="arn:aws:sqs:eu-central-1:111122223333:q"),
    "embedder": lambda: replace(DEV, embedder="local", embedder_dimensions=1024),
    "reviewer": lambda: replace(DEV, reviewer="bedrock:"),
    "search.nodes": lambda: SearchSize(node_type="t3.small.search", nodes=2, zones=3, disk_gib=10),
    "search.managers": lambda: replace(PROD.search, managers=0, manager_type=None),
    "search.disk_gib": lambda: replace(DEV.search, disk_gib=5),
    "throttle": lambda: Throttle(rate=10, burst=10, method_rate=20, method_burst=10),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_setting_that_contradicts_is_refused_by_its_name(name):
    with pytest.raises(StageError, match=f"^{name}"):
        CONTRADICTIONS[name]()


@pytest.mark.parametrize("name", [None, "", "staging"])
def test_a_missing_or_unknown_stage_is_told_with_those_that_there_are(name):
    with pytest.raises(StageError, match=r"`stage`.*dev.*prod"):
        stage_named(name)


def test_what_belongs_to_an_account_comes_from_outside():
    topic = "arn:aws:sns:eu-central-1:111122223333:alarms"
    assert stage_named("prod", {"alarm_topic_arn": topic, "customer_key_arn": None}) == replace(
        PROD, alarm_topic_arn=topic
    )


@pytest.mark.parametrize("part", ["embedder", "reviewer"])
def test_a_server_that_needs_a_key_is_none_of_the_deployments(part):
    with pytest.raises(StageError, match=f"^{part}: .*bedrock:<model>.*no key"):
        replace(DEV, **{part: "openai:https://models.example"})


@pytest.mark.rule("EX-8")
def test_the_reviewer_is_a_model_by_its_name_or_its_profiles_or_the_rules():
    assert DEV.reviewer_model
    for model in ("openai.gpt-oss-120b-1:0", "eu.anthropic.claude-haiku-4-5-20251001-v1:0"):
        assert replace(DEV, reviewer=f"bedrock:{model}").reviewer_model == model
    assert replace(DEV, reviewer="rules").reviewer_model is None


@pytest.mark.parametrize("spelled", ["bedrock:arn:aws:bedrock:eu-central-1::foundation-model/x", "bedrock:a*", "local"])
def test_a_reviewer_that_no_role_could_name_is_refused(spelled):
    with pytest.raises(StageError, match=r"^reviewer:"):
        replace(DEV, reviewer=spelled)

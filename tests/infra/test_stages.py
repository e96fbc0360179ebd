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


def test_a_server_that_needs_a_key_is_no_embedder_of_the_deployment():
    with pytest.raises(StageError, match="bedrock:<model>"):
        replace(DEV, embedder="openai:https://models.example")

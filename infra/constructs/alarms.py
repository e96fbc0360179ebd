"""What somebody should look at: an alarm for each thing that can go wrong, whose description says what to do, and one
dashboard that shows them all.

A metric that nobody wrote is no bad news (a stage without calls), but for upkeep's, which comes every 5 minutes.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from agent_memory.runtime import metrics
from infra.constructs.api import Api
from infra.constructs.function import MemoryFunction
from infra.constructs.search import Search
from infra.constructs.turn_end import TurnEnd
from infra.stages import StageSettings

PERIOD = Duration.minutes(5)

WHAT_TO_DO: Mapping[str, str] = {
    "IndexingLags": "The stream has waited 5 minutes for the index. Recalls stay right: they read along what waits. "
    "See SearchRed, SearchMemory and the log of index.",
    "Unindexed": "More than 1,000 commits wait for the index; a scope with more than 100 of them answers "
    "index_behind. See IndexingLags.",
    "OldestUnindexed": "A commit has waited half an hour for the index, or upkeep has not run for as long. See the "
    "logs of upkeep and of index.",
    "RefusedByIndex": "The index refused a record. It stays recallable from the table; the log of index names its id "
    "and the reason. Mend that, then rebuild the index.",
    "NotIndexable": "A fault of ours keeps commits from the index; they stay recallable from the table. The log of "
    "index names them and the fault.",
    "IndexingFailed": "Lambda gave up on a batch of the stream. Its commits still wait in the table and upkeep takes "
    "them up: read the cause in the log of index, then delete the message.",
    "UpkeepFailed": "The scheduler could not call upkeep. Read the cause in the message, run upkeep once, delete it.",
    "ServerErrors": "Five calls in five minutes were answered 5xx. The access log names the resource, and the "
    "function's log the cause by the same request_id.",
    "Slow": "One call in a hundred takes over 5 s. Compare function_ms in the access log with the traces; calls that "
    "ask to wait for a turn's end count as well.",
    "SearchStorage": "Less than a fifth of a search node's disk is free, and at a tenth it takes no writes: enlarge "
    "search.disk_gib of the stage and deploy.",
    "SearchMemory": "The heap of a search node is over 85 % full: take a larger search.node_type, or more nodes.",
    "SearchRed": "A part of the index is lost. Recalls come from the table, marked degraded: rebuild the index from "
    "it.",
    "TurnEndsFailed": "A turn could not be committed. Upkeep begins its end again within the hour. The log of commit "
    "names the fault, the execution's name begins with the turn.",
    "TurnEndsLate": "A turn has not come to its end within an hour. Upkeep goes on with it from the last step that "
    "went well; see the log of review for what takes so long.",
    "ReviewsFailed": "A turn is committed without its review; the next one reads what it said. The log of commit names "
    "the turn and why, GET …/turns?review=failed has all of them. Mend the cause; POST its review if it cannot wait.",
    "DegradedRecalls": "Ten recalls in five minutes did without the index or the model. Their degraded_reason says "
    "which: see the domain's alarms, or the model's quota.",
}
MODEL_ERRORS = 10  # a review that is not answered raises, and is tried again: ReviewsFailed tells of the last try
ERRORS = "{} ended without an answer: look for its ERROR lines, or a timeout, in its log."
THROTTLES = (
    "{} was refused instances: compare its concurrency with the account's quota, and look for a caller in a loop."
)


class Alarms(Construct):
    """queues: of what could not be processed, by the name of their alarm."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        stage: StageSettings,
        namespace: str,
        functions: Mapping[str, MemoryFunction],
        api: Api,
        search: Search,
        turn_end: TurnEnd,
        queues: Mapping[str, sqs.Queue],
    ) -> None:
        super().__init__(scope, id)
        self._namespace = namespace
        arn = stage.alarm_topic_arn
        self._topic = sns.Topic.from_topic_arn(self, "Topic", arn) if arn else None
        self.all: list[cloudwatch.Alarm] = []
        self._indexing(functions["index"])
        for name, queue in queues.items():
            waiting = queue.metric_approximate_number_of_messages_visible(period=PERIOD, statistic="Maximum")
            self._alarm(name, waiting, 1)
        self._api(api)
        self._search(search, disk_mib=stage.search.disk_gib * 1024)
        self._turn_end(turn_end)
        self._alarm("DegradedRecalls", self._own(metrics.DEGRADED, "Sum"), 10)
        for name, function in functions.items():
            self._function(name, function)
        self._dashboard()

    def _indexing(self, index: MemoryFunction) -> None:
        age_ms = index.callable.metric("IteratorAge", statistic="Maximum", period=PERIOD)
        self._alarm("IndexingLags", age_ms, 5 * 60 * 1000)
        self._alarm("Unindexed", self._own(metrics.UNINDEXED, "Maximum"), 1000, times=3)
        self._alarm("OldestUnindexed", self._own(metrics.OLDEST_UNINDEXED, "Minimum"), 1800, times=6, silence=True)
        self._alarm("RefusedByIndex", self._own(metrics.REFUSED, "Sum"), 1)
        self._alarm("NotIndexable", self._own(metrics.BROKEN, "Sum"), 1)

    def _api(self, api: Api) -> None:
        self._alarm("ServerErrors", api.rest.metric_server_error(period=PERIOD, statistic="Sum"), 5)
        self._alarm("Slow", api.rest.metric_latency(period=PERIOD, statistic="p99"), 5000, times=3)

    def _search(self, search: Search, *, disk_mib: int) -> None:
        self._alarm("SearchStorage", _of_domain(search, "FreeStorageSpace", "Minimum"), disk_mib // 5, below=True)
        self._alarm("SearchMemory", _of_domain(search, "JVMMemoryPressure", "Maximum"), 85, times=3)
        self._alarm("SearchRed", _of_domain(search, "ClusterStatus.red", "Maximum"), 1)

    def _turn_end(self, turn_end: TurnEnd) -> None:
        self._alarm("TurnEndsFailed", turn_end.machine.metric_failed(period=PERIOD), 1)
        self._alarm("TurnEndsLate", turn_end.machine.metric_timed_out(period=PERIOD), 1)
        self._alarm("ReviewsFailed", self._own(metrics.REVIEWS_FAILED, "Sum"), 1)

    def _function(self, name: str, function: MemoryFunction) -> None:
        errors, throttles = f"{name.title()}Errors", f"{name.title()}Throttles"
        worth_a_look = MODEL_ERRORS if name == "review" else 1
        self._alarm(errors, function.callable.metric_errors(period=PERIOD), worth_a_look, told=ERRORS.format(name))
        self._alarm(throttles, function.callable.metric_throttles(period=PERIOD), 1, told=THROTTLES.format(name))

    def _own(self, metric: metrics.Metric, statistic: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(namespace=self._namespace, metric_name=metric.name, statistic=statistic, period=PERIOD)

    def _alarm(
        self,
        id: str,
        metric: cloudwatch.IMetric,
        threshold: float,
        *,
        told: str | None = None,
        times: int = 1,
        below: bool = False,
        silence: bool = False,
    ) -> None:
        """times: periods in a row. silence: no data is an alarm as well."""
        operator, treatment = cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            threshold=threshold,
            evaluation_periods=times,
            comparison_operator=operator.LESS_THAN_THRESHOLD if below else operator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=treatment.BREACHING if silence else treatment.NOT_BREACHING,
            alarm_description=told or WHAT_TO_DO[id],
        )
        if self._topic:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
        self.all.append(alarm)

    def _dashboard(self) -> None:
        """Each alarm's metric with its threshold, below the state of all."""
        board = cloudwatch.Dashboard(self, "Dashboard", default_interval=Duration.hours(12))
        board.add_widgets(cloudwatch.AlarmStatusWidget(alarms=self.all, width=24, height=4, title="Alarms"))
        board.add_widgets(*(cloudwatch.AlarmWidget(alarm=each, title=each.node.id, width=8) for each in self.all))


def _of_domain(search: Search, name: str, statistic: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/ES",
        metric_name=name,
        dimensions_map={"DomainName": search.name, "ClientId": Aws.ACCOUNT_ID},
        statistic=statistic,
        period=PERIOD,
    )

"""What the DynamoDB side makes of lost answers, contention and refusals, over a client whose calls fail as told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, NoCredentialsError, ReadTimeoutError
from table_fixtures import Fault, OneByOne, key, put

from agent_memory.adapters.dynamodb import DynamoDBTable
from agent_memory.domain.errors import ConditionFailed, StoreUnavailable
from agent_memory.domain.ports import Absent, Check, Equals, Put

LOST = ReadTimeoutError(endpoint_url="https://table.invalid")


def error(code: str, status: int = 400, **more: Any) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}, "Operation")


def cancelled(*codes: str) -> ClientError:
    return error("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


def raising(failure: Exception) -> Fault:
    """The request never arrives."""

    def fault(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        raise failure

    return fault


def lost_after(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The request is carried out, or refused, and nobody learns it."""
    with suppress(ClientError):
        call(**arguments)
    raise LOST


def passed(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    return call(**arguments)


@pytest.fixture
def table(dynamodb: OneByOne) -> DynamoDBTable:
    return DynamoDBTable("Memory", "Execution", dynamodb, attempts=4)


def test_a_commit_whose_answer_is_lost_is_a_success_and_sent_once(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    dynamodb.faults["transact_write_items"] = [lost_after]

    table.transact([Check(key("other"), Absent()), put(item={"v": 1}, condition=Absent())])

    assert dynamodb.calls.count("transact_write_items") == 1
    assert table.get(key()) == {"v": 1}


@pytest.mark.parametrize(
    "failure",
    [
        LOST,
        error("InternalServerError", 500),
        error("ThrottlingException"),
        error("TransactionInProgressException"),
        cancelled("None", "TransactionConflict"),
        cancelled("ConditionalCheckFailed", "TransactionConflict"),
        cancelled("ProvisionedThroughputExceeded", "None"),
        ConnectTimeoutError(endpoint_url="https://table.invalid"),
    ],
)
def test_a_commit_that_was_not_carried_out_is_tried_again(
    table: DynamoDBTable, dynamodb: OneByOne, failure: Exception
) -> None:
    dynamodb.faults["transact_write_items"] = [raising(failure), raising(failure)]

    table.transact([put(item={"v": 1}, condition=Absent()), put("b")])

    assert dynamodb.calls.count("transact_write_items") == 3
    assert table.get(key()) == {"v": 1}


def test_our_own_commit_is_no_conflict_when_it_shows_only_later(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    """The answer is lost, the commit still under way when we look for it, and carried out before we try again."""

    def slow(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        dynamodb.faults["get_item"] = [lambda look, at: {}]
        return lost_after(call, arguments)

    dynamodb.faults["transact_write_items"] = [slow]

    table.transact([put(item={"v": 1}, condition=Absent()), put("b", condition=Absent())])

    assert dynamodb.calls.count("transact_write_items") == 2
    assert table.get(key()) == {"v": 1}


def test_a_condition_that_failed_is_a_conflict_also_after_a_lost_answer(
    table: DynamoDBTable, dynamodb: OneByOne
) -> None:
    table.transact([put(item={"v": "theirs"})])
    dynamodb.faults["transact_write_items"] = [lost_after]

    with pytest.raises(ConditionFailed) as failure:
        table.transact([put(item={"v": "ours"}, condition=Absent())])

    assert failure.value.current == {0: {"v": "theirs"}}
    assert table.get(key()) == {"v": "theirs"}


def test_two_writers_who_both_lose_the_answer_are_told_apart(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    def overtaken(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Another process commits first; ours fails, and loses its answer."""
        theirs = DynamoDBTable("Memory", "Execution", dynamodb._client)
        theirs.transact([put(item={"n": 1, "by": "them"}, condition=Equals("n", 0))])
        return lost_after(call, arguments)

    table.transact([put(item={"n": 0})])
    dynamodb.faults["transact_write_items"] = [overtaken]

    with pytest.raises(ConditionFailed) as failure:
        table.transact([put(item={"n": 1, "by": "us"}, condition=Equals("n", 0))])

    assert failure.value.current == {0: {"n": 1, "by": "them"}}


def test_a_failed_condition_without_a_lost_answer_costs_no_further_call(
    table: DynamoDBTable, dynamodb: OneByOne
) -> None:
    table.transact([put()])
    dynamodb.calls.clear()

    with pytest.raises(ConditionFailed):
        table.transact([put(condition=Absent())])

    assert dynamodb.calls == ["transact_write_items"]


def test_a_table_that_stays_contended_is_unavailable(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    dynamodb.faults["transact_write_items"] = [raising(cancelled("TransactionConflict"))] * 4

    with pytest.raises(StoreUnavailable):
        table.transact([put()])

    assert dynamodb.calls.count("transact_write_items") == 4


@pytest.mark.parametrize(
    "failure",
    [error("ResourceNotFoundException"), error("AccessDeniedException"), NoCredentialsError()],
)
def test_what_does_not_get_better_is_unavailable_at_once(
    table: DynamoDBTable, dynamodb: OneByOne, failure: Exception
) -> None:
    dynamodb.faults |= {"get_item": [raising(failure)], "transact_write_items": [raising(failure)]}

    with pytest.raises(StoreUnavailable):
        table.get(key())
    with pytest.raises(StoreUnavailable):
        table.transact([put()])

    assert dynamodb.calls[-2:] == ["get_item", "transact_write_items"]


@pytest.mark.parametrize("failure", [LOST, error("InternalServerError", 500), error("ThrottlingException")])
def test_reads_are_tried_again(table: DynamoDBTable, dynamodb: OneByOne, failure: Exception) -> None:
    table.transact([put(item={"v": 1})])
    dynamodb.faults |= {name: [raising(failure)] for name in ("get_item", "batch_get_item", "query")}

    assert table.get(key()) == {"v": 1}
    assert table.get_many([key()]) == {key(): {"v": 1}}
    assert table.query("memory", "p") == [(key(), {"v": 1})]


def test_an_increment_is_tried_again_and_may_leave_a_gap(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    dynamodb.faults["update_item"] = [raising(error("ThrottlingException")), lost_after]

    assert table.increment(key(), {"seq": 1}) == {"seq": 2}


def test_keys_that_were_left_unprocessed_are_asked_for_again(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    table.write_many([put(f"{n}", {"n": n}) for n in range(4)])

    def half(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        asked = arguments["RequestItems"]["Memory"]
        now, later = asked["Keys"][:2], asked["Keys"][2:]
        answer = call(RequestItems={"Memory": asked | {"Keys": now}})
        return answer | {"UnprocessedKeys": {"Memory": asked | {"Keys": later}}}

    def none(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        return {"Responses": {}, "UnprocessedKeys": arguments["RequestItems"]}

    dynamodb.faults["batch_get_item"] = [half, none]

    keys = [key(f"{n}") for n in range(4)]
    assert table.get_many(keys) == {each: {"n": n} for n, each in enumerate(keys)}


def test_writes_that_were_left_unprocessed_are_sent_again(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    def half(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        asked = arguments["RequestItems"]["Memory"]
        call(RequestItems={"Memory": asked[:2]})
        return {"UnprocessedItems": {"Memory": asked[2:]}}

    dynamodb.faults["batch_write_item"] = [half, raising(LOST), passed]

    table.write_many([put(f"{n}") for n in range(4)])

    assert len(table.query("memory", "p")) == 4


def test_every_read_is_consistent_and_no_token_of_ours_is_sent(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    sent: list[dict[str, Any]] = []

    def seen(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        sent.append(arguments)
        return call(**arguments)

    dynamodb.faults |= {name: [seen] for name in ("get_item", "batch_get_item", "query", "transact_write_items")}
    table.transact([Put(key(), {"v": 1}), Put(key("e", table="execution"), {})])
    table.get(key())
    table.get_many([key(), key("e", table="execution")])
    table.query("memory", "p", newest_first=True)

    transaction, get, batch, query = sent
    assert "ClientRequestToken" not in transaction
    reads = [get, query, *batch["RequestItems"].values()]
    assert [read["ConsistentRead"] for read in reads] == [True] * 4
    assert [bool(action["Put"]["Item"].get("writer")) for action in transaction["TransactItems"]] == [True, False]


def test_an_error_tells_no_text_of_the_item(table: DynamoDBTable, dynamodb: OneByOne) -> None:
    refusal = error("ValidationException")
    refusal.response["Error"]["Message"] = "invalid value: a private sentence"
    dynamodb.faults["transact_write_items"] = [raising(refusal)]

    with pytest.raises(ValueError) as failure:
        table.transact([put(item={"text": "a private sentence"})])

    assert "private" not in str(failure.value)

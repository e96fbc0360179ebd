"""What each route costs in round trips. A call that is added to one fails here, on both editions."""

import pytest
from http_api import EVERY_SCOPE, Api, ok
from world import with_services

from agent_memory.domain.messages import UserMessage
from agent_memory.local.gateway import Gateway
from agent_memory.operations.end import end
from agent_memory.operations.execution import read_execution
from agent_memory.operations.judge import judge
from agent_memory.operations.memories import list_memories
from agent_memory.operations.messages import add_messages
from agent_memory.operations.record_filters import Filters
from agent_memory.operations.sessions import list_sessions
from agent_memory.operations.turn_list import TurnFilters, list_turns
from agent_memory.operations.usage import usage
from agent_memory.runtime import wiring
from agent_memory.store.agents import Agents
from agent_memory.store.calls import Calls
from agent_memory.store.receipts import Receipts
from agent_memory.store.records import Records
from agent_memory.store.sessions import Sessions
from agent_memory.store.turns import Turns

EVERYWHERE = [*EVERY_SCOPE, "platform"]


class Counting:
    """A port that writes down the names of the calls it passes on."""

    def __init__(self, inner, calls):
        self._inner, self._calls = inner, calls

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found) or name == "knows":  # asks nobody
            return found

        def call(*args, **kwargs):
            self._calls.append(name)
            return found(*args, **kwargs)

        return call


@pytest.fixture
def counted(world):
    """The world with a list of every call of a port."""
    calls = []
    table = Counting(world.table, calls)
    counting = with_services(
        world,
        agents=Agents(table),
        records=Records(table),
        turns=Turns(table),
        sessions=Sessions(table),
        calls=Calls(table),
        receipts=Receipts(table),
        index=Counting(world.index, calls),
        embedder=Counting(world.services.embedder, calls),
    )
    return counting, calls


def warm(world, **turn):
    """An agent with indexed records, and an open turn of it, whose configuration this process has read."""
    agent = world.configure()
    for n in range(3):
        world.remember(agent, f"Invoice {n}.", turn=turn)
    world.index_all()
    begun = world.begin(agent, **turn)
    begun.search()
    return begun


BEFORE = ["get", "get", "query"]  # a commit: the turn; what of its session no review has read; what is staged


def ending(turn, outcome="completed"):
    return lambda: end(turn.world.services, turn.agent, turn.id, outcome=outcome)


def calls_of(calls, action):
    calls.clear()
    action()
    return list(calls)


@pytest.mark.rule("RK-5", "RK-8")
@pytest.mark.parametrize(("who", "places"), [({}, 2), ({"user_id": "u", "workflow_id": "w"}, 4)])
def test_a_recall_is_one_entry_one_look_around_one_search_one_read_and_one_write(counted, who, places):
    world, calls = counted
    turn = warm(world, **who)
    made = calls_of(calls, lambda: turn.recall("invoice"))
    # One after the other are only: the entry; what is asked and known; the search; the records found; the recording.
    assert made == ["increment", *around(places), "search", "get_many", "write_many"]


def around(places, *, conversation=("get_many",)):
    """At once: the query is embedded; what the turn has staged is read, and the board of each place with what is not
    indexed there, of platform too, since its constraints bind; and what the conversation was shown."""
    return ["embed", *["query"] * (1 + places + 1), *conversation]


def test_records_that_are_not_indexed_yet_cost_a_recall_one_more_read(counted):
    world, calls = counted
    turn = warm(world)
    world.remember(turn.agent, "Invoice of today.")
    made = calls_of(calls, lambda: turn.recall("invoice"))
    assert made == ["increment", *around(2), "get_many", "search", "get_many", "write_many"]  # beside the search


def test_boards_cost_a_recall_one_read_beside_the_search_and_keys_one_more(counted):
    world, calls = counted
    agent = world.configure(memory={"pinned": {"max_tokens": 500}, "kinds": ["fact", "constraint"]})
    world.remember(agent, "Refunds need approval.", kind="constraint", scope="agent", memory_key="refund")
    world.remember(agent, "Speaks Dutch.", pinned=True)
    keyed = world.remember(agent, "Invoices by post.", memory_key="invoice")
    world.index_all()
    turn = world.begin(agent)
    turn.search()
    recalled = []
    made = calls_of(calls, lambda: recalled.append(turn.recall("post")))
    assert keyed in [item["id"] for item in recalled[0]["memories"]]
    assert (len(recalled[0]["constraints"]), len(recalled[0]["pinned"])) == (1, 1)
    keys = ["get_many"]  # who holds the keys of what was found, in each place
    assert made == ["increment", *around(2), "get_many", "search", "get_many", *keys, "write_many"]


def test_a_recall_that_shows_nothing_new_writes_what_embedding_cost_and_no_more(counted):
    world, calls = counted
    turn = warm(world)
    turn.recall("invoice")
    again = []
    made = calls_of(calls, lambda: again.append(turn.recall("invoice")))
    assert again[0]["recorded"] is False
    assert made == ["increment", *around(2), "search", "get_many", "write_many"]
    blank = calls_of(calls, lambda: turn.recall(" "))
    assert blank == ["increment", *around(2)[1:]]


def test_a_preview_turn_reads_of_each_place_what_preview_saved_there_and_what_it_hides(counted):
    world, calls = counted
    turn = warm(world)
    tried = world.begin(turn.agent, preview=True)
    made = calls_of(calls, lambda: tried.recall("invoice"))
    staged, hidden, boards = ["query"], ["query"] * 2, ["query"] * (2 * 2 + 2)  # platform has both places too
    assert made == ["increment", "embed", *staged, *hidden, *boards, "get_many", "search", "get_many", "write_many"]


def test_a_search_of_a_tool_costs_what_a_recall_costs(counted):
    world, calls = counted
    turn = warm(world)
    made = calls_of(calls, lambda: turn.search("invoice"))
    assert made == ["increment", *around(2, conversation=()), "search", "get_many", "write_many"]


def test_a_list_reads_one_page_of_each_place(counted):
    world, calls = counted
    turn = warm(world)
    board = ["get_many"]  # of platform, whose constraints bind; there are none
    assert calls_of(calls, turn.search) == ["increment", "query", *board, *["query"] * 2, "write_many"]


@pytest.mark.rule("GR-3")
def test_ranking_all_of_an_agent_costs_the_same_however_many_places_it_has(counted):
    world, calls = counted
    agent = world.configure()
    lists = 8 + 1  # of all that is not indexed, in its shards; of what the index refused of this agent
    for n in range(5):
        world.remember(agent, f"Invoice {n}.", f"s{n}")
        world.index_all()
        made = calls_of(calls, lambda: list_memories(world.services, agent, Filters(), query="invoice"))
        # After the configuration and what is read ahead: the search, where the records lie, and the records.
        assert made == ["query", "embed", *["query"] * lists, "search", "get_many", "get_many"]


@pytest.mark.rule("GR-3")
def test_ranking_the_places_of_one_session_costs_a_query_for_each(counted):
    world, calls = counted
    agent = world.configure()
    world.remember(agent, "Invoice.")
    world.index_all()
    filters = Filters(session_id="s1")
    made = calls_of(calls, lambda: list_memories(world.services, agent, filters, query="invoice", explain=True))
    assert made == ["query", "embed", "query", "query", "search", "get_many", "get_many"]


def test_a_list_that_few_records_match_reads_pages_that_grow(counted):
    world, calls = counted
    agent = world.configure()
    wanted = world.remember(agent, "An event.", kind="event")
    for _ in range(5):
        turn = world.begin(agent)
        for n in range(14):
            turn.add(f"Fact {n} of turn {turn.id}.")
        turn.commit()
    turn, found = world.begin(agent), []
    made = calls_of(calls, lambda: found.extend(turn.search(kind="event")))
    assert found == [wanted]
    pages = 3 + 1  # 20, 40, 11 of 80 in the session; none of the agent
    assert made == ["increment", "query", "get_many", *["query"] * pages, "write_many"]


def test_saving_is_staged_in_one_transaction_with_its_execution(counted):
    world, calls = counted
    turn = warm(world)
    made = calls_of(calls, lambda: turn.add("Something new."))
    assert made == ["increment", "query", "embed", "query", "transact"]  # what is staged; equal records


def test_a_commit_is_one_transaction_however_much_it_changes(counted):
    world, calls = counted
    for changes in (0, 1, 14):
        turn = warm(world)
        for n in range(changes):
            turn.add(f"Fact {n}.")
        # Behind the commit, at once: what was staged is taken away, and what recalls showed is looked for.
        behind = ["write_many", "query"] if changes else ["query"]
        assert calls_of(calls, ending(turn)) == [*BEFORE, "transact", *behind]
    turn = warm(world)
    turn.add("One that replaces.", replaces=world.remember(turn.agent, "One that goes."))
    assert calls_of(calls, ending(turn)) == [*BEFORE, "get_many", "transact", "write_many", "query"]


def test_keys_pins_and_constraints_are_read_with_what_a_commit_replaces(counted):
    world, calls = counted
    agent = world.configure(memory={"pinned": {"max_tokens": 500}, "kinds": ["fact", "constraint"]})
    world.remember(agent, "Invoices by fax.", memory_key="invoice")
    world.remember(agent, "Speaks Dutch.", pinned=True)
    turn = world.begin(agent)
    turn.add("Invoices by post.", memory_key="invoice", pinned=True)
    turn.add("Refunds need approval.", kind="constraint", scope="agent")
    # The holder of the key and the boards; then the records that they name, which the pin is counted with.
    assert calls_of(calls, ending(turn)) == [*BEFORE, "get_many", "get_many", "transact", "write_many", "query"]


def test_what_a_turn_was_shown_moves_to_its_session_behind_the_commit(counted):
    world, calls = counted
    turn = warm(world)
    turn.recall("invoice")
    turn.recall("invoice", conversation="helper:h")
    kept = ["get", "transact"] * 2  # one for each conversation
    assert calls_of(calls, ending(turn)) == [*BEFORE, "transact", "query", *kept]


ENDED_FIRST = [*BEFORE, "transact"]
REVIEWED = ["get", "query"]  # the turn; what was said in it
COMMITTED = ["get", "query", "transact"]


@pytest.mark.rule("EX-2")
def test_a_review_that_proposes_nothing_reads_what_was_said_and_no_more(counted):
    world, calls = counted
    turn = said(warm(world), "How are you?")
    made = calls_of(calls, ending(turn))
    assert made == [*ENDED_FIRST, *REVIEWED, "transact", *COMMITTED, "query"]
    assert turn.state()["review"]["status"] == "done"


@pytest.mark.rule("EX-2")
def test_a_review_compares_what_it_proposes_as_a_search_does(counted):
    world, calls = counted
    turn = said(warm(world), "Please remember that invoices are sent by post.")
    made = calls_of(calls, ending(turn))
    # The new text is embedded to be compared, then to be kept: behind the cache of an edition that is one call of the
    # model. It is written beside the transaction, which makes it staged.
    compared = [*around(2, conversation=()), "search", "get_many"]
    kept = ["embed", "write_many", "transact"]
    assert made == [*ENDED_FIRST, *REVIEWED, *compared, *kept, *COMMITTED, "write_many", "query"]
    assert turn.state()["review"]["added"] == 1


def said(turn, text):
    add_messages(turn.world.services, turn.agent, turn.id, [UserMessage(role="user", text=text)])
    return turn


def test_beginning_reads_the_configuration_and_the_session_and_writes_once(counted):
    world, calls = counted
    agent = world.configure()
    for who in ({}, {"user_id": "u"}, {"user_id": "v"}):
        # The configuration; the session, and how many of its turns have committed; which of them are still ending.
        assert calls_of(calls, lambda who=who: world.begin(agent, **who)) == ["query", "get_many", "query", "transact"]


def test_a_judgement_is_one_entry_and_one_transaction(counted):
    world, calls = counted
    turn = warm(world)
    made = calls_of(calls, lambda: judge(world.services, turn.agent, turn.id, verdict="accepted"))
    assert made == ["increment", "transact"]


def test_an_execution_is_its_row_its_events_its_turn_and_the_records_they_name(counted):
    world, calls = counted
    turn = warm(world)
    id = turn.recall("invoice")["tool_execution_id"]
    made = calls_of(calls, lambda: read_execution(world.services, turn.agent, id))
    assert made == ["get", "get", "get", "get_many", "get_many"]


def test_a_page_of_turns_is_one_query_and_one_read_and_a_query_for_each_open_one(counted):
    world, calls = counted
    agent = world.configure()
    for _ in range(15):
        world.begin(agent).commit()
    world.begin(agent)
    page = lambda **filters: list_turns(world.services, agent, TurnFilters(**filters), limit=10)  # noqa: E731
    assert calls_of(calls, page) == ["query", "get_many", "query"]
    assert calls_of(calls, lambda: page(status="committed")) == ["query", "get_many"]
    assert calls_of(calls, lambda: page(session_id="another")) == ["query"]


def test_a_page_of_sessions_is_one_query_and_one_read(counted):
    world, calls = counted
    agent = world.configure()
    for n in range(15):
        world.begin(agent, f"s{n}", user_id="u")
    for filters in ({}, {"user_id": "u"}):
        made = calls_of(calls, lambda filters=filters: list_sessions(world.services, agent, limit=10, **filters))
        assert made == ["query", "get_many"]
    assert calls_of(calls, lambda: list_sessions(world.services, agent, session_id="s1")) == ["get"]


def test_usage_is_read_page_by_page(counted):
    world, calls = counted
    turn = warm(world)
    assert calls_of(calls, lambda: usage(world.services, turn.agent)) == ["query", "query"]


def test_a_turn_that_is_rolled_back_is_one_transaction_and_what_it_staged_is_taken_back(counted):
    world, calls = counted
    turn = warm(world)
    turn.add("Never mind.")
    assert calls_of(calls, ending(turn, "failed")) == ["get", "transact", "query", "write_many"]


def test_an_indexed_commit_costs_two_reads_one_write_of_the_index_and_one_of_the_table(counted):
    world, calls = counted
    agent = world.configure()
    turn = world.begin(agent)
    for n in range(10):
        turn.add(f"Fact {n}.", scope=("session", "agent")[n % 2])
    turn.commit()
    assert calls_of(calls, world.index_all) == ["get_many", "get_many", "apply", "write_many"]


@pytest.fixture
def api(counted):
    """The HTTP interface of the counted world: what handlers read besides counts too."""
    wiring.use(wiring.Wired(counted[0].services, "test"))
    yield Api(Gateway().app())
    wiring.use(None)


def test_over_http_no_route_costs_more_than_its_operation(counted, api):
    _, calls = counted
    agent = api.configure(memory={"search": {"mode": "hybrid", "min_score": -1}})
    path = f"/v1/agents/{agent}"
    said = {"messages": [{"role": "user", "text": "Invoices by post, please."}]}
    api.begin(agent).end()  # its configuration is read
    begun = []
    cost = {"begin": calls_of(calls, lambda: begun.append(api.begin(agent, "s2", **said)))}
    (turn,) = begun
    record = turn.add("Wants invoices by post.")["id"]
    for name, action in {
        "read an open turn": lambda: ok(api.get(turn.path)),
        "messages": lambda: ok(api.post(f"{turn.path}/messages", said)),
        "end": turn.end,
        "read a committed turn": lambda: ok(api.get(turn.path)),
        "transcript": lambda: ok(api.get(f"{turn.path}/transcript")),
        "list": lambda: ok(api.get(f"{path}/memories")),
        "read a record": lambda: ok(api.get(f"{path}/memories/{record}")),
        "versions": lambda: ok(api.get(f"{path}/memories/{record}/versions")),
        "version": lambda: ok(api.get(f"{path}/memories/{record}/versions/1")),
        "configuration": lambda: ok(api.get(f"{path}/config")),
        "its versions": lambda: ok(api.get(f"{path}/config/versions")),
        "tools": lambda: ok(api.get(f"{path}/tools")),
    }.items():
        cost[name] = calls_of(calls, action)
    assert cost == {
        "begin": ["query", "get_many", "query", "transact"],
        "read an open turn": ["get", "query"],
        "messages": ["increment", "transact"],
        "end": [*ENDED_FIRST, *REVIEWED, "transact", *COMMITTED, "write_many", "query", "get"],  # and how it stands
        "read a committed turn": ["get"],
        "transcript": ["get", "query", "query", "get_many", "get_many"],
        "list": ["query", "query", "get_many"],
        "read a record": ["get_many", "get_many"],
        "versions": ["get_many", "get_many"],
        "version": ["get_many", "get_many"],
        "configuration": ["query"],
        "its versions": ["query"],
        "tools": ["query"],
    }


def test_what_people_change_is_one_transaction_each(counted, api):
    _, calls = counted
    agent = api.configure(memory={"scope": {"read": EVERYWHERE, "write": EVERYWHERE}})
    path, platform = f"/v1/agents/{agent}/memories", "/v1/platform/memories"
    proposed = api.remember(agent, "Offices close at five.", scope="platform")["id"]
    saved = []
    said = {"kind": "fact", "scope": "agent", "memory_key": "depot"}
    cost = {
        name: calls_of(calls, action)
        for name, action in {
            "save": lambda: saved.append(ok(api.post(path, {"summary": "The depot is open.", **said}), 201)["id"]),
            "save with the key of another": lambda: ok(api.post(path, {"summary": "It is closed.", **said}), 201),
            "restore": lambda: ok(api.post(f"{path}/{saved[0]}/restore")),
            "delete": lambda: ok(api.request("DELETE", f"{path}/{saved[0]}")),
            "delete again": lambda: ok(api.request("DELETE", f"{path}/{saved[0]}")),
            "approve": lambda: ok(decide(api, f"{platform}/{proposed}/approval")),
        }.items()
    }
    record = ["get_many", "get_many"]  # where it lies, and itself
    around = ["get_many", "get_many"]  # what it stands among, and what that names in turn
    assert cost == {
        "save": ["query", "embed", "query", "get_many", "transact"],
        "save with the key of another": ["query", "embed", "query", *around, "transact"],
        "restore": [*record, "query", *around, "transact"],
        "delete": [*record, "query", "get_many", "transact"],
        "delete again": record,
        "approve": [*record, "get_many", "transact"],
    }


def decide(api, path):
    return api.request("POST", path, json={"decision": "approve"}, headers={"If-Match": '"1"'})


@pytest.mark.rule("IF-2")
def test_a_key_costs_one_transaction_before_the_effect_and_a_repetition_that_one_alone(counted, api):
    _, calls = counted
    turn = api.begin(api.configure())
    send = lambda **headers: api.request(  # noqa: E731
        "POST", f"{turn.path}/messages", json={"messages": [{"role": "user", "text": "Hello."}]}, headers=headers
    )
    assert calls_of(calls, send) == ["increment", "transact"]
    keyed = {"Idempotency-Key": "k"}
    assert calls_of(calls, lambda: send(**keyed)) == ["transact", "increment", "transact"]
    assert calls_of(calls, lambda: send(**keyed)) == ["transact"]

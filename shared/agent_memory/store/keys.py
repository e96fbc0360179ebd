"""Every key of both tables, and the one place that knows the letters.

| table | partition | sort | what |
|---|---|---|---|
| memory | place | `R#<id>` | a live record |
| | | `D#<id>` | an ended one: superseded, rejected or deleted |
| | | `Q#<id>` | a pending one: what an agent proposes for platform memory |
| | | `K#<key>` | which record holds the memory_key |
| | | `P#<id>` `P~` | in a place of preview: live records that this one hides; how often these rows changed |
| | | `N~` | the board: pinned records and constraints, which every recall shows |
| | | `E#<id>#<model>` | its vectors by that model |
| | | `H#<fingerprint>#<id>` | that the record brought exactly these fields |
| | | `N#<commit>` | not yet indexed: the ids that one commit changed here |
| | `#unindexed`, shard | `U#<commit>` | the same for all places of the commit: what the stream tells the index of |
| | | `U#<id>` | likewise, that a turn has said what its session's history keeps |
| | `#expiring`, shard | `<end>#<id>` | a record that ends by itself, and where it lies |
| | `#unembedded` | `<id>` | a record that waits for the model; the index has it by its words alone |
| | `#unembedded-history`, shard | history, number | the same of what a turn said |
| | `#expiring-history`, shard | `<end>#`, history, number | a turn of which history keeps something only until then |
| | agent or `#platform` | `I#<id>` | pointer from a record's id to its place |
| | agent | `N#<commit>` | of one commit: what the index refused, in whatever place |
| | agent | `C#<version>` | a version of the configuration |
| | `#agents` | agent | that the agent exists |
| | `#deployment` | `RAN#` `FLOOR#` `REINDEX` | when a part last ran, a measured floor, how far a new index is |
| execution | agent, turn | `TURN` | the attempt |
| | | `NEWEST` | on the first attempt: which attempt is the newest |
| | | `W#<n>` | staged changes, in order |
| | | `M#<sequence>` | messages, those of one call in chunks |
| | | `S#<conversation>` | which versions recalls of this attempt showed it |
| | | `PINS` | the pin list that was recorded last |
| | | `X#<sequence>` | events of the transcript, those of one call together |
| | | `J#<id>` | on the first attempt: judgements of the turn |
| | turn; agent or `#platform`, `#receipts`, shard | `A#<hash>` | what an Idempotency-Key has been answered |
| | agent, session | `SESSION` | the last turn number |
| | | `UNREVIEWED#<mode>` | its committed turns whose messages no review has read |
| | | `G#<turn>` | a turn that is ended and not yet committed |
| | | `S#<mode>#<conversation>` | which versions recalls of its committed turns showed it |
| | | `COMMITS` | how many of its turns have kept something |
| | | `H#<mode>#<number>` | which messages of a committed turn history keeps |
| | | `N#<mode>#<number>` | that the index has not shown these yet |
| | | `V#<mode>#<model>#<number>#<parts>` | vectors of some of their parts by that model |
| | agent, `#turns` | `<turn>` | whom and what the attempt is for |
| | agent, `#sessions` | `<turn>` | the session that the turn was the first of |
| | agent, user | `S#<turn>` | the same, of sessions in which the user had a turn |
| | agent, `#calls` | `<id>` | an execution, or a call that was none: where it stands, what it cost |
| | `#ending` | `<turn>` | that the turn is ended and not yet committed |
| | `#open`, shard | `<turn>` | that the turn is open, and of which agent: what may time out |

The partition is the border between owners: `memory_partition` alone builds it. Ids escape `#` and `%`, so none can
spell another's key; an agent's id holds neither (SC-5).
"""

from __future__ import annotations

from functools import lru_cache

from agent_memory.domain.history import HistoryPlace
from agent_memory.domain.ports import Key
from agent_memory.domain.scopes import Place, Scope, TurnIds

LIVE, ENDED, PENDING = "R#", "D#", "Q#"
HOLDER = "K#"
HIDES_AND_CHANGES, HIDES, CHANGES = "P", "P#", "P~"
VECTOR, FINGERPRINT = "E#", "H#"
BOARD_AND_NOT_YET, BOARD, NOT_YET = "N", "N~", "N#"  # the board sorts last, so a backward query meets it first
UNINDEXED = "U#"
PREVIEW = "preview"  # ends the partition of a place where preview turns save
SHARDS = 8  # of a list: a partition takes 1,000 writes a second (DynamoDB), and each commit makes three of them
POINTER, CONFIGURATION = "I#", "C#"
STAGED, MESSAGES, EVENTS, JUDGEMENT, SEEN = "W#", "M#", "X#", "J#", "S#"
USERS_SESSION = "S#"
ENDING = "G#"
KEPT, KEPT_NOT_YET, KEPT_VECTORS = "H#", "N#", "V#"
RECEIPT = "A#"
EXPIRES = "expires_ttl"  # the attribute by which a row is removed some time after, in seconds since 1970


_REMEMBERED = 1024  # places and their partitions: a search spells those of its turn some twenty times


def escape(id: str) -> str:
    return id.replace("%", "%25").replace("#", "%23")


def unescape(text: str) -> str:
    return text.replace("%23", "#").replace("%25", "%")


@lru_cache(_REMEMBERED)
def memory_partition(place: Place) -> str:
    live = f"{place.agent_id or ''}#{place.scope}#{escape(place.owner or '')}"
    return f"{live}#{PREVIEW}" if place.preview else live


@lru_cache(_REMEMBERED)
def place_of(partition: str) -> Place:
    agent_id, scope, owner, *mode = partition.split("#")
    named = Scope(scope) in (Scope.SESSION, Scope.WORKFLOW, Scope.USER)
    return Place(Scope(scope), agent_id or None, unescape(owner) if named else None, mode == [PREVIEW])


def record(place: Place, letter: str, id: str) -> Key:
    return Key("memory", memory_partition(place), letter + id)


def vector(place: Place, id: str, model: str) -> Key:
    return Key("memory", memory_partition(place), f"{VECTOR}{id}#{model}")


def pointers(agent_id: str | None) -> str:
    """The partition of the pointers to an agent's records; None: to platform records."""
    return agent_id or "#platform"


def pointer(agent_id: str | None, id: str) -> Key:
    return Key("memory", pointers(agent_id), POINTER + id)


def letters(place: Place) -> tuple[str, ...]:
    """Where in its place a record may lie."""
    return (LIVE, ENDED, PENDING) if place.scope is Scope.PLATFORM else (LIVE, ENDED)


def holder(place: Place, memory_key: str) -> Key:
    return Key("memory", memory_partition(place), HOLDER + memory_key)


def hides(place: Place, id: str) -> Key:
    return Key("memory", memory_partition(place), HIDES + id)


def changes_of_hiding(place: Place) -> Key:
    return Key("memory", memory_partition(place), CHANGES)


def board(place: Place) -> Key:
    return Key("memory", memory_partition(place), BOARD)


def fingerprint(place: Place, fingerprint: str, id: str) -> Key:
    return Key("memory", memory_partition(place), f"{FINGERPRINT}{fingerprint}#{id}")


def configuration(agent_id: str, version: int) -> Key:
    return Key("memory", agent_id, f"{CONFIGURATION}{version:010}")


def agent(agent_id: str) -> Key:
    return Key("memory", "#agents", agent_id)


def agent_of(partition: str) -> str:
    """Of a memory partition; "" for platform memory."""
    return partition.partition("#")[0]


def refused(agent_id: str, commit_id: str) -> Key:
    return Key("memory", agent_id, NOT_YET + commit_id)


def not_yet(place: Place, commit_id: str) -> Key:
    return Key("memory", memory_partition(place), NOT_YET + commit_id)


def unindexed(commit_id: str) -> Key:
    return Key("memory", unindexed_partition(ord(commit_id[-1]) % SHARDS), UNINDEXED + commit_id)


def open_turn(turn_id: str) -> Key:
    return Key("execution", open_partition(ord(turn_id[-1]) % SHARDS), turn_id)


def open_partition(shard: int) -> str:
    return f"#open#{shard}"


def unindexed_partition(shard: int) -> str:
    return f"#unindexed#{shard}"


def expiring(ends_at: str, id: str) -> Key:
    """ends_at: in UTC with milliseconds, so that text sorts as time does."""
    return Key("memory", expiring_partition(ord(id[-1]) % SHARDS), f"{ends_at}#{id}")


def expiring_partition(shard: int) -> str:
    return f"#expiring#{shard}"


def ending_turn(turn_id: str) -> Key:
    return Key("execution", "#ending", turn_id)


def unembedded(id: str) -> Key:
    return Key("memory", "#unembedded", id)


def part_run(part: str) -> Key:
    return Key("memory", "#deployment", f"RAN#{part}")


def floor(model: str) -> Key:
    return Key("memory", "#deployment", f"FLOOR#{model}")


def reindex() -> Key:
    return Key("memory", "#deployment", "REINDEX")


def turn_partition(agent_id: str, turn_id: str) -> str:
    return f"{agent_id}#turn#{turn_id}"


def turn(agent_id: str, turn_id: str) -> Key:
    return Key("execution", turn_partition(agent_id, turn_id), "TURN")


def newest_attempt(agent_id: str, first_turn_id: str) -> Key:
    return Key("execution", turn_partition(agent_id, first_turn_id), "NEWEST")


def staged(agent_id: str, turn_id: str, number: int) -> Key:
    return Key("execution", turn_partition(agent_id, turn_id), f"{STAGED}{number:06}")


def messages(agent_id: str, turn_id: str, sequence: int) -> Key:
    return Key("execution", turn_partition(agent_id, turn_id), f"{MESSAGES}{sequence:08}")


def events(agent_id: str, turn_id: str, sequence: int) -> Key:
    return Key("execution", turn_partition(agent_id, turn_id), f"{EVENTS}{sequence:08}")


def seen(agent_id: str, turn_id: str, conversation: str) -> Key:
    return Key("execution", turn_partition(agent_id, turn_id), SEEN + conversation)


def pins(agent_id: str, turn_id: str) -> Key:
    return Key("execution", turn_partition(agent_id, turn_id), "PINS")


def seen_in_session(ids: TurnIds, conversation: str) -> Key:
    mode = PREVIEW if ids.preview else "live"
    return Key("execution", session(ids).partition, f"{SEEN}{mode}#{conversation}")


def session(ids: TurnIds) -> Key:
    return Key("execution", f"{ids.agent_id}#session#{escape(ids.session_id or '')}", "SESSION")


def unreviewed(ids: TurnIds) -> Key:
    mode = PREVIEW if ids.preview else "live"
    return Key("execution", session(ids).partition, f"UNREVIEWED#{mode}")


def session_commits(agent_id: str, session_id: str) -> Key:
    return Key("execution", session(TurnIds(agent_id, session_id)).partition, "COMMITS")


def history_partition(place: HistoryPlace) -> str:
    """What the index knows a session's history by."""
    return f"{session(TurnIds(place.agent_id, place.session_id)).partition}#{place.mode}"


def history_place_of(partition: str) -> HistoryPlace:
    agent_id, _, session_id, mode = partition.split("#")
    return HistoryPlace(agent_id, unescape(session_id), mode == PREVIEW)


def kept_turn(place: HistoryPlace, number: int | None = None) -> Key:
    """None: what the rows of all turns begin with."""
    return _of_history(place, f"{KEPT}{place.mode}#", number)


def kept_not_yet(place: HistoryPlace, number: int | None = None) -> Key:
    return _of_history(place, f"{KEPT_NOT_YET}{place.mode}#", number)


def kept_vectors(place: HistoryPlace, model: str, number: int | None = None, first: str = "") -> Key:
    prefix = _of_history(place, f"{KEPT_VECTORS}{place.mode}#{escape(model)}#", number)
    return prefix if number is None else prefix._replace(sort=f"{prefix.sort}#{first}")


def _of_history(place: HistoryPlace, prefix: str, number: int | None) -> Key:
    partition = session(TurnIds(place.agent_id, place.session_id)).partition
    return Key("execution", partition, prefix if number is None else f"{prefix}{number:010}")


def unembedded_turn(place: HistoryPlace, number: int) -> Key:
    return Key("memory", unembedded_turns(number % SHARDS), f"{history_partition(place)}#{number:010}")


def expiring_turn(ends_at: str, place: HistoryPlace, number: int) -> Key:
    """ends_at: in UTC with milliseconds, so that text sorts as time does."""
    return Key("memory", expiring_turns(number % SHARDS), f"{ends_at}#{history_partition(place)}#{number:010}")


def expiring_turns(shard: int) -> str:
    return f"#expiring-history#{shard}"


def unembedded_turns(shard: int) -> str:
    return f"#unembedded-history#{shard}"


def ending_in_session(ids: TurnIds, turn_id: str) -> Key:
    return Key("execution", session(ids).partition, ENDING + turn_id)


def judgement(agent_id: str, first_turn_id: str, id: str) -> Key:
    return Key("execution", turn_partition(agent_id, first_turn_id), JUDGEMENT + id)


def listed_turn(agent_id: str, turn_id: str) -> Key:
    return Key("execution", f"{agent_id}#turns", turn_id)


def listed_session(agent_id: str, first_turn_id: str) -> Key:
    return Key("execution", f"{agent_id}#sessions", first_turn_id)


def users_session(agent_id: str, user_id: str, first_turn_id: str) -> Key:
    return Key("execution", f"{agent_id}#user#{escape(user_id)}", USERS_SESSION + first_turn_id)


def call(agent_id: str, id: str) -> Key:
    return Key("execution", f"{agent_id}#calls", id)


def receipts(agent_id: str | None, call: str) -> str:
    """The partition of what is kept of calls that are about no turn; None: and about no agent. call: a hash."""
    return f"{agent_id or '#platform'}#receipts#{ord(call[-1]) % SHARDS}"


def receipt(partition: str, call: str, part: int = 0) -> Key:
    return Key("execution", partition, f"{RECEIPT}{call}#{part}" if part else RECEIPT + call)

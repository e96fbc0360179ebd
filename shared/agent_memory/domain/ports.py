"""What the product needs from outside, as narrow protocols; each has two working sides and one contract suite.

| port | in AWS | on one machine |
|---|---|---|
| `Table` | DynamoDB | SQLite |
| `SearchIndex` | OpenSearch | SQLite |
| `Embedder` | Bedrock, or an OpenAI-compatible server | a model inside a package |
| `Reviewer` | Bedrock, or an OpenAI-compatible server | the same, or rules |
| `TurnEnds` | Step Functions | a thread |
| `Clock`, `Ids` | the machine's | the machine's, movable with `--dev` |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

# ---------------------------------------------------------------- Table

TableName = Literal["memory", "execution"]
Item = dict[str, Any]
"""Attributes by name, without the key: str, int, float, bool, None, bytes, and lists and dicts of these. Values come
back equal and of the same type (a float that is whole may come back as int). The name `writer` is the adapter's."""

MAX_ACTIONS = 100  # writes of one transaction (DynamoDB quota)
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024  # DynamoDB quota
MAX_ITEM_BYTES = 400 * 1024  # DynamoDB quota, names and values
MAX_PARTITION_BYTES = 2048  # DynamoDB quota, UTF-8
MAX_SORT_BYTES = 1024  # DynamoDB quota, UTF-8


class Key(NamedTuple):
    table: TableName
    partition: str
    sort: str


class Row(NamedTuple):
    key: Key
    item: Item


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing lies at the key."""


@dataclass(frozen=True, slots=True)
class Equals:
    """An item lies at the key and its attribute has this value (str, int, bool or None; an attribute that is missing
    equals None)."""

    attribute: str
    value: str | int | bool | None


@dataclass(frozen=True, slots=True)
class AllOf:
    conditions: tuple[Equals, ...]


Condition = Absent | Equals | AllOf


@dataclass(frozen=True, slots=True)
class Put:
    key: Key
    item: Item
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Deleting what is not there is no error, unless a condition says so."""

    key: Key
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Check:
    key: Key
    condition: Condition


Write = Put | Delete | Check


class Table(Protocol):
    """Both tables. Every read is consistent: it sees each write that was answered before it began.

    Failures of the connection and contention are retried inside, with jitter, and end in `StoreUnavailable`. A limit
    of the quotas above that is exceeded is `TooLarge` (bytes) or `ValueError` (a programming error: more than 100
    actions, two actions on one key, a transaction that puts nothing) before anything is sent.
    """

    def get(self, key: Key) -> Item | None: ...

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Any number of keys, of both tables, in as few round trips as the backend allows; what is absent is left out.
        Not one snapshot: two items may be read at different moments."""
        ...

    def query(
        self,
        table: TableName,
        partition: str,
        *,
        prefix: str = "",
        newest_first: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Row]:
        """Rows of a partition whose sort key begins with `prefix`, in the order of the sort key's UTF-8 bytes
        (backwards with `newest_first`), beginning behind the sort key `after` (which need not exist), at most `limit`
        (None: all, through as many pages as it takes)."""
        ...

    def transact(self, writes: Sequence[Write]) -> None:
        """All or nothing. Raises `ConditionFailed` with the position of every failed condition and what stands there.

        The first `Put` names its writer: the adapter stamps it with a new id, and after a lost answer reads that item
        to learn what happened. So a transaction is applied once, and a lost answer is not taken for a conflict."""
        ...

    def increment(self, key: Key, counters: Mapping[str, int], *, condition: Condition | None = None) -> Item:
        """Add to integer attributes (missing ones count from 0) and give the item as it then stands. Atomic. Without a
        condition a missing item is created. Raises `ConditionFailed` (position 0). After a lost answer it may have
        been applied twice: for reservations, where a gap does no harm."""
        ...

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        """Any number of unconditional writes, in batches; not atomic, each is applied at least once."""
        ...


# ---------------------------------------------------------------- SearchIndex


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index is told of one record. `stamp` only grows per record: an older or equal one changes nothing.
    Not `live`: the record ended, the entry becomes a tombstone (which still wins over an older stamp). A partition is
    of one agent; `agent_id` is "" where it is of none. ordinal: its place in an order that a query may end in."""

    id: str
    partition: str
    agent_id: str
    stamp: int
    live: bool
    kind: str = ""
    labels: Mapping[str, str] | None = None
    words: Sequence[str] = ()  # the analyser's tokens of summary, content and label values, in order, with repetitions
    vectors: Sequence[bytes] = ()  # a unit vector per part, little-endian float32; none where it was not embedded
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """Which records (all filters hold), by which words, near which vector. Either `partitions` or `agent_id` says whose
    they are: those of some partitions (none: nothing is found), or all of one agent, in whatever partition."""

    partitions: Sequence[str] = ()
    words: Sequence[str] = ()  # different tokens, at most 64; none: no lexical leg
    vector: Sequence[float] | None = None  # of unit length; None: no vector leg
    kind: str | None = None
    labels: Mapping[str, str] | None = None
    agent_id: str | None = None
    before: int | None = None  # only entries whose ordinal is less

    def __post_init__(self) -> None:
        # "" is what entries of no agent have: it would be all of them, of whatever partition.
        if self.agent_id == "" or (self.agent_id is not None and self.partitions):
            raise ValueError("a search is of partitions or of one agent")


class Candidate(NamedTuple):
    """A record as ranking sees it. counts: how often each word of the query occurs in it, in the query's order; length:
    how many tokens it has; cosine: of its best part, true (−1 to 1), None where it is not known. partition: where it
    lies; "" where all of an agent were searched: the table's pointers tell.

    A tuple: a search makes up to 200 of them, and a frozen dataclass takes three times as long to make."""

    id: str
    partition: str
    counts: tuple[int, ...]
    length: int
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Spread:
    """How the scores of all records under the filter lie (those that a leg does not match count as 0)."""

    top: float
    mean: float
    deviation: float  # of the population; 0 where all are equal


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of all live records under the filter, not of the candidates alone."""

    documents: int = 0
    tokens: int = 0  # sum of their lengths
    containing: tuple[int, ...] = ()  # how many contain each word of the query
    lexical: Spread | None = None  # of the backend's own word scores (None: no word matches anything)
    vector: Spread | None = None  # of cosines; exact, or from a sample (None: nothing has a vector)


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    lexical: list[Candidate]  # the 100 best by words, best first; each shares at least one word with the query
    vector: list[Candidate]  # the 100 best by cosine, best first
    statistics: Statistics


class SearchIndex(Protocol):
    """Finds candidates. Nothing it says is returned to anyone unchecked. Raises `IndexUnavailable`."""

    def search(self, query: IndexQuery) -> IndexAnswer:
        """Both legs and the statistics in one round trip. Only live entries of the partitions, or of the agent."""
        ...

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        """Write entries; returns once a search shows them. Gives what the backend refused for good, by id, with a
        reason that holds no text of the record; raises `IndexUnavailable` when it did not answer (some may be in)."""
        ...


# ---------------------------------------------------------------- Embedder


@dataclass(frozen=True, slots=True)
class Embedded:
    """vectors: one for each text, in order, of unit length, or None where the model refused that text alone (blank, or
    unfit). tokens: what the model counted as its input, 0 when no call was needed; cached: no call was needed."""

    vectors: list[list[float] | None]
    tokens: int
    cached: bool


class Embedder(Protocol):
    """A model of meaning. Raises `EmbedderUnavailable`."""

    @property
    def model(self) -> str: ...  # its name, part of the vector's key

    @property
    def dimensions(self) -> int: ...

    @property
    def floor(self) -> float: ...  # least cosine at which two texts have to do with each other; measured for this model

    @property
    def window(self) -> int: ...  # characters of a text that the model reads for sure

    def knows(self, text: str) -> bool:
        """Whether the model was taught the script that this text is mainly written in."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        """Any number of texts, each cut at the window; `query` for what is asked, else for what is stored."""
        ...


# ---------------------------------------------------------------- Reviewer


@dataclass(frozen=True, slots=True)
class Said:
    """What a reviewer answered, as it came: nothing of it is believed before it is read (EX-6). input_tokens,
    output_tokens: as the model counts, 0 where there is none; is_cut: the answer broke off at the model's limit."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """An answer that did not fit, and what is wrong with it, in words for the model."""

    answer: str
    faults: str


class Reviewer(Protocol):
    """Says what a conversation was worth, and what is to become of it. `asked` is one JSON object (API.md, section 6);
    with a correction, the same is asked again beside the answer that did not fit. Raises `ReviewerUnavailable`."""

    @property
    def kind(self) -> str: ...  # rules, openai or bedrock

    @property
    def model(self) -> str: ...  # its name, as the transcript tells it

    def propose(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        """Candidates, of messages."""
        ...

    def decide(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        """What becomes of candidates, beside what is known already."""
        ...


# ---------------------------------------------------------------- TurnEnds


class TurnEnds(Protocol):
    """Has the review and the commit of turns carried out, outside the call that ends them."""

    def start(self, agent_id: str, turn_id: str, tries: int, again: str = "") -> None:
        """Begin with this turn; told twice with the same `tries` and `again` it begins once. again: letters and digits
        for what was begun before and has come to no end. Raises `Unavailable`: then upkeep begins it later."""
        ...


# ---------------------------------------------------------------- Clock, Ids


class Clock(Protocol):
    def now(self) -> datetime:
        """The instant, aware, in UTC, cut to milliseconds."""
        ...


class Ids(Protocol):
    def new(self, now: datetime) -> str:
        """A ULID of that instant, greater than every one given before by this process."""
        ...

"""Replay of statements on a running Pinot: what each scans, how long it takes, and its answer.

Queries go out one at a time and at a bounded rate, each with a time-out, and marked, so that no later night
takes them for traffic. Variants of a statement, with an index and without it, are asked in turn, pass by
pass: what the machine does besides meets all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from starskip.advisor.deployment.statements import Statement
from starskip.errors import SourceError, SourceOutage
from starskip.pinot.cluster.broker import Broker, QueryAnswer
from starskip.pinot.replay_mark import REPLAY_OPTIONS, marked

PASSES = 5
MAX_KEPT_ROWS = 5_000
"""Rows of an answer that are compared; of a longer one only entries and time are."""
_ATTEMPTS = 3
_QUERY_MS = 30_000

Options = Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Measured:
    """Cost of one statement: its least entries and least time of all passes.

    ``rows``: the answer, None if it is too long to be kept. ``flaw``: why the answer is not whole.
    ``documents``: the rows of the table at that moment.
    """

    in_filter: int = 0
    post_filter: int = 0
    best_ms: float = 0.0
    rows: Sequence[Sequence[Any]] | None = None
    flaw: str = ""
    documents: int = 0

    @property
    def entries(self) -> int:
        """Entries in filter and post filter."""
        return self.in_filter + self.post_filter

    def grown_to(self, documents: int) -> Measured:
        """Return what it would cost of a table with so many rows: entries follow them."""
        if not self.documents or self.documents == documents:
            return self
        ratio = documents / self.documents
        in_filter, post_filter = round(self.in_filter * ratio), round(self.post_filter * ratio)
        return replace(self, in_filter=in_filter, post_filter=post_filter, documents=documents)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The replayed statements, and what each cost before a change: a later process judges by it."""

    statements: tuple[Statement, ...]
    before: tuple[Measured, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "statements": [asdict(each) for each in self.statements],
            "before": [asdict(each) for each in self.before],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Baseline:
        """Return the baseline that ``to_json`` wrote."""
        return cls(
            tuple(map(Statement.from_json, document["statements"])),
            tuple(Measured(**each) for each in document["before"]),
        )


@dataclass(slots=True)
class Pace:
    """The least time between two queries; ``clock`` returns seconds."""

    queries_per_second: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    _next: float = field(default=0.0, init=False)

    def wait(self) -> None:
        """Wait until the next query may go out."""
        now = self.clock()
        if now < self._next:
            self.sleep(self._next - now)
        self._next = max(now, self._next) + 1 / self.queries_per_second


def replay(
    broker: Broker,
    statements: Sequence[Statement],
    pace: Pace,
    *,
    variants: Sequence[Options] = ({},),
    passes: int = PASSES,
    beat: Callable[[], None] = lambda: None,
) -> list[list[Measured]]:
    """Return by variant what each statement cost; raises SourceOutage if the broker does not answer.

    A statement whose answer is not whole is tried again, and then asked no more.
    """
    found: list[list[Measured]] = [[Measured()] * len(statements) for _ in variants]
    for number in range(passes):
        for position, variant, options in _in_turn(len(statements), variants):
            before = found[variant][position]
            if before.flaw:
                continue
            answer = _whole_answer(broker, statements[position].sql, options, pace)
            found[variant][position] = _with_pass(before, answer, is_first=number == 0)
            beat()
    return found


def _in_turn(statements: int, variants: Sequence[Options]) -> Iterator[tuple[int, int, Options]]:
    for position in range(statements):
        for variant, options in enumerate(variants):
            yield position, variant, options


def _whole_answer(broker: Broker, sql: str, options: Options, pace: Pace) -> QueryAnswer | str:
    """Return the answer, or why there is none that is whole."""
    flaw = ""
    for _ in range(_ATTEMPTS):
        pace.wait()
        try:
            answer = broker.ask(marked(sql), {**REPLAY_OPTIONS, **options}, timeout_ms=_QUERY_MS)
        except SourceOutage:
            raise
        except SourceError as error:
            return str(error)
        if not answer.flaw:
            return answer
        flaw = answer.flaw
    return flaw


def _with_pass(before: Measured, answer: QueryAnswer | str, *, is_first: bool) -> Measured:
    if isinstance(answer, str):
        return Measured(flaw=answer)
    if is_first:
        rows = answer.rows if len(answer.rows) <= MAX_KEPT_ROWS else None
        in_filter, post_filter = answer.entries_in_filter, answer.entries_post_filter
        return Measured(in_filter, post_filter, float(answer.time_ms), rows, documents=answer.total_documents)
    # Where a query stops at its LIMIT, what it scans depends on the run: the least counts.
    return Measured(
        min(before.in_filter, answer.entries_in_filter),
        min(before.post_filter, answer.entries_post_filter),
        min(before.best_ms, float(answer.time_ms)),
        before.rows,
        documents=before.documents,
    )

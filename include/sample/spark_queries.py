"""The queries of the sample's Spark event log: questions about ``lineitem``, the same for a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from random import Random

SEED = 20261120
QUERIES = 200
PAIRS = 60

_FIRST_DAY = date(1992, 1, 2)
_DAYS = 2524
_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
_WORDS = ("carefully ", "furiously ", "quickly ", "slyly ", "blithely ", "special ", "express ", "ironic ")
_NOUNS = ("requests", "deposits", "accounts", "packages", "foxes", "theodolites", "pinto beans")


def _day(random: Random, *, recent: bool = False) -> date:
    """Return a day with rows; most questions are about the last two years."""
    low = _DAYS - 730 if recent and random.random() < 0.7 else 30
    return _FIRST_DAY + timedelta(days=random.randrange(low, _DAYS - 100))


def _orderkey(random: Random) -> int:
    """Return a key of TPC-H at factor 0.05: of 32 numbers in a row the first 8 are used, but not 0."""
    return random.randrange(9375) * 32 + random.randrange(1, 8)


def _revenue_of_month(random: Random) -> str:
    day = _day(random, recent=True)
    end = day + timedelta(days=random.choice([7, 14, 31]))
    return (
        "SELECT sum(l_extendedprice * l_discount) FROM lineitem"
        f" WHERE l_shipdate >= DATE'{day}' AND l_shipdate < DATE'{end}'"
    )


def _discounts(random: Random) -> str:
    day, least = _day(random), random.randrange(2, 9)
    return (
        "SELECT sum(l_extendedprice * l_discount) FROM lineitem"
        f" WHERE l_shipdate >= DATE'{day}' AND l_shipdate < DATE'{day + timedelta(days=365)}'"
        f" AND l_discount BETWEEN 0.0{least - 1} AND 0.0{least + 1}"
        f" AND l_quantity < {random.choice([24, 25])}"
    )


def _order(random: Random) -> str:
    return f"SELECT * FROM lineitem WHERE l_orderkey = {_orderkey(random)}"


def _orders(random: Random) -> str:
    keys = ", ".join(str(_orderkey(random)) for _ in range(random.choice([2, 3, 5])))
    return (
        f"SELECT l_orderkey, sum(l_quantity) FROM lineitem WHERE l_orderkey IN ({keys}) GROUP BY l_orderkey"
    )


def _many_orders(random: Random) -> str:
    keys = ", ".join(str(_orderkey(random)) for _ in range(20))
    return f"SELECT l_orderkey, l_shipdate FROM lineitem WHERE l_orderkey IN ({keys})"


def _part(random: Random) -> str:
    return f"SELECT count(*), sum(l_quantity) FROM lineitem WHERE l_partkey = {random.randrange(1, 10001)}"


def _day_shipped(random: Random) -> str:
    return f"SELECT count(*) FROM lineitem WHERE l_shipdate = DATE'{_day(random, recent=True)}'"


def _supplier_since(random: Random) -> str:
    return (
        f"SELECT l_orderkey, l_extendedprice FROM lineitem WHERE l_suppkey = {random.randrange(1, 501)}"
        f" AND l_shipdate >= DATE'{_day(random, recent=True)}'"
    )


def _received_late(random: Random) -> str:
    day, modes = _day(random), random.sample(_MODES, 2)
    return (
        "SELECT l_shipmode, count(*) FROM lineitem"
        f" WHERE l_shipmode IN ('{modes[0]}', '{modes[1]}') AND l_commitdate < l_receiptdate"
        f" AND l_receiptdate BETWEEN DATE'{day}' AND DATE'{day + timedelta(days=30)}'"
        " GROUP BY l_shipmode"
    )


def _two_days(random: Random) -> str:
    return (
        f"SELECT count(*) FROM lineitem WHERE l_shipdate = DATE'{_day(random)}'"
        f" OR l_receiptdate = DATE'{_day(random)}'"
    )


def _comment_begins(random: Random) -> str:
    beginning = random.choice(_WORDS) + random.choice(_NOUNS)
    return f"SELECT l_comment FROM lineitem WHERE l_comment LIKE '{beginning}%'"


def _comment_holds(random: Random) -> str:
    return f"SELECT count(*) FROM lineitem WHERE l_comment LIKE '%{random.choice(_NOUNS)}%'"


def _open_lines(random: Random) -> str:
    return (
        "SELECT count(*) FROM lineitem"
        f" WHERE l_linestatus = 'O' AND l_returnflag <> 'R' AND l_quantity > {random.randrange(40, 50)}"
    )


def _order_with_its_parts(random: Random) -> str:
    return (
        "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_partkey = b.l_partkey"
        f" WHERE a.l_orderkey = {_orderkey(random)} AND b.l_shipdate >= DATE'{_day(random, recent=True)}'"
    )


def _road(random: Random) -> str:
    return (
        "SELECT count(*) FROM lineitem WHERE carrier(l_shipmode) = 'road'"
        f" AND l_shipdate = DATE'{_day(random, recent=True)}'"
    )


_KINDS: tuple[tuple[int, Callable[[Random], str]], ...] = (
    (36, _revenue_of_month),
    (30, _order),
    (20, _supplier_since),
    (18, _day_shipped),
    (16, _part),
    (14, _orders),
    (12, _received_late),
    (12, _discounts),
    (8, _comment_begins),
    (8, _two_days),
    (8, _open_lines),
    (6, _order_with_its_parts),
    (5, _many_orders),
    (5, _comment_holds),
    (2, _road),
)


def _supplier_and_quantity(random: Random) -> str:
    return (
        "SELECT l_orderkey, l_comment FROM lineitem"
        f" WHERE l_suppkey = {random.randrange(1, 501)} AND l_quantity = {random.randrange(1, 51)}"
    )


def pair_queries() -> Iterator[str]:
    """Yield queries for a supplier's lines of one quantity: every file has both, few have them in one row."""
    random = Random(SEED)
    for _ in range(PAIRS):
        yield _supplier_and_quantity(random)


def sample_queries() -> Iterator[str]:
    """Yield QUERIES queries; each kind has its share of them."""
    random = Random(SEED)
    weights = [weight for weight, _ in _KINDS]
    for kind in random.choices([kind for _, kind in _KINDS], weights, k=QUERIES):
        yield kind(random)

"""Compare the chosen plan with the best measured one, and with the rules of other systems.

Of each query the scan, every index alone, every pair, all indexes, the plan of every rule, and the best pair
with each index more are run, and the least time is the best. The rules: all applicable indexes (AsterixDB),
the greedy prefix that multiplies selectivities (AsterixDB's other), and the cheapest subset with
selectivities multiplied as if columns were independent (PostgreSQL), both with the costs of our own planner.

Noise meets all plans alike. They take turns, each round in another order, and a plan's time is the least of
its runs. Times that differ by less than 0.05 ms count as equal. A plan that takes more than four times as
long as the best one after a round, or twice after two, is run no more: another run would not make it the
best. The plans of the rules are run to the end.

The least of the times of twenty plans is also that of the luckiest one. So all is judged by halves of the
runs, too: the plan with the least median of every second run is the best one, and its time, as that of a
rule's plan, is the median of the others; and the other way round. How often noise alone decides is told,
too: how often the plan that is best by every second run is near the best by all others.

Bytes are those of the data and the indexes that a plan reads, held in memory or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, prod
from pathlib import Path as Folder
from random import Random
from time import perf_counter

import numpy as np
from intersection_questions import INDEXES, KINDS, Conjunction, conjunction, write_rows
from intersection_verdict import EQUAL_MS, WrongRows, print_verdict, within
from starskip.secondary import IndexedTable, open_table
from starskip.secondary.access_paths import Path, access_paths, path_indexes
from starskip.secondary.cost import Cost
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.postings import PostingReader
from starskip.secondary.row_filter import columns_in
from starskip.secondary.where_clause import where_expression

Names = tuple[str, ...]
SCAN: Names = ("scan",)
PLANNED: Names = ()
"""The plan that leaves the choice to the planner, whose time counts then."""
CHOSEN, WITH_PLANNING = "chosen", "chosen, with planning"
_WANTED = ["id", "payload"]
_NEAR, _ABOUT = 1.05, 1.25
_AIM = 0.95
_HOPELESS = (4.0, 2.0)
"""Times the best plan's time from which a plan is run no more, after the first round and the second."""
_EVERY = 50


@dataclass(slots=True)
class Measured:
    """The times of a plan's runs, in ms, and the bytes that each of them read."""

    runs: list[float] = field(default_factory=list)
    bytes: int = 0

    @property
    def ms(self) -> float:
        """The least time."""
        return min(self.runs, default=inf)


@dataclass(slots=True)
class Plans:
    """Measures plans of one query in turns; ``rows``: what all of them must find."""

    table: IndexedTable
    where: str
    random: Random
    found: dict[Names, Measured] = field(default_factory=dict)
    rows: int | None = None

    def run(self, plans: Iterable[Names], rounds: int) -> None:
        """Run plans in rounds, each in another order."""
        names = list(dict.fromkeys(plans))
        for _ in range(rounds):
            for plan in self.random.sample(names, len(names)):
                began = perf_counter()
                answer = self.table.answer(self.where, _WANTED, path=plan)
                ms = (perf_counter() - began) * 1000
                mine = self.found.setdefault(plan, Measured())
                mine.runs.append(ms)
                mine.bytes = answer.stats["bytes_read"]
                if self.rows not in (None, answer.count):
                    raise WrongRows(f"{self.where}: {plan} gives {answer.count} rows, others {self.rows}")
                self.rows = answer.count

    def run_hopeful(self, plans: Iterable[Names]) -> None:
        """Run plans once, and those again that are not far from the best."""
        for ratio in _HOPELESS:
            self.run(plans, 1)
            plans = self.hopeful(plans, ratio)

    def hopeful(self, plans: Iterable[Names], ratio: float) -> list[Names]:
        """Return the plans that take no longer than the best one by a ratio."""
        least = self.least[1].ms
        return [plan for plan in plans if within(self.found[plan].ms, least, ratio)]

    @property
    def least(self) -> tuple[Names, Measured]:
        """The best plan; planning is no plan of its own."""
        return min(((name, each) for name, each in self.found.items() if name), key=lambda it: it[1].ms)

    @property
    def least_bytes(self) -> int:
        """The least bytes of a plan."""
        return min(each.bytes for name, each in self.found.items() if name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One query, all its plans, and the plan of each rule."""

    query: Conjunction
    plans: Plans
    rules: Mapping[str, Names]

    def of(self, rule: str) -> Measured:
        """Return what the plan of a rule took."""
        return self.plans.found[self.rules[rule]]

    def ratio(self, rule: str) -> float:
        """Return the time of a rule's plan by that of the best one, 1 if they are equal."""
        ms, least = self.of(rule).ms, self.plans.least[1].ms
        return 1.0 if ms - least < EQUAL_MS else ms / least

    def is_near(self, rule: str, ratio: float) -> bool:
        """Return whether the time of a rule's plan is near the best."""
        return within(self.of(rule).ms, self.plans.least[1].ms, ratio)

    @property
    def repeats(self) -> bool:
        """True if the plan that is best by every second run is near the best by the others."""
        often = {name: each.runs for name, each in self.plans.found.items() if name and len(each.runs) > 3}
        if len(often) < 2:
            return True
        best = min(often, key=lambda name: min(often[name][::2]))
        return within(min(often[best][1::2]), min(min(runs[1::2]) for runs in often.values()), _NEAR)

    def by_halves(self, rule: str) -> Sequence[tuple[float, float]]:
        """Return the time of a rule's plan and that of the best one, which other runs have told, twice."""
        of_plans = {name: each.runs for name, each in self.plans.found.items() if name}
        most = max(map(len, of_plans.values()))
        often = {name: runs for name, runs in of_plans.items() if 2 * len(runs) > most}
        found = []
        for told in (0, 1):
            best = min(often, key=lambda name: float(np.median(often[name][told::2])))
            runs = self.of(rule).runs, often[best]
            mine, least = (float(np.median(each[1 - told :: 2])) for each in runs)
            found.append((mine, least))
        return found

    def has_near_bytes(self, rule: str, ratio: float) -> bool:
        """Return whether a rule's plan reads about the least bytes of any plan."""
        return self.of(rule).bytes <= ratio * self.plans.least_bytes

    def reads_as_fastest(self, rule: str) -> bool:
        """Return whether a rule's plan reads no more than the fastest one does, but for 5 %."""
        return self.of(rule).bytes <= _NEAR * self.plans.least[1].bytes


def rules(table: IndexedTable, where: str) -> dict[str, Names]:
    """Return the plan of each rule, our own as ``chosen``; the names of a plan are in order of their rows."""
    state = table.opened.now()
    condition = where_expression(where, state.schema)
    # An index that serves two predicates, such as two texts, has a list for each; a plan uses both.
    paths: defaultdict[str, list[Path]] = defaultdict(list)
    mapping = access_paths(condition, state.indexes)
    for each in mapping.paths:
        paths[path_indexes(each)[0]].append(each)
    reader = PostingReader(state.segments)
    layout = state.layout(tuple(dict.fromkeys([*_WANTED, *columns_in(condition)])))
    cost = Cost(layout, table.settings, frozenset(_WANTED), mapping.conjuncts)
    share = {name: prod(reader.count(each) / layout.rows for each in lists) for name, lists in paths.items()}
    gather = {name: sum(cost.gather(reader.reads(each)) for each in lists) for name, lists in paths.items()}

    def expected(subset: Sequence[str]) -> float:
        rows = layout.rows * prod(share[name] for name in subset)
        units = layout.units_of_random(rows)
        return sum(gather[name] for name in subset) + cost.fetch(units, rows, cost.predicates, 1.0)

    ordered = sorted(paths, key=lambda name: share[name])
    prefix = 1
    while prefix < len(ordered) and expected(ordered[: prefix + 1]) < expected(ordered[:prefix]):
        prefix += 1
    subsets = [each for size in range(1, len(ordered) + 1) for each in combinations(ordered, size)]
    best = min(subsets, key=expected)
    chosen = set(table.explain(where, _WANTED).chosen)
    return {
        CHOSEN: SCAN if chosen == {*SCAN} else tuple(name for name in ordered if name in chosen),
        WITH_PLANNING: PLANNED,
        "all applicable": tuple(ordered),
        "greedy prefix": tuple(ordered[:prefix]) if expected(ordered[:prefix]) < cost.scan() else SCAN,
        "as if independent": best if expected(best) < cost.scan() else SCAN,
    }


def measured(table: IndexedTable, query: Conjunction, random: Random, times: int) -> Outcome:
    """Run all plans of a query."""
    of_rules = rules(table, query.where)
    names = of_rules["all applicable"]
    pairs = list(combinations(names, 2))
    plans = Plans(table, query.where, random)
    plans.run_hopeful([SCAN, *((name,) for name in names), *pairs, *of_rules.values()])
    if pairs:
        pair = min(pairs, key=lambda each: plans.found[each].ms)
        triples = [
            tuple(name for name in names if name in {*pair, more}) for more in names if more not in pair
        ]
        plans.run_hopeful([each for each in triples if each not in plans.found])
    more = times - len(_HOPELESS)
    plans.run([*plans.hopeful(plans.found, _HOPELESS[-1]), *of_rules.values()], more)
    for plan in of_rules.values():
        # One slow run may have ended a rule's plan; no other plan is judged by so few runs.
        plans.run([plan], times - len(plans.found[plan].runs))
    return Outcome(query, plans, of_rules)


def print_choice(
    folder: Folder, rows: int, row_group_rows: int, *, queries: int, seed: int, times: int, worst: int
) -> None:
    """Print how many plans of each rule are near the best one, in time and bytes, and the worst queries."""
    place = folder / f"choice-{rows}"
    table_of_rows = write_rows(place, rows, row_group_rows)
    create_indexes(str(place), INDEXES)
    table = open_table(str(place))
    random, turns = Random(seed), Random(seed)
    outcomes: list[Outcome] = []
    began = perf_counter()
    for number in range(1, queries + 1):
        outcomes.append(measured(table, conjunction(random, table_of_rows), turns, times))
        if number % _EVERY == 0 or number == queries:
            near = np.mean([each.is_near(CHOSEN, _NEAR) for each in outcomes])
            took = perf_counter() - began
            print(
                f"  {number} of {queries} queries in {took:.0f} s: chosen {near:.1%} within 5 %", flush=True
            )
    print(f"\n{queries} conjunctions over {rows:,} rows, seed {seed}, the least of {times} runs of each plan")
    _print_rules(outcomes)
    _print_kinds(outcomes)
    _print_verdicts(outcomes)
    for outcome in sorted(outcomes, key=lambda each: -each.ratio(CHOSEN))[:worst]:
        _print_query(table, outcome)


def _print_rules(outcomes: Sequence[Outcome]) -> None:
    print("time by that of the best measured plan; bytes by the least of any plan, and by the fastest plan's")
    heads = ("≤ 1.05", "≤ 1.25", "median", "95 %", "worst", "bytes≤1.05", "bytes≤1.25", "≤fastest's")
    print(f"{'rule':<24}" + "".join(f"{head:>12}" for head in heads))
    for rule in outcomes[0].rules:
        ratios = np.array([each.ratio(rule) for each in outcomes])
        shares = [
            np.mean([each.is_near(rule, _NEAR) for each in outcomes]),
            np.mean([each.is_near(rule, _ABOUT) for each in outcomes]),
        ]
        of_bytes = [
            np.mean([each.has_near_bytes(rule, _NEAR) for each in outcomes]),
            np.mean([each.has_near_bytes(rule, _ABOUT) for each in outcomes]),
            np.mean([each.reads_as_fastest(rule) for each in outcomes]),
        ]
        print(
            f"{rule:<24}"
            + "".join(f"{share:>12.1%}" for share in shares)
            + f"{np.median(ratios):>12.2f}{np.quantile(ratios, 0.95):>12.2f}{ratios.max():>12.1f}"
            + "".join(f"{share:>12.1%}" for share in of_bytes)
        )


def _print_kinds(outcomes: Sequence[Outcome]) -> None:
    print("\nshare of queries within 5 % of the best time, by kind of columns")
    of_rules = list(outcomes[0].rules)
    print(f"{'kind':<24}{'queries':>9}" + "".join(f"{rule:>23}" for rule in of_rules))
    by_kind: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.query.kind].append(outcome)
    for kind in KINDS:
        mine = by_kind[kind]
        if mine:
            shares = (np.mean([each.is_near(rule, _NEAR) for each in mine]) for rule in of_rules)
            print(f"{kind:<24}{len(mine):>9}" + "".join(f"{share:>23.1%}" for share in shares))


def _print_verdicts(outcomes: Sequence[Outcome]) -> None:
    print()
    for rule in (CHOSEN, WITH_PLANNING):
        near = float(np.mean([each.is_near(rule, _NEAR) for each in outcomes]))
        about = float(np.mean([each.is_near(rule, _ABOUT) for each in outcomes]))
        found = f"{rule}: {near:.1%} within 1.05 of the best time, {about:.1%} within 1.25"
        print_verdict(found, f"{_AIM:.0%} within 1.05", is_reached=near >= _AIM)
    near = float(np.mean([each.has_near_bytes(CHOSEN, _NEAR) for each in outcomes]))
    about = float(np.mean([each.has_near_bytes(CHOSEN, _ABOUT) for each in outcomes]))
    found = f"{CHOSEN}: {near:.1%} within 1.05 of the least bytes, {about:.1%} within 1.25"
    print_verdict(found, f"{_AIM:.0%} within 1.05", is_reached=near >= _AIM)
    total = sum(each.of(CHOSEN).ms for each in outcomes) / sum(each.plans.least[1].ms for each in outcomes)
    _print_halves(outcomes)
    repeats = float(np.mean([each.repeats for each in outcomes]))
    print(f"the best plan of half of the runs is within 1.05 of the best of the other half: {repeats:.1%}")
    print(f"all queries together: {total:.3f} times the time of the best plans")


def _print_halves(outcomes: Sequence[Outcome]) -> None:
    print("by halves of the runs, the best plan told by one and measured by the other:")
    for rule in outcomes[0].rules:
        pairs = [pair for each in outcomes for pair in each.by_halves(rule)]
        near, about = (np.mean([within(*pair, ratio) for pair in pairs]) for ratio in (_NEAR, _ABOUT))
        together = sum(mine for mine, _ in pairs) / sum(least for _, least in pairs)
        print(f"  {rule}: {near:.1%} within 1.05, {about:.1%} within 1.25, together {together:.3f}")


def _print_query(table: IndexedTable, outcome: Outcome) -> None:
    plans, query = outcome.plans, outcome.query
    print(f"\n{outcome.ratio(CHOSEN):.2f} times the best, {query.kind}, {plans.rows:,} rows: {query.where}")
    explained = table.explain(query.where, _WANTED)
    estimates = {frozenset(each.path): each for each in explained.candidates}
    print(f"  chosen because {explained.reason}")
    for names, each in sorted(plans.found.items(), key=lambda it: it[1].ms):
        of = ", ".join(rule for rule, plan in outcome.rules.items() if plan == names)
        estimate = estimates.get(frozenset(names))
        about = f"{estimate.estimated_ms:>9.2f}" if estimate else f"{'':>9}"
        told = f"{' ∩ '.join(names) or 'with planning'}{f'  <- {of}' if of else ''}"
        print(f"  {each.ms:>9.2f} ms{about} estimated{each.bytes / 1000:>10,.0f} kB  {told}")

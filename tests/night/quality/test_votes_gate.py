"""Each expectation of the gate behind score_votes stops what it is there for, and it alone does."""

from __future__ import annotations

from math import inf

import pytest

pytestmark = pytest.mark.quality
STAGE = "score_votes"
ENTRIES = "entries_scanned_in_filter"


def shapes_say(lab, spoiler):
    """Spoil a shape that nobody votes for, so that nothing hangs on it."""
    voters = {row["shape_id"] for row in lab.rows("votes")}
    lab.spoil("workload", lambda rows: spoiler(next(r for r in rows if r["shape_id"] not in voters), rows))


def legs_of(rows):
    disjuncts = {}
    for row in rows:
        disjuncts.setdefault((row["shape_id"], row["leg"]), []).append(row)
    return disjuncts.values()


def leg_says(lab, sets, spoiler):
    """Spoil a complete disjunct that votes for so many sets of structures."""
    lab.spoil(
        "votes",
        lambda rows: spoiler(next(x for x in legs_of(rows) if len(x) == sets and x[0]["is_complete"]), rows),
    )


def one_query_more(lab):
    shapes_say(lab, lambda shape, _: shape.update(queries=shape["queries"] + 1))


def one_entry_more(lab):
    shapes_say(lab, lambda shape, _: shape.update({ENTRIES: shape[ENTRIES] + 1}))


def nothing_understood(lab):
    lab.publish("votes", [])
    lab.spoil("workload", lambda rows: [r.update(shape_id=f"unparsed:{n}") for n, r in enumerate(rows)])


def too_many_shapes(lab):
    lab.settings(max_shapes_per_table=5)


def shape_of_another_table(lab):
    shapes_say(lab, lambda shape, _: shape.update(table="orders"))


def shape_without_id(lab):
    shapes_say(lab, lambda shape, _: shape.update(shape_id=None))


def _empty(shape):
    numbers = {name: 0 for name, value in shape.items() if isinstance(value, int | float)}
    return {**shape, **numbers, "instances": []}


def shape_twice(lab):
    def split(shape, rows):
        shape["queries"] -= 1
        shape["failed"] = min(shape["failed"], shape["queries"])
        rows.append({**_empty(shape), "queries": 1})

    shapes_say(lab, split)


def shape_without_latency(lab):
    shapes_say(lab, lambda shape, _: shape.update(latency_ms_sum=None))


def shape_without_queries(lab):
    shapes_say(lab, lambda shape, rows: rows.append({**_empty(shape), "shape_id": "new"}))


def shape_of_negative_latency(lab):
    shapes_say(lab, lambda shape, _: shape.update(latency_ms_sum=-1))


def more_failed_than_queries(lab):
    shapes_say(lab, lambda shape, _: shape.update(failed=shape["queries"] + 1))


def failed_scanned_more_than_all(lab):
    shapes_say(lab, lambda shape, _: shape.update({f"failed_{ENTRIES}": shape[ENTRIES] + 1}))


def vote_of_another_table(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(table="orders"))


def vote_of_unknown_shape(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(shape_id="new", saving_entries=0.0))


def _incomplete(disjunct):
    for row in disjunct:
        row["is_complete"] = False
    return disjunct


def vote_for_nothing(lab):
    leg_says(lab, 1, lambda disjunct, rows: rows.append({**_incomplete(disjunct)[0], "structures": []}))


def vote_for_unknown_kind(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(structures=["magic:l_tax"]))


def vote_for_unknown_column(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(structures=["inverted:ghost"]))


def vote_twice(lab):
    leg_says(lab, 1, lambda disjunct, rows: rows.append(_incomplete(disjunct)[0]))


def vote_without_cross(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(saving_entries_cross=None))


def infinite_harm(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(saving_entries=-inf))


def negative_square(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(saving_entries_squared=-1.0))


def infinite_cross(lab):
    leg_says(lab, 1, lambda disjunct, _: disjunct[0].update(saving_entries_cross=inf))


def set_missing(lab):
    leg_says(lab, 3, lambda disjunct, rows: rows.remove(disjunct[0]))


def saves_more_than_is_scanned(lab):
    entries = {row["shape_id"]: row[ENTRIES] for row in lab.rows("workload")}
    leg_says(
        lab,
        1,
        lambda disjunct, _: disjunct[0].update(saving_entries=entries[disjunct[0]["shape_id"]] * 1.01 + 1),
    )


CASES = {
    "queries of {table}: in shapes, and in the log": one_query_more,
    f"{ENTRIES} of {{table}}: in shapes, and in the log": one_entry_more,
    "queries of {table}: share without a shape": nothing_understood,
    "shapes of {table}: number": too_many_shapes,
    "shapes of {table}: rows of this table": shape_of_another_table,
    "shapes of {table}: missing shape_id": shape_without_id,
    "shapes of {table}: given twice": shape_twice,
    "shapes of {table}: fields with missing values": shape_without_latency,
    "queries of shapes of {table}: minimum": shape_without_queries,
    "shapes of {table}: minimum of each field": shape_of_negative_latency,
    "failed queries of shapes of {table}, and all": more_failed_than_queries,
    f"{ENTRIES} of failed queries of shapes of {{table}}, and of all": failed_scanned_more_than_all,
    "votes of {table}: rows of this table": vote_of_another_table,
    "votes of {table}: of shapes in the workload": vote_of_unknown_shape,
    "votes of {table}: for a set of indexes": vote_for_nothing,
    "votes of {table}: for indexes of a known kind": vote_for_unknown_kind,
    "votes of {table}: for columns of the table": vote_for_unknown_column,
    "votes of {table}: given twice": vote_twice,
    "votes of {table}: fields with missing values": vote_without_cross,
    "saving_entries of {table}: a number": infinite_harm,
    "saving_entries_squared of {table}: minimum": negative_square,
    "saving_entries_cross of {table}: a number": infinite_cross,
    "votes of {table}: sets of disjuncts that say they have all": set_missing,
    "saving_entries of {table}: all disjuncts of a shape, and its entries": saves_more_than_is_scanned,
}


@pytest.mark.parametrize("check", CASES, ids=lambda check: CASES[check].__name__)
def test_spoilt_votes_are_stopped_by_one_expectation(lab, check):
    CASES[check](lab)
    lab.assert_stopped(STAGE, check)


def test_without_its_expectation_a_fault_passes(lab):
    check = next(iter(CASES))
    CASES[check](lab)
    lab.assert_passes_without(STAGE, check)


def test_every_expectation_has_a_case(assert_all_covered):
    assert_all_covered(STAGE, CASES)


def test_votes_for_a_sorted_column_and_for_any_other_order(lab):
    voted = {text for row in lab.rows("votes") for text in row["structures"]}
    assert {"sorted:", "sorted:l_shipdate"} <= voted
    assert lab.failed(STAGE) == []


def test_shapes_beyond_the_cap_count_as_understood(lab):
    shapes = lab.rows("workload")
    for shape in shapes[1:]:
        for name in ("queries", "failed", ENTRIES, f"failed_{ENTRIES}"):
            shapes[0][name] += shape[name]
    lab.publish("workload", [{**shapes[0], "shape_id": "unparsed:too_many_shapes"}])
    lab.publish("votes", [])
    assert lab.failed(STAGE) == []


def test_a_weighted_query_saves_no_more_than_its_weighted_entries(lab):
    def votes_in_proportion(rows):
        for row in rows:
            row.update(saving_entries=10 * row["saving_entries"])

    lab.spoil("votes", votes_in_proportion)
    assert lab.failed(STAGE) == ["saving_entries of {table}: all disjuncts of a shape, and its entries"]
    lab.spoil("workload", lambda rows: [row.update(weight=10.0) for row in rows])
    assert lab.failed(STAGE) == []

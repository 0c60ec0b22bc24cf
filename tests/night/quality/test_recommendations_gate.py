"""Each expectation of the gate behind select_indexes stops what it is there for, and it alone does."""

from __future__ import annotations

from functools import partial

import pytest

pytestmark = pytest.mark.quality
STAGE = "select_indexes"


def advice_says(values, lab):
    lab.publish("recommendations", properties={**lab.properties("recommendations"), **values})


def saving_says(lab, **changes):
    saving = lab.properties("recommendations")["saving"]
    advice_says({"saving": {**saving, **{name: change(saving) for name, change in changes.items()}}}, lab)


def saving_lacks(name, lab):
    saving_says(lab, **{name: lambda _: None})


def chosen(rows):
    return [row for row in rows if row["verdict"] == "chosen"]


def refused(rows):
    return [row for row in rows if row["verdict"] == "refused"]


def first_says(group, values, lab):
    lab.spoil("recommendations", lambda rows: group(rows)[0].update(values))


def saves_more_than_all(lab):
    ratio = lab.properties("recommendations")["saving"]["ratio"]
    saving_says(lab, ratio=lambda _: 1.5, high=lambda _: 1.5)
    _shift_progressive(lab, 0.75 - ratio / 2, 0.75 - ratio / 2)


def _shift_progressive(lab, first, second):
    def shift(rows):
        chosen(rows)[0]["progressive_saving_ratio"] += first
        chosen(rows)[1]["progressive_saving_ratio"] += second

    lab.spoil("recommendations", shift)


def low_end_above(lab):
    saving_says(lab, low=lambda saving: saving["ratio"] + 0.01)


def high_end_below(lab):
    saving_says(lab, high=lambda saving: saving["ratio"] - 0.01)


def steps_do_not_add_up(lab):
    saving_says(lab, ratio=lambda saving: saving["ratio"] - 0.01)


def too_many_chosen(lab):
    lab.settings(max_indexes=2)


def three_star_trees(lab):
    advice_says({"star_trees": [{"saving_ratio": 0.1, "size_bytes": 10}] * 3}, lab)


def trees_save_more_than_all(lab):
    advice_says({"star_trees": [{"saving_ratio": 0.7, "size_bytes": 10}] * 2}, lab)


def trees_over_the_budget(lab):
    lab.settings(index_budget_bytes=100)
    advice_says({"star_trees": [{"saving_ratio": 0.1, "size_bytes": 101}]}, lab)


def gap_in_ranks(lab):
    lab.spoil("recommendations", lambda rows: chosen(rows)[-1].update(rank=99))


def refused_twice(lab):
    lab.spoil("recommendations", lambda rows: rows.append(refused(rows)[0]))


def unknown_column_chosen(lab):
    def rename(structure):
        kind, _, name = structure.partition(":")
        return f"{kind}:ghost" if name == first else structure

    first = chosen(lab.rows("recommendations"))[0]["column"]
    curve = lab.properties("recommendations")["curve"]
    advice_says({"curve": [{**p, "structures": [rename(s) for s in p["structures"]]} for p in curve]}, lab)
    first_says(chosen, {"column": "ghost"}, lab)


def chosen_is_indexed_already(lab):
    lab.changes["table_config_paths"] = ()
    column = chosen(lab.rows("recommendations"))[0]["column"]
    facts = lab.rows("table_facts")
    next(row for row in facts if row["column"] == column)["index_bytes"] = [("inverted_index", 10)]
    lab.publish("table_facts", facts)


def chosen_is_refused_too(lab):
    def refuse_it(rows):
        index = {key: chosen(rows)[0][key] for key in ("kind", "column")}
        rows.append({**refused(rows)[0], **index})

    lab.spoil("recommendations", refuse_it)


def step_missing(lab):
    first, second = chosen(lab.rows("recommendations"))[:2]
    moved = first["progressive_saving_ratio"] + second["progressive_saving_ratio"]

    def move(rows):
        chosen(rows)[0]["progressive_saving_ratio"] = moved
        chosen(rows)[1]["progressive_saving_ratio"] = None

    lab.spoil("recommendations", move)


SAVING = "predicted saving of {table}"
CASES = {
    **{f"{SAVING}: {name}": partial(saving_lacks, name) for name in ("low", "ratio", "high")},
    f"{SAVING}: share of the entries scanned": saves_more_than_all,
    f"{SAVING}: low end, and the saving": low_end_above,
    f"{SAVING}: share, and its high end": high_end_below,
    f"{SAVING}: less the savings of the chosen, one after the other": steps_do_not_add_up,
    "queries of {table}: advised on, and in the workload": partial(advice_says, {"queries": 1}),
    "entries of {table}: advised on, and in the workload": partial(advice_says, {"entries": 1}),
    "advice on {table}: why it ends": partial(advice_says, {"stop": "tired"}),
    "advice on {table}: whether it says why it ends": partial(advice_says, {"stop": None}),
    "chosen indexes of {table}: number": too_many_chosen,
    "chosen star-trees of {table}: number": three_star_trees,
    "predicted saving of the star-trees of {table}: share of all entries": trees_save_more_than_all,
    "chosen star-trees of {table}: estimated bytes": trees_over_the_budget,
    "ranks of chosen indexes of {table}: gaps and strangers": gap_in_ranks,
    "chosen indexes of {table}: whether the curve over K has them": partial(advice_says, {"curve": []}),
    "indexes of {table}: rows of this table": partial(first_says, refused, {"table": "orders"}),
    "indexes of {table}: verdict": partial(first_says, refused, {"verdict": "maybe"}),
    "indexes of {table}: missing verdict": partial(first_says, refused, {"verdict": None}),
    "indexes of {table}: of a known family": partial(first_says, refused, {"kind": "magic"}),
    "indexes of {table}: missing column": partial(first_says, refused, {"column": None}),
    "indexes of {table}: given twice": refused_twice,
    "chosen indexes of {table}: on columns of the table": unknown_column_chosen,
    "chosen indexes of {table}: in force already": chosen_is_indexed_already,
    "chosen indexes of {table}: refused or dropped as well": chosen_is_refused_too,
    "individual_saving_ratio of chosen indexes of {table}: missing values": partial(
        first_says, chosen, {"individual_saving_ratio": None}
    ),
    "individual_saving_ratio of chosen indexes of {table}": partial(
        first_says, chosen, {"individual_saving_ratio": 1.5}
    ),
    "progressive_saving_ratio of chosen indexes of {table}: missing values": step_missing,
    "progressive_saving_ratio of chosen indexes of {table}": lambda lab: _shift_progressive(lab, 1.5, -1.5),
    "refusals and drops of {table}: missing reason": partial(first_says, refused, {"reason": None}),
    "refusals and drops of {table}: reason": partial(first_says, refused, {"reason": "tired"}),
}


@pytest.mark.parametrize("check", CASES)
def test_spoilt_advice_is_stopped_by_one_expectation(lab, check):
    CASES[check](lab)
    lab.assert_stopped(STAGE, check)


def test_every_expectation_has_a_case(assert_all_covered):
    assert_all_covered(STAGE, CASES)


def test_a_name_from_a_query_that_is_no_column_is_not_repeated(lab):
    from starskip.night.quality.check_stage import check_stage

    first_says(refused, {"column": "top secret", "reason": "tired"}, lab)
    (verdict,) = check_stage(lab.night, STAGE)
    assert not verdict.passed
    assert "secret" not in str(verdict)
    assert "an unknown column" in str(verdict)

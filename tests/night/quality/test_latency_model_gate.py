"""Each expectation of the gate behind fit_latency_model stops what it is there for, and it alone does."""

from __future__ import annotations

from functools import partial

import pytest

pytestmark = pytest.mark.quality
STAGE = "fit_latency_model"


def model_says(lab, **values):
    properties = lab.properties("latency_model")
    lab.publish("latency_model", properties={**properties, "model": {**properties["model"], **values}})


def spoilt_model(values, lab):
    model_says(lab, **values)


def one_bin_more(lab):
    model_says(lab, bins=lab.properties("latency_model")["model"]["bins"] + 1)


def one_query_less(lab):
    model_says(lab, queries=lab.properties("latency_model")["model"]["queries"] - 1)


def more_queries_than_the_night_has(lab):
    lab.spoil("latency_bins", lambda rows: rows[0].update(queries=rows[0]["queries"] + 5000))
    model_says(lab, queries=lab.properties("latency_model")["model"]["queries"] + 5000)


def falling_quantiles(lab):
    properties = lab.properties("latency_model")
    spread = {**properties["quantiles"]["latency_ms"], "0.99": 0.0}
    properties["quantiles"] = {**properties["quantiles"], "latency_ms": spread}
    lab.publish("latency_model", properties=properties)


def bin_twice(lab):
    lab.spoil("latency_bins", lambda rows: rows.append({**rows[0], "queries": 1}))
    model = lab.properties("latency_model")["model"]
    model_says(lab, bins=model["bins"] + 1, queries=model["queries"] + 1)


def bin_without_queries(lab):
    queries = lab.rows("latency_bins")[0]["queries"]
    lab.spoil("latency_bins", lambda rows: rows[0].update(queries=0))
    model_says(lab, queries=lab.properties("latency_model")["model"]["queries"] - queries)


def bin_without_latency(lab):
    lab.spoil("latency_bins", lambda rows: rows[0].update(latency_ms=None))


def bin_of_negative_latency(lab):
    lab.spoil("latency_bins", lambda rows: rows[0].update(latency_ms=-1.0))


MODEL = "latency model of {table}"
CASES = {
    **{
        f"{n} of the {MODEL}": partial(spoilt_model, {n: -1.0})
        for n in ("intercept_ms", "alpha_ms", "beta_ms")
    },
    f"{MODEL}: missing figures of a fitted model": partial(spoilt_model, {"alpha_ms": None}),
    f"{MODEL}: R2 out of sample": partial(spoilt_model, {"r2_out_of_sample": 1.5, "no_fit": None}),
    f"{MODEL}: R2 threshold": partial(spoilt_model, {"threshold": 0.6}),
    f"{MODEL}: reason for no model": partial(spoilt_model, {"no_fit": "tired", "r2_out_of_sample": 0.9}),
    f"{MODEL}: verdict against its own figures": partial(spoilt_model, {"no_fit": None}),
    f"{MODEL}: bins, and published bins": one_bin_more,
    f"{MODEL}: queries, and queries in its bins": one_query_less,
    f"{MODEL}: queries, and queries of the night": more_queries_than_the_night_has,
    "quantiles of {table}: below a lower quantile": falling_quantiles,
    "latency bins of {table}: pooled twice": bin_twice,
    "queries of latency bins of {table}: minimum": bin_without_queries,
    "latency bins of {table}: fields with missing values": bin_without_latency,
    "latency bins of {table}: minimum of each field": bin_of_negative_latency,
}


@pytest.mark.parametrize("check", CASES)
def test_spoilt_model_is_stopped_by_one_expectation(lab, check):
    CASES[check](lab)
    lab.assert_stopped(STAGE, check)


def test_every_expectation_has_a_case(assert_all_covered):
    assert_all_covered(STAGE, CASES)


def test_an_honest_refusal_without_figures(lab):
    figures = dict.fromkeys(["intercept_ms", "alpha_ms", "beta_ms", "r2_out_of_sample"])
    model_says(lab, **figures, no_fit="no_variation")
    assert lab.failed(STAGE) == []


def test_no_model_at_all(lab):
    lab.publish("latency_model", properties={})
    assert f"{MODEL}: bins, and published bins" in lab.failed(STAGE)

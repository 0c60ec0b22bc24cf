"""Settings: one declaration, four places that they come from, and one line for what is wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from settings_with import settings_document, settings_with
from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.families.skipping.settings import SkippingSettings
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.errors import ConfigError
from starskip.settings import Settings, SettingsGroup, setting
from starskip.settings.declared import Declared
from starskip.settings.environment import environment_overrides, settings_environment
from starskip.settings.overrides import with_overrides
from starskip.settings.setting_value import shown_value, value_text

pytestmark = pytest.mark.slow

DEFAULTS = family_defaults()
DECLARED = [each for each, _ in DEFAULTS.items()]


def laid_over(overrides: Any, base: Settings = DEFAULTS, origin: str = "x") -> Settings:
    return with_overrides(base, overrides, origin=origin)


def value_at(settings: Settings, place: str) -> Any:
    return next(value for each, value in settings.items() if each.place == place)


def test_the_later_one_wins_if_it_is_present_and_zero_is_present() -> None:
    base = settings_with(min_gain_ratio=0.5, show_literals=True)
    later = {
        "advice.min_gain_ratio": 0,
        "reports": {"show_literals": False},
        "advice.max_indexes": None,
        "log": None,
    }
    found = laid_over(later, base)
    assert (found.advice.min_gain_ratio, found.reports.show_literals) == (0.0, False)
    assert found.advice.max_indexes == base.advice.max_indexes
    assert laid_over({}, base) == base


@pytest.mark.parametrize(
    ("place", "text", "value"),
    [
        ("advice.max_indexes", "3", 3),
        ("advice.max_indexes", "3.0", 3),
        ("advice.index_budget_bytes", str(2**60 + 1), 2**60 + 1),
        ("advice.index_budget_bytes", "None", None),
        ("advice.index_budget_bytes", "10MB", 10_000_000),
        ("advice.index_budget_bytes", "1.5 GiB", 3 << 29),
        ("advice.index_budget_bytes", "512k", 512_000),
        ("advice.index_budget_bytes", "1_000", 1_000),
        ("advice.index_budget_bytes", "1e6", 1_000_000),
        ("secondary.indexed_sample_bytes", "10,000 B", 10_000),
        ("advice.min_gain_ratio", "5%", 0.05),
        ("advice.min_gain_ratio", "2.8 %", 0.028),
        ("retention.vacuum_grace_hours", "7d", 168),
        ("advice.choice_time_s", "500ms", 0.5),
        ("workload.entries_scanned_threshold", "100k", 100_000),
        ("scoring.window_rows_per_table", "10,000", 10_000),
        ("advice.min_gain_ratio", "0.25", 0.25),
        ("advice.index_kinds", ["range", "star_tree"], "range,star_tree"),
        ("reports.show_literals", "TRUE", True),
        ("reports.show_literals", "no", False),
        ("reports.show_literals", 1, True),
        ("scoring.strategy", "parser", "parser"),
        ("scoring.strategy", "freq", "frequency"),
        ("scoring.pinot_version", "1.10", "1.10"),
        ("workload.query_weights", {"t": 2}, '{"t": 2}'),
        ("star_tree.max_star_trees", "6", 6),
    ],
)
def test_texts_of_files_and_environments_are_converted(place: str, text: Any, value: Any) -> None:
    found = value_at(laid_over({place: text}, settings_with(index_budget_bytes=7)), place)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("place", "value", "allowed"),
    [
        ("advice.max_indexes", "three", "a whole number of at least 1"),
        ("advice.max_indexes", "2.5", "a whole number of at least 1"),
        ("advice.max_indexes", "inf", "a whole number of at least 1"),
        ("advice.max_indexes", 0, "a whole number of at least 1"),
        ("advice.max_indexes", -1, "a whole number of at least 1"),
        ("building.verified_instances", 1_001, "a whole number from 1 to 1,000"),
        ("advice.max_indexes", True, "a whole number of at least 1"),
        ("advice.max_indexes", [1], "a whole number of at least 1"),
        ("workload.look_back_nights", "9" * 5_000, "a whole number from 1 to 3,650"),
        ("advice.index_budget_bytes", 0, "a size of at least 1 byte, such as 10MB or 1.5GiB, or none"),
        ("advice.index_budget_bytes", "10 miles", "a size of at least 1 byte, such as 10MB"),
        ("advice.index_budget_bytes", "0.1 B", "a size of at least 1 byte, such as 10MB"),
        ("advice.index_budget_bytes", "5%", "a size of at least 1 byte, such as 10MB"),
        ("advice.min_gain_ratio", "5", "a share from 0 to 1, such as 0.05 or 5%"),
        ("advice.min_gain_ratio", "101%", "a share from 0 to 1, such as 0.05 or 5%"),
        ("advice.min_gain_ratio", "0,05", "a share from 0 to 1, such as 0.05 or 5%"),
        ("retention.vacuum_grace_hours", "90 min", "a whole number from 1 to 87,600, such as 90s, 24h or 7d"),
        ("retention.vacuum_grace_hours", "11 years", "a whole number from 1 to 87,600, such as"),
        ("advice.min_gain_ratio", "nan", "a share from 0 to 1"),
        ("advice.min_gain_ratio", 1.01, "a share from 0 to 1"),
        ("advice.min_gain_ratio", "-0.1", "a share from 0 to 1"),
        (
            "advice.index_kinds",
            "inverted,bitmap",
            "all, or some of inverted, range, sorted, fst, bloom, star_tree, skip",
        ),
        ("advice.index_kinds", "Inverted; range", "all, or names of kinds separated by commas"),
        ("scoring.sufficient_column_scans", "inf", "a number of at least 0"),
        ("scoring.strategy", "guess", "one of leapfrog, estimation, parser, frequency"),
        ("scoring.strategy", ["parser"], "one of leapfrog, estimation, parser, frequency"),
        ("scoring.pinot_version", "latest", "a version such as 0.11 or 1.2.0"),
        ("log.time_zone", "../etc", "an IANA time zone such as UTC or Europe/Berlin"),
        ("log.time_zone", "", "an IANA time zone such as UTC or Europe/Berlin"),
        ("reports.show_literals", "perhaps", "true or false"),
        ("star_tree.max_star_trees", 7, "a whole number from 1 to 6"),
        ("skipping.max_skipping_size_ratio", 2, "a share from 0 to 1"),
    ],
)
def test_a_wrong_value_is_one_line_with_setting_value_and_what_is_allowed(
    place: str, value: Any, allowed: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        laid_over({place: value}, origin="night.yaml")
    assert refused.value.setting == place
    line = str(refused.value)
    assert line.startswith(f"night.yaml: {place}: ")
    assert f"is not allowed: use {allowed}" in line
    assert (value if isinstance(value, str) else repr(value))[:20] in line
    assert "\n" not in line
    assert len(line) < 300


def test_the_value_of_weights_which_may_be_a_query_is_not_shown() -> None:
    with pytest.raises(ConfigError) as refused:
        laid_over({"workload.query_weights": ["SELECT 'Miller'"]})
    assert str(refused.value).startswith(
        "x: workload.query_weights: its value is not allowed: use a JSON obj"
    )


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (
            {"gates": {"max_rejected": 1}},
            "setting 'gates.max_rejected' is not known: use gates.max_rejected_ratio, "
            "gates.max_not_understood_ratio, gates.max_unparsed_ratio, gates.max_damaged_ratio",
        ),
        (
            {"max_index": 1},
            "setting 'max_index' is not known: use advice.max_indexes, or another one of",
        ),
        ({"advise.strategy": 1}, "setting 'advise.strategy' is not known: use "),
        (
            {"zz\n": 1},
            "setting 'zz\\\\n' is not known: use group.name, or another one of the groups",
        ),
        ({"advice": 3}, "advice must map names of settings to values"),
        ({"advice": {"max_indexes": 1}, "advice.max_indexes": 2}, "advice.max_indexes is given twice: leave"),
        ({"max_star_trees": 1}, "setting 'max_star_trees' is not known: use star_tree.max_star_trees"),
    ],
)
def test_a_wrong_name_is_one_line_that_tells_the_names_that_there_are(
    overrides: dict[str, Any], line: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        with_overrides(DEFAULTS, overrides, origin="night.yaml")
    assert str(refused.value).startswith(f"night.yaml: {line}")
    assert "\n" not in str(refused.value)


def test_only_our_own_names_are_taken_from_the_environment() -> None:
    environment = {
        "STARSKIP_ADVICE__MAX_INDEXES": "3",
        "STARSKIP_SKIPPING__SAMPLED_FILES": "9",
        "STARSKIP_OTHER": "x",
        "STARSKIP_CONFIG": "night.yaml",
        "ADVICE__MAX_INDEXES": "4",
        "PATH": "/",
    }
    found = environment_overrides(environment, DEFAULTS)
    assert found == {"advice.max_indexes": "3", "skipping.sampled_files": "9"}


def test_a_number_for_a_text_is_refused_since_yaml_drops_zeros() -> None:
    for written in ("pinot_version: 1.10", "pinot_version: 0.11"):
        with pytest.raises(
            ConfigError, match=r"write it in quotes, such as pinot_version: '1\.10'"
        ) as refused:
            laid_over({"scoring": yaml.safe_load(written)}, origin="night.yaml")
        assert str(refused.value).startswith("night.yaml: scoring.pinot_version: ")
    assert laid_over({"scoring": yaml.safe_load("pinot_version: '1.10'")}).scoring.pinot_version == "1.10"


def test_a_misspelt_name_of_a_group_in_the_environment_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        environment_overrides({"STARSKIP_GATES__MAX_DAMAGED": "1"}, DEFAULTS)
    assert "STARSKIP_GATES__MAX_DAMAGED: setting 'gates.max_damaged' is not known: use" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("STARSKIP_ADVISE__MAX_INDEXES", "use advice.max_indexes, or another one of the groups"),
        ("STARSKIP_REPORT__LITERALS", "use reports.show_literals, or another one of the groups"),
        ("STARSKIP_PARTITION__MAX_INDEXES", "another one of the groups"),
        ("STARSKIP_MAX_INDEXES", "STARSKIP_MAX_INDEXES is not known: use STARSKIP_ADVICE__MAX_INDEXES"),
        ("STARSKIP_MAX_INDEXS", "STARSKIP_MAX_INDEXS is not known: use STARSKIP_ADVICE__MAX_INDEXES"),
        ("STARSKIP_ADVICE_MAX_INDEXES", "use STARSKIP_ADVICE__MAX_INDEXES"),
        ("STARSKIP_LOG_TIMEZONE", "use STARSKIP_LOG__TIME_ZONE"),
    ],
)
def test_a_name_in_the_environment_that_looks_like_a_setting_is_refused(name: str, use: str) -> None:
    with pytest.raises(ConfigError) as refused:
        environment_overrides({name: "3"}, DEFAULTS)
    assert str(refused.value).startswith(f"environment: {name}")
    assert use in str(refused.value)


@pytest.mark.parametrize(
    "name", ["CONFIG", "SPARK_EVENT_LOG", "SUBMITTED_BY", "KEYS_DIR", "DATA", "SKIPPING_CASES", "LAW_CASES"]
)
def test_names_of_other_parts_and_of_tests_are_left_alone(name: str) -> None:
    assert environment_overrides({f"STARSKIP_{name}": "3"}, DEFAULTS) == {}


TEXTS = {"pinot_version": ["0.11", "1.5.0-SNAPSHOT"], "time_zone": ["UTC", "Asia/Tokyo"]}


def values_of(declared: Declared) -> st.SearchStrategy[Any]:
    facts = declared.facts
    if declared.kind is bool:
        values: st.SearchStrategy[Any] = st.booleans()
    elif declared.kind is int:
        values = st.integers(int(facts.at_least or 0), None if facts.at_most is None else int(facts.at_most))
    elif declared.kind is float:
        values = st.floats(facts.at_least, facts.at_most, allow_nan=False, allow_infinity=False)
    elif facts.choices:
        values = st.sampled_from(facts.choices)
    elif facts.json_values:
        numbers = facts.json_values["type"] == "number"
        inside = st.integers(0, 9) if numbers else st.lists(st.text(), max_size=2)
        values = st.just("") | st.dictionaries(st.text(), inside).map(json.dumps)
    elif declared.name == "index_kinds":
        kinds = st.lists(st.sampled_from(DEFAULTS.kinds), min_size=1, unique=True)
        values = st.just("all") | kinds.map(",".join)
    else:
        values = st.sampled_from(
            {
                "pinot_version": ["0.11", "1.5.0-SNAPSHOT"],
                "time_zone": ["UTC", "Asia/Tokyo"],
                "message_field": ["", "log.message"],
                "formats": ["", "json,csv"],
            }[declared.name]
        )
    return st.none() | values if declared.is_optional else values


DRAWN = st.fixed_dictionaries({each.place: values_of(each) for each in DECLARED})


@given(DRAWN)
def test_settings_are_what_they_are_read_back_as_from_every_place(values: dict[str, Any]) -> None:
    settings = DEFAULTS.changed(values)
    assert {each.place: value for each, value in settings.items()} == values
    texts = {place: value_text(value) for place, value in values.items()}
    environment = {**settings_environment(texts), "PATH": "/"}
    assert laid_over(environment_overrides(environment, DEFAULTS)) == settings
    assert laid_over(dict(f"{place}={text}".split("=", 1) for place, text in texts.items())) == settings
    shown = {each.place: shown_value(each, value) for each, value in settings.items()}
    assert laid_over(shown) == settings
    assert laid_over(yaml.safe_load(yaml.safe_dump(settings_document(settings)))) == settings


def test_settings_that_are_made_with_a_value_that_no_night_can_run_with_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"star_tree\.max_star_trees: 0 is not allowed: use a whole number"):
        StarTreeSettings(max_star_trees=0)
    with pytest.raises(ConfigError, match=r"advice\.index_budget_bytes: 1\.5 is not allowed"):
        DEFAULTS.changed({"advice.index_budget_bytes": 1.5})


@dataclass(frozen=True, slots=True)
class PartitionSettings(SettingsGroup):
    """The group of a family of a user's own."""

    group = "partition"
    heading = "Which partitions are advised"

    max_indexes: int = setting(4, "Partitioned columns of a table.", title="Columns", at_least=1, at_most=9)


def test_a_family_brings_a_group_which_is_read_as_those_of_the_core() -> None:
    base = Settings(families=(StarTreeSettings(), PartitionSettings()))
    found = laid_over({"partition": {"max_indexes": "5"}}, base)
    assert found.of(PartitionSettings).max_indexes == 5
    assert found.advice.max_indexes == 8
    environment = {"STARSKIP_PARTITION__MAX_INDEXES": "6"}
    assert environment_overrides(environment, base) == {"partition.max_indexes": "6"}
    with pytest.raises(ConfigError, match=r"x: partition\.max_indexes: 10 is not allowed: use .* 1 to 9"):
        laid_over({"partition.max_indexes": 10}, base)
    with pytest.raises(ConfigError, match=r"setting 'partition\.max_indexes' is not known"):
        laid_over({"partition.max_indexes": 5})
    assert Settings().of(SkippingSettings) == SkippingSettings()
    with pytest.raises(ConfigError, match="two groups of settings are called partition"):
        Settings(families=(PartitionSettings(), PartitionSettings()))


@dataclass(frozen=True, slots=True)
class Misnamed(SettingsGroup):
    """A group of which no environment variable could be told apart."""

    group = "my__Group"
    heading = "None"


def test_what_no_settings_can_be_made_of_is_refused() -> None:
    with pytest.raises(ConfigError, match="group of settings 'my__Group': use small letters, digits and"):
        Settings(families=(Misnamed(),))
    with pytest.raises(ConfigError, match=r"there is no setting advice\.max_index$"):
        DEFAULTS.changed({"advice.max_index": 3})


def test_a_group_whose_fields_are_not_declared_is_refused() -> None:
    @dataclass(frozen=True)
    class Bare(SettingsGroup):
        group = "bare"
        most: int = 3

    with pytest.raises(TypeError, match=r"Bare\.most: a setting is bool, int, float or str"):
        Bare()


@pytest.mark.parametrize("declared", DECLARED, ids=lambda each: each.place)
def test_every_setting_says_what_it_is(declared: Declared) -> None:
    assert 20 < len(declared.facts.help) < 110
    assert declared.facts.help.endswith(".")
    if declared.kind in (int, float):
        assert declared.facts.unit
        assert declared.facts.at_least is not None
    if declared.name.endswith("_ratio"):
        assert (declared.facts.unit, declared.facts.at_least, declared.facts.at_most) == ("share", 0, 1)


def test_groups_stand_in_the_order_of_a_night_and_are_fields_of_the_settings() -> None:
    assert [group.group for group in Settings().groups] == [
        "log",
        "workload",
        "advice",
        "scoring",
        "latency",
        "building",
        "scale",
        "gates",
        "deployment",
        "reports",
        "retention",
        "notifications",
    ]
    assert all(getattr(Settings(), group.group) == group for group in Settings().groups)

"""The trigger form as a person meets it: tables to choose from, and a number that nobody corrects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.ui, pytest.mark.dags, pytest.mark.filterwarnings("default")]

TIMEOUT_MS = 60_000
"""For a shared machine; no time is asserted."""


@pytest.fixture
def form(page: Any, browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The form of a person who has logged in and pressed Trigger."""
    with browser.new_context(viewport={"width": 1440, "height": 1400}) as context:
        context.set_default_timeout(TIMEOUT_MS)
        tab = context.new_page()
        tab.goto(f"{page.address}/")
        tab.fill("input[name=username]", "admin")
        tab.fill("input[name=password]", page.password)
        tab.click("button[type=submit]")
        tab.wait_for_url(f"{page.address}/")
        tab.goto(f"{page.address}/dags/index_advisor_nightly")
        tab.get_by_role("button", name="Trigger Dag").click()
        tab.get_by_text("Trigger Dag - index_advisor_nightly").wait_for()
        yield tab
        tab.screenshot(path=tmp_path / "last.png")


def test_tables_are_chosen_and_a_number_out_of_bounds_is_one_clear_error(form: Any) -> None:
    form.get_by_role("combobox", name="Select one or multiple values").first.focus()
    form.keyboard.press("ArrowDown")
    choices = form.get_by_role("option")
    choices.first.wait_for()
    assert choices.all_inner_texts() == ["airlineStats", "lineitem"]
    choices.last.click()
    form.get_by_text("What is built and checked").click()
    number = form.locator('input[name="element_building.verified_instances"]')
    number.fill("1001")
    number.blur()
    # Wherever the field has limits of its own, the nearest stands here now.
    assert number.input_value().replace(",", "") == "1001"
    form.get_by_role("dialog").get_by_role("button", name="Trigger").click()
    refused = "Invalid input for param building.verified_instances: 1001 is greater than the maximum of 1000"
    form.get_by_text(refused).first.wait_for()

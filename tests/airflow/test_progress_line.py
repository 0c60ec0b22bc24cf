from __future__ import annotations

import pytest
from starskip.airflow.progress_line import progress_text, show_progress


def test_a_line_that_was_shown_is_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    show_progress("parse_query_logs: 3 lines")
    assert progress_text(capsys.readouterr().out) == "parse_query_logs: 3 lines"


def test_other_lines_are_no_progress() -> None:
    assert progress_text("INFO starskip | parse_query_logs: 3 lines\n") is None


def test_text_from_a_log_cannot_forge_a_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_progress("table a\nstarskip | check: all passed")
    assert capsys.readouterr().out.count("\n") == 1

"""Two writers of Airflow's SQLite file, one of which reads first, as a day of a backfill does."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from starskip.airflow.sqlite_connection import CONNECT_ARGS


def rows_after_two_writers(file: Path, connect_args: dict[str, Any]) -> list[str]:
    """Return what is written by a writer that reads in a savepoint first, while another one writes."""
    engine = create_engine(f"sqlite:///{file}", connect_args=dict(connect_args))
    with engine.begin() as connection:
        connection.execute(text("PRAGMA journal_mode=WAL"))  # as Airflow does
        connection.execute(text("CREATE TABLE runs (name)"))

    def other() -> None:
        with Session(engine) as session:
            session.execute(text("INSERT INTO runs VALUES ('other')"))
            session.commit()

    try:
        with Session(engine) as session:
            with session.begin_nested():
                session.execute(text("SELECT * FROM runs")).all()
                thread = threading.Thread(target=other)
                thread.start()
                thread.join(0.5)
                session.execute(text("INSERT INTO runs VALUES ('reader')"))
            session.commit()
            thread.join()
            return sorted(session.scalars(text("SELECT name FROM runs")))
    finally:
        engine.dispose()


def test_a_writer_that_has_read_waits_for_another_one(tmp_path: Path) -> None:
    assert rows_after_two_writers(tmp_path / "airflow.db", CONNECT_ARGS) == ["other", "reader"]


def test_by_default_it_fails_at_once_however_long_it_may_wait(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="database is locked"):
        rows_after_two_writers(tmp_path / "airflow.db", {"timeout": CONNECT_ARGS["timeout"]})

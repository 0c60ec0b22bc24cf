from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from starskip.airflow.airflow_environment import (
    airflow_environment,
    has_file_database,
    private_home,
    shell_commands,
)

CHECKOUT = Path("/a/checkout")


def test_another_airflow_or_spark_of_the_caller_is_neither_used_nor_changed() -> None:
    caller = {
        "AIRFLOW_HOME": "/other",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://production",
        "AIRFLOW__CORE__EXECUTOR": "KubernetesExecutor",
        "SPARK_HOME": "/opt/spark",
        "PYSPARK_DRIVER_PYTHON": "ipython",
        "PYTHONPATH": "/other/code",
        "HOME": "/home/me",
    }
    found = airflow_environment(CHECKOUT, caller)
    assert not {"SPARK_HOME", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "AIRFLOW__CORE__EXECUTOR"} & found.keys()
    assert found["AIRFLOW_HOME"] == "/a/checkout/.airflow"
    assert found["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "sqlite:////a/checkout/.airflow/airflow.db"
    assert found["HOME"] == "/home/me"


def test_spark_is_local_unless_the_caller_has_a_connection() -> None:
    assert json.loads(airflow_environment(CHECKOUT, {})["AIRFLOW_CONN_SPARK_DEFAULT"])["host"] == "local[2]"
    given = {"AIRFLOW_CONN_SPARK_DEFAULT": "spark://cluster:7077", "STARSKIP_CONFIG": "mine.yaml"}
    assert given.items() <= airflow_environment(CHECKOUT, given).items()


def test_a_database_that_the_caller_gives_is_used_but_not_that_of_another_airflow() -> None:
    given = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql+psycopg2://me:secret@db/airflow"}
    home = CHECKOUT / ".airflow"
    found = airflow_environment(CHECKOUT, given)
    assert given.items() <= found.items()
    assert not has_file_database(found, home)
    assert given.items() <= airflow_environment(CHECKOUT, {**given, "AIRFLOW_HOME": str(home)}).items()
    other = airflow_environment(CHECKOUT, {**given, "AIRFLOW_HOME": "/other"})
    assert has_file_database(other, home)
    command = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD": "cat /run/secrets/database"}
    found = airflow_environment(CHECKOUT, command)
    assert command.items() <= found.items()
    assert "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" not in found
    assert has_file_database(airflow_environment(CHECKOUT, {}), home)


def test_who_shares_the_file_waits_for_the_others_and_a_given_database_is_left_alone() -> None:
    names = {f"AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS{mode}" for mode in ("", "_ASYNC")}
    found = airflow_environment(CHECKOUT, {})
    (place,) = {found[name] for name in names}
    module, _, name = place.rpartition(".")
    assert getattr(import_module(module), name)["timeout"] >= 60
    given = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql+psycopg2://me:secret@db/airflow"}
    assert not names & airflow_environment(CHECKOUT, given).keys()


def test_a_database_of_the_callers_comes_with_its_key_and_the_backend_of_its_secret() -> None:
    kept = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_SECRET": "airflow/database",
        "AIRFLOW__SECRETS__BACKEND": "a.Vault",
        "AIRFLOW__SECRETS__BACKEND_KWARGS": "{}",
        "AIRFLOW__CORE__FERNET_KEY": "its key",
    }
    found = airflow_environment(CHECKOUT, {**kept, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": ""})
    assert kept.items() <= found.items()
    assert "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" not in found
    assert not has_file_database(found, CHECKOUT / ".airflow")


def test_a_key_without_its_database_or_of_another_airflow_is_not_used() -> None:
    key = {"AIRFLOW__CORE__FERNET_KEY": "of another", "AIRFLOW__SECRETS__BACKEND": "a.Vault"}
    given = {**key, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://production"}
    for caller in (key, {**given, "AIRFLOW_HOME": "/other"}):
        found = airflow_environment(CHECKOUT, caller)
        assert has_file_database(found, CHECKOUT / ".airflow")
        assert not found.keys() & key.keys()


def test_the_printed_exports_hold_no_secret_that_the_caller_has_given() -> None:
    given = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql+psycopg2://me:s3cret@db/airflow"}
    command = [sys.executable, "-m", "starskip.airflow.airflow_environment"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    ran = subprocess.run(command, env={**kept, **given}, capture_output=True, text=True, check=True)
    assert "export AIRFLOW_HOME=" in ran.stdout
    assert "s3cret" not in ran.stdout


def test_a_shell_forgets_what_another_airflow_has_set_and_keeps_its_own() -> None:
    caller = {"AIRFLOW__CORE__EXECUTOR": "KubernetesExecutor", "HOME": "/home/me", "PATH": "/bin"}
    commands = shell_commands(caller, {"HOME": "/home/me", "PATH": "/a b/bin:/bin"})
    assert commands == ["unset AIRFLOW__CORE__EXECUTOR", "export PATH='/a b/bin:/bin'"]


def test_the_printed_commands_make_that_environment() -> None:
    caller = {"PATH": os.environ["PATH"], "AIRFLOW__CORE__EXECUTOR": "Other", "SPARK_HOME": "/opt/spark"}
    module = f'"{sys.executable}" -m starskip.airflow.airflow_environment'
    ran = subprocess.run(
        ["/bin/sh", "-c", f'eval "$({module})" && env'],
        env=caller,
        capture_output=True,
        text=True,
        check=True,
    )
    made = dict(line.split("=", 1) for line in ran.stdout.splitlines())
    wanted = airflow_environment(Path.cwd(), caller)
    assert wanted.items() <= made.items()
    assert made.keys() - wanted.keys() <= {"PWD", "SHLVL", "_", "OLDPWD"}


def test_only_a_local_spark_is_bound_to_this_machine() -> None:
    assert airflow_environment(CHECKOUT, {})["SPARK_LOCAL_IP"] == "127.0.0.1"
    cluster = {"AIRFLOW_CONN_SPARK_DEFAULT": "spark://cluster:7077"}
    assert "SPARK_LOCAL_IP" not in airflow_environment(CHECKOUT, cluster)


def test_everything_is_told_the_same_port_and_listens_here_only() -> None:
    found = airflow_environment(CHECKOUT, {}, port=18080)
    assert found["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert found["AIRFLOW__API__PORT"] == "18080"
    assert found["AIRFLOW__API__BASE_URL"] == "http://127.0.0.1:18080"
    assert found["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:18080/execution/"


@pytest.fixture(autouse=True)
def _mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_home_that_all_could_read_is_ours_alone_from_now_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    assert private_home(home) == home / "logs"
    assert mode(home) == 0o700
    assert (home / "logs").is_dir()
    private_home(home)


@pytest.mark.parametrize(("mask", "of_folder", "of_file"), [(0o022, 0o750, 0o640), (0o002, 0o770, 0o660),
                                                            (0o077, 0o700, 0o600)])  # fmt: skip
def test_what_is_written_elsewhere_is_kept_from_others_and_not_from_a_group_that_shares_it(
    tmp_path: Path, mask: int, of_folder: int, of_file: int
) -> None:
    os.umask(mask)
    private_home(tmp_path / "home")
    (tmp_path / "artefacts").mkdir()
    (tmp_path / "artefacts" / "file").touch()
    assert mode(tmp_path / "artefacts") == of_folder
    assert mode(tmp_path / "artefacts" / "file") == of_file

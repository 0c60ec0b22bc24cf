"""A deployment of the wheel: an environment, a DAG file, a configuration and what it reads; no checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[1]
UV = Path(sys.executable).parent / "uv"
NIGHT = "2026-11-20"
TABLE = "airlineStats"
_DAG_FILE = """from starskip.airflow import index_advisor_dag

dag = index_advisor_dag(config={config!r}, schedule="30 1 * * *")
"""
_CONFIG = f"""store: {{artefacts: artefacts}}
sources:
  log_paths: [logs]
  segments_root: segments
  table_configs: [config/{TABLE}_table.json]
"""
_PARSED = """
from airflow.dag_processing.dagbag import DagBag

bag = DagBag()
for name, dag in bag.dags.items():
    print(name, len(dag.tasks), "tasks")
print(bag.import_errors or "")
"""


class CommandFailed(Exception):
    """A command of a deployment ended with another code than 0; the text is the end of what it printed."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A folder that a deployment lies in, whole."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, python: str = sys.executable) -> Deployment:
        """Return a deployment of a Python in a folder, with the files of a night, and nothing installed."""
        deployment = cls(folder)
        folder.mkdir(exist_ok=True)
        _done([UV, "venv", "--quiet", "--seed", "--python", python, deployment.environment])
        deployment._write_files()
        return deployment

    @property
    def environment(self) -> Path:
        return self.folder / "venv"

    def install(self, wheel: Path, extras: Sequence[str] = (), *, by_pip: bool = False) -> None:
        """Install the wheel with extras into the environment, in the pinned versions.

        uv takes packages from its cache, and asks a registry only for what the cache has not. Links into the
        cache cost neither the disk nor the memory that the folder may lie in.
        """
        pins = (CHECKOUT / "requirements.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        listed = self.folder / "pins.txt"
        listed.write_text("".join(line for line in pins if not line.startswith("-e")), encoding="utf-8")
        wanted = ["-c", str(listed), f"starskip[{','.join(extras)}] @ {wheel.absolute().as_uri()}"]
        if by_pip:
            _done([self.environment / "bin" / "python", "-m", "pip", "install", "--quiet", *wanted])
            return
        install = [UV, "pip", "install", "--quiet", "--link-mode", "symlink", "--python", self.environment]
        try:
            _done([*install, "--offline", *wanted])
        except CommandFailed:
            _done([*install, *wanted])

    def _write_files(self) -> None:
        """Copy a table of the sample, and write the configuration and the DAG file of its nights."""
        sample = CHECKOUT / "include" / "sample"
        for each in ("logs", "config", f"segments/{TABLE}"):
            shutil.copytree(sample / each, self.folder / each)
        config = self.folder / "night.yaml"
        config.write_text(_CONFIG, encoding="utf-8")
        (self.folder / "dags").mkdir()
        dag_file = _DAG_FILE.format(config=str(config))
        (self.folder / "dags" / "nightly.py").write_text(dag_file, encoding="utf-8")

    def run(self, *command: str) -> str:
        """Return what a command of the environment prints, in a shell that knows nothing of the checkout."""
        java = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
        environment = {
            **java,
            "PATH": os.pathsep.join([str(self.environment / "bin"), "/usr/bin", "/bin"]),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "AIRFLOW_HOME": str(self.folder / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        }
        return _done(command, cwd=self.folder, env=environment)

    def parse_dags(self) -> str:
        """Return a line for each DAG, and the errors of DAG files."""
        return self.run("python", "-c", _PARSED)

    def tune(self) -> str:
        """Return the advice for the sample's log."""
        read = ("--log", "logs", "--segments", "segments")
        return self.run("starskip", "tune", *read, "--index", "inverted", "--max-indexes", "3")

    def run_stages(self) -> str:
        """Run the night of the table in one process; return what it prints."""
        return self.run("starskip", "stage", "all", "--config", "night.yaml", "--run-date", NIGHT)

    def run_night(self) -> str:
        """Run the night of the table as Airflow does, each stage a job of Spark; return what it prints."""
        self.run("airflow", "db", "migrate")
        asked = json.dumps({"run_date": NIGHT, "tables": [TABLE]})
        return self.run("airflow", "dags", "test", "index_advisor_nightly", "--conf", asked)


def _done(command: Sequence[str | Path], **kwargs: Any) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if ran.returncode != 0:
        raise CommandFailed(
            f"{command[0]} ended with {ran.returncode}: {ran.stdout[-5000:]}{ran.stderr[-5000:]}"
        )
    return ran.stdout

"""Describe what is submitted: one stage of one night as a job of Spark, whoever submits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from starskip.airflow.spark_settings import connection_settings, may_be_secret
from starskip.airflow.submitters.target import Target
from starskip.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SparkJob:
    """A job: the file that Spark runs, its arguments, its environment, and settings of Spark.

    ``file``: empty for the file of the installed package. ``secret_conf``: the settings of Spark that must
    stand in no log and on no command line. ``receipt``: the token among the arguments, under which the job
    says how it ended.
    """

    name: str
    arguments: tuple[str, ...]
    receipt: str
    file: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    secret_conf: Mapping[str, str] = field(default_factory=dict)
    py_files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()

    @property
    def local_file(self) -> str:
        """The file on this machine."""
        return self.file or str(files("starskip.night.job") / "run_stage.py")

    def conf_with_environment(self, prefix: str) -> dict[str, str]:
        """Return the settings of Spark, with the environment as settings that begin with ``prefix``."""
        return {**self.conf, **{f"{prefix}{name}": value for name, value in self.environment.items()}}

    def without_secrets(self, service: str, identity: str) -> SparkJob:
        """Return the job; raise ConfigError, which quotes no value, if ``service`` would be told a secret."""
        if self.secret_conf:
            name = next(iter(self.secret_conf))
            raise ConfigError(
                f"{name} may be secret, and {service} writes the settings of a job into logs: leave it out, "
                f"and let the job use {identity}",
                setting=name,
            )
        return self


def job_for(
    target: Target,
    configured: Mapping[str, str],
    *,
    name: str,
    arguments: tuple[str, ...] = (),
    receipt: str = "",
    environment: Mapping[str, str] | None = None,
) -> SparkJob:
    """Return a job with the files and the settings of Spark that the connection gives it.

    ``configured``: the settings of Spark in the night's configuration, which win over the connection's.
    """
    settings = {**connection_settings(target.connection, target.extra), **configured}
    secrets = {each: value for each, value in settings.items() if may_be_secret(each, value)}
    return SparkJob(
        name=name,
        arguments=arguments,
        receipt=receipt,
        file=str(target.extra.get("job_file", "")),
        environment=environment or {},
        conf={each: value for each, value in settings.items() if each not in secrets},
        secret_conf=secrets,
        py_files=target.texts("py_files"),
        archives=target.texts("archives"),
    )

"""A session for predicates of logs, isolated from the settings of the user's session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from starskip.spark.skipping.relation_facts import ENABLED

_SETTINGS = {
    # Text from a log must not read environment variables.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    # Rows with maps are hashed, too: a file always gives a map's entries in the same order.
    "spark.sql.legacy.allowHashOnMapType": "true",
    ENABLED: "false",
}


def isolated_session(spark: SparkSession) -> SparkSession:
    """Return a clone of ``spark``, with its functions and views, in which nothing is skipped."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    isolate(session)
    return session


def isolate(session: SparkSession) -> None:
    """Set the settings that predicates of logs need."""
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)

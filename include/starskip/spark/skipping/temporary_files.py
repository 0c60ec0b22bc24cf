"""Warn where Spark's own temporary files would hold values that are to be encrypted."""

from __future__ import annotations

import logging

from pyspark.sql import SparkSession

from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.table_metadata import TableMetadata

IO_ENCRYPTION = "spark.io.encryption.enabled"
"""The setting by which Spark encrypts files that it shuffles and spills to, read when a session starts."""
log = logging.getLogger("starskip.skipping")


def warn_of_plain_files(spark: SparkSession, existing: TableMetadata | None, encryption: Encryption) -> None:
    """Warn if values will be encrypted that Spark meanwhile writes unencrypted to its local folders."""
    is_encrypted = bool(encryption.indexes or encryption.listing or (existing and existing.state.keys.names))
    if is_encrypted and spark.sparkContext.getConf().get(IO_ENCRYPTION, "false") != "true":
        log.warning(
            "%s is not true: while indexes are collected, files that Spark shuffles hold values of encrypted "
            "columns in plain; start Spark with it",
            IO_ENCRYPTION,
        )

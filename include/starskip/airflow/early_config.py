"""The configuration of a DAG's nights, as far as it can be read where Airflow imports the DAG file.

The report pages are shown by the API server, which may not see that file: what they need of it travels in
the DAG, as Airflow stores it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starskip.errors import StarskipError
from starskip.night.configuration.config_document import ConfigDocument, config_document
from starskip.storage.files.object_url import object_url


@dataclass(frozen=True, slots=True)
class EarlyConfig:
    """A configuration by its place; without a document it lies in an object store, or has a ``problem``."""

    place: str
    document: ConfigDocument | None
    problem: str = ""

    def report_source(self) -> dict[str, Any]:
        """Return what the report pages need, as JSON: where the store is, and which tables are configured.

        A configuration in an object store is named alone: the pages read it themselves.
        """
        if self.document is None:
            return {"config": self.place, "problem": self.problem}
        try:
            store = self.document.beside(self.document.text("store.artefacts"))
            tables = self.document.texts("tables")
        except StarskipError as error:
            return {"config": self.place, "problem": str(error)}
        return {"config": self.place, "store": store, "tables": tables}


def early_config(place: str) -> EarlyConfig:
    """Read the configuration, unless it lies in an object store.

    Airflow imports a DAG file too often to wait for a network, and a configuration that is wrong must not
    lose the DAG: its first task reports the fault.
    """
    try:
        return EarlyConfig(place, None if object_url(place) else config_document(place))
    except StarskipError as error:
        return EarlyConfig(place, None, str(error))
    except OSError as error:
        return EarlyConfig(place, None, f"cannot read the configuration {place}: {error.strerror}")

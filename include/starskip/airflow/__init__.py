"""The only importer of Airflow: the nightly DAG, its operators and trigger form, and the report pages.

A DAG file asks for its DAG here; what makes it is imported when it is asked for, since every module of
this folder imports this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starskip.extras import needing_extra

if TYPE_CHECKING:
    from starskip.airflow.apply_dag import index_advisor_apply_dag
    from starskip.airflow.nightly_dag import index_advisor_dag

__all__ = ["index_advisor_apply_dag", "index_advisor_dag"]


def __getattr__(name: str) -> Any:
    """Return the public name; Airflow is imported with it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needing_extra("airflow"):
        from starskip.airflow.apply_dag import index_advisor_apply_dag
        from starskip.airflow.nightly_dag import index_advisor_dag
    return {each.__name__: each for each in (index_advisor_apply_dag, index_advisor_dag)}[name]

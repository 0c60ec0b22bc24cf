"""The report pages, where Airflow does not find them by the entry point of an installed package."""

from importlib.metadata import entry_points

if not [each for each in entry_points(group="airflow.plugins") if each.name == "starskip_reports"]:
    from starskip.airflow.reports_plugin import StarskipReports as StarskipReports

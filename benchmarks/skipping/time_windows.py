"""ST_Contains in windows of time: figures 9 and 10 of "Extensible Data Skipping", on files that are read."""

from __future__ import annotations

import shapely
from skipping.functions import register
from skipping.measured_query import Measured, measured, median_of, use
from skipping.paper_tables import PaperTables
from skipping.weather_files import MEASURES, TRIANGLE

WINDOWS = (1, 2, 5, 12, 60)
INDEXES = ("minmax:ts", "minmax:lat", "minmax:lng")


def print_figures_9_and_10(tables: PaperTables, runs: int) -> list[str]:
    """Run the query in each window in three ways and print both figures; return wrong answers."""
    register(tables.spark)
    built = tables.built("weather", INDEXES)
    lng_least, lat_least, lng_most, lat_most = shapely.from_wkt(TRIANGLE).bounds
    contains = f"ST_Contains('{TRIANGLE}', lat, lng)"
    bounds = f"lat BETWEEN {lat_least} AND {lat_most} AND lng BETWEEN {lng_least} AND {lng_most}"
    ways = {
        "plain": (None, contains),
        "rewritten": (None, f"{contains} AND {bounds}"),
        "skipping": (built.root, contains),
    }
    every = ", ".join(f"max({name})" for name in ("ts", "lat", "lng", *MEASURES))
    found: dict[int, dict[str, Measured]] = {}
    problems = []
    for window in (each for each in WINDOWS if each <= tables.weather.months):
        months = f"month >= '{tables.weather.month(0)}' AND month <= '{tables.weather.month(window - 1)}'"
        of = found[window] = {}
        for way, (root, condition) in ways.items():
            sql = f"SELECT count(*), {every} FROM weather WHERE {condition} AND {months}"
            use(tables.spark, root)
            if window == WINDOWS[0]:
                measured(tables.spark, sql)
            of[way] = median_of([measured(tables.spark, sql) for _ in range(runs)])
            if of[way].answer != of["plain"].answer or (window == 60 and not of[way].answer[0]):
                problems.append(f"figures 9 and 10, {window} months, {way}: {of[way].answer[:4]}")
    use(tables.spark, None)
    _print_figure(
        "Figure 9: Effects of skipping versus no skipping for ST_Contains applied to the weather dataset "
        "with varying\ntime window sizes",
        found,
        "plain",
        f"min/max of ts, lat, lng: {built.size_bytes / 1e6:.2f} MB, made in {built.seconds:.1f} s",
    )
    _print_figure(
        "Figure 10: Effects of skipping versus rewrite approach for ST_Contains applied to the weather "
        "dataset with varying\ntime window sizes",
        found,
        "rewritten",
        "rewritten: with lat BETWEEN … AND lng BETWEEN …, by which Parquet's footers tell what not to read",
    )
    return problems


def _print_figure(title: str, found: dict[int, dict[str, Measured]], other: str, note: str) -> None:
    print(f"\n{title}\n({note})")
    print(
        f"{'months':>6} | {other + ': files':>16} {'MB':>9} {'s':>7} | {'skipping: files':>15} {'MB':>8} "
        f"{'s':>7} {'metadata MB':>12} {'s':>6} | {'times faster':>12} {'fewer bytes':>12}"
    )
    for window, of in found.items():
        than, ours = of[other], of["skipping"]
        print(
            f"{window:>6} | {than.files:>16,} {than.all_bytes / 1e6:>9.1f} {than.seconds:>7.2f} | "
            f"{ours.files:>15,} {ours.data_bytes / 1e6:>8.1f} {ours.seconds:>7.2f} "
            f"{ours.metadata_bytes / 1e6:>12.2f} {ours.metadata_s:>6.3f} | "
            f"{than.seconds / ours.seconds:>11.1f}x {than.all_bytes / ours.all_bytes:>11.1f}x"
        )

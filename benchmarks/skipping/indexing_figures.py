"""Time and size of indexes: table II and figure 7 of "Extensible Data Skipping"."""

from __future__ import annotations

from skipping.database_logs import TEXT_COLUMNS
from skipping.paper_tables import PaperTables
from skipping.weather_files import MEASURES

AFFIX = 15
HYBRID_COLUMNS = (1, 2, 4, 8)
MIN_MAX_COLUMNS = (1, 2, 4, 8, 16, 32)


def print_table_2(tables: PaperTables) -> list[str]:
    """Build each index alone and print the size of its column, its own, and the time."""
    print("\nTable II: Indexing Statistics")
    print(
        f"{'Index Type':<14} {'Column':<14} {'Col Size (MB)':>14} {'Num. Objects':>13} {'MD Size (kB)':>13} "
        f"{'Indexing Time (s)':>18} {'MD of Col':>10}"
    )
    of_log = [
        ("ValueList", "valuelist:db_name", "db_name"),
        ("BloomFilter", "bloom:db_name:0.01", "db_name"),
        ("Hybrid", tables.hybrid("db_name"), "db_name"),
        (f"Prefix({AFFIX})", f"prefix:db_name:{AFFIX}", "db_name"),
        (f"Suffix({AFFIX})", f"suffix:db_name:{AFFIX}", "db_name"),
        ("ValueList", "valuelist:account_name", "account_name"),
        ("BloomFilter", "bloom:account_name:0.01", "account_name"),
        ("Hybrid", tables.hybrid("account_name"), "account_name"),
        ("Formatted", "formatted:user_agent:user_agent", "user_agent"),
        ("MinMax", "minmax:duration_ms", "duration_ms"),
    ]
    rows = [("logs", *each) for each in of_log] + [("weather", "MinMax", "minmax:temp", "temp")]
    for name, title, index, column in rows:
        built = tables.built(name, [index])
        size = tables.column_bytes(name, column)
        print(
            f"{title:<14} {column:<14} {size / 1e6:>14.2f} {len(tables.paths(name)):>13,} "
            f"{built.size_bytes / 1e3:>13,.1f} {built.seconds:>18.1f} {built.size_bytes / size:>10.2%}"
        )
    print("A hybrid index has the threshold that the inequality of IV-E gives for files of this size:")
    print(f"{tables.hybrid('db_name')}. Files of a log where it was met by the paper have some 170 MB.")
    return []


def print_figure_7(tables: PaperTables) -> list[str]:
    """Build indexes of some columns together and one by one, and print time and size."""
    print("\nFigure 7: Indexing time/size vs #columns with Hybrid (cloud database logs) and MinMax (weather)")
    print(f"{'Index Type':<10} {'#columns':>8} {'s together':>11} {'s one by one':>13} {'MD Size (kB)':>13}")
    hybrid = [tables.hybrid(column) for column in TEXT_COLUMNS]
    for count in HYBRID_COLUMNS:
        together = tables.built("logs", hybrid[:count])
        alone = sum(tables.built("logs", [index]).seconds for index in hybrid[:count])
        print(
            f"{'Hybrid':<10} {count:>8} {together.seconds:>11.1f} {alone:>13.1f} "
            f"{together.size_bytes / 1e3:>13,.1f}"
        )
    min_max = [f"minmax:{column}" for column in ("lat", "lng", *MEASURES)]
    for count in MIN_MAX_COLUMNS:
        together = tables.built("weather", min_max[:count])
        print(
            f"{'MinMax':<10} {count:>8} {together.seconds:>11.1f} {'':>13} "
            f"{together.size_bytes / 1e3:>13,.1f}"
        )
    return []

"""A log of requests to databases in a cloud as many Parquet files, the same at every making.

As the cloud database logs of "Extensible Data Skipping", section V: requests of a day, laid out by
``account_name`` within the day. Few accounts make most requests, and some accounts have thousands of
databases. Names are long; their beginning tells the account, their end the database. Each account has some
programs, and a crawler or scanner comes by at random, for few rows each. 10 days of 20 files of 16,000 rows
are 0.2 GB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TEXT_COLUMNS = (
    "account_name",
    "db_name",
    "http_request",
    "user_agent",
    "method",
    "region",
    "client_ip",
    "request_id",
)
"""Columns of texts, in the order in which figure 7 indexes them."""
_CHANCE = 2020
_ACCOUNTS = 500
_MOST_DATABASES = 5000
_RARE = 1 / 2500
_DAY_US = 86_400_000_000
_START_US = 1_577_836_800_000_000  # 2020-01-01 in UTC
_SERVICES = ("orders", "inventory", "sessions", "telemetry", "profiles", "audit", "billing", "catalogue")
_CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome"
_PROGRAMS = (
    "python-requests/2.{}.0",
    "okhttp/4.{}.1",
    "Go-http-client/1.{}",
    "Apache-HttpClient/4.{} (Java/11)",
    "axios/1.{}.0",
    "PostmanRuntime/7.{}.0",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {_CHROME}/{{}}.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/{}.0",
    "curl/8.{}",
    "aws-sdk-java/1.{}",
)
_VISITORS = tuple(
    f"{name}{kind}/1.{number} (+http://{name.lower()}.example)"
    for number, name in enumerate(("Acme", "Zor", "Quix", "Luma", "Brim", "Fenn", "Hask", "Jolt", "Pell"))
    for kind in ("Bot", "Crawler", "Spider")
)


@dataclass(frozen=True)
class DatabaseLogs:
    """``days`` of ``day_files`` files of ``rows`` rows each."""

    days: int
    day_files: int
    rows: int

    @property
    def name(self) -> str:
        """The name of the folder that they are kept in."""
        return f"database-logs-{self.days}x{self.day_files}x{self.rows}"

    @property
    def files(self) -> int:
        """Number of files."""
        return self.days * self.day_files

    @cached_property
    def accounts(self) -> Sequence[str]:
        """The names of the accounts, in their order."""
        return sorted(_hexadecimal(f"account {number}")[:12] for number in range(_ACCOUNTS))

    def day(self, number: int) -> pa.Table:
        """Return the rows of one day, sorted by account."""
        random = np.random.default_rng([_CHANCE, number])
        count = self.day_files * self.rows
        fixed = np.random.default_rng(_CHANCE)
        weights = 1 / (1 + fixed.permutation(_ACCOUNTS)) ** 1.1
        databases = np.minimum(1 + fixed.pareto(0.5, _ACCOUNTS), _MOST_DATABASES).astype(np.int64)
        account = np.sort(random.choice(_ACCOUNTS, count, p=weights / weights.sum()))
        database = (random.random(count) ** 2 * databases[account]).astype(np.int64)
        pairs, of = np.unique(account * _MOST_DATABASES + database, return_inverse=True)
        names = pa.array([self._database(*divmod(int(each), _MOST_DATABASES)) for each in pairs])
        view = random.integers(0, 40, count)
        requests, of_request = np.unique(of * 40 + view, return_inverse=True)
        texts = names.to_pylist()
        asked = [f"/{texts[each // 40]}/find?field={each % 40}&limit=50" for each in requests]
        ts = _START_US + number * _DAY_US + random.integers(0, _DAY_US, count)
        return pa.table(
            {
                "ts": pa.array(ts, pa.timestamp("us", "UTC")),
                "account_name": pa.array(self.accounts).take(pa.array(account)),
                "db_name": names.take(pa.array(of)),
                "http_request": pa.array(asked).take(pa.array(of_request)),
                "user_agent": _agents(random, account),
                "method": _chosen(random, ("GET", "POST", "PUT", "DELETE"), count),
                "region": _chosen(random, ("us-south", "eu-de", "eu-gb", "jp-tok"), count),
                "client_ip": pa.array(
                    [f"10.{a}.{b}.{c}" for a, b, c in random.integers(0, 256, (count, 3)).tolist()]
                ),
                "request_id": pa.array([each.hex() for each in _rows_of_bytes(random, count)]),
                "status": random.choice(np.array([200, 201, 304, 404, 500], np.int32), count),
                "request_bytes": random.integers(100, 10_000, count),
                "response_bytes": random.integers(100, 1_000_000, count),
                "duration_ms": np.round(random.lognormal(2, 1, count), 2),
            }
        )

    def write(self, folder: Path) -> Path:
        """Write the days that are not there yet and return the folder of the files."""
        target = folder / self.name
        target.mkdir(parents=True, exist_ok=True)
        missing = [day for day in range(self.days) if not all(map(Path.exists, self._paths(target, day)))]
        with ThreadPoolExecutor(2) as threads:
            for _ in threads.map(lambda day: self._write_day(target, day), missing):
                pass
        return target

    def paths(self, folder: Path) -> Iterator[Path]:
        """Yield the paths of the files."""
        for day in range(self.days):
            yield from self._paths(folder, day)

    def _paths(self, folder: Path, day: int) -> list[Path]:
        return [folder / f"day-{day:03}-{number:03}.parquet" for number in range(self.day_files)]

    def _write_day(self, folder: Path, day: int) -> None:
        rows = self.day(day)
        for number, path in enumerate(self._paths(folder, day)):
            unfinished = path.with_name(f"_{path.name}.unfinished")
            pq.write_table(rows.slice(number * self.rows, self.rows), unfinished, compression="snappy")
            unfinished.rename(path)

    def _database(self, account: int, database: int) -> str:
        service = _SERVICES[(account + database) % len(_SERVICES)]
        end = _hexadecimal(f"database {account} {database}")[:16]
        return f"{self.accounts[account]}-{database % 97:02}{service}/eu-production/replica-set/{end}"


def _agents(random: np.random.Generator, account: Any) -> pa.Array:
    count = len(account)
    programs = pa.array([each.format(version) for each in _PROGRAMS for version in range(10, 20)])
    # An account runs three of them, in the one version that it has.
    which = (account * 7 + random.integers(0, 3, count) * 3) % len(_PROGRAMS) * 10 + account % 10
    visitors = pa.array(_VISITORS)
    is_rare = random.random(count) < _RARE
    found = np.where(is_rare, len(programs) + random.integers(0, len(visitors), count), which)
    return pa.concat_arrays([programs, visitors]).take(pa.array(found))


def _chosen(random: np.random.Generator, texts: Sequence[str], count: int) -> pa.Array:
    return pa.array(texts).take(pa.array(random.integers(0, len(texts), count)))


def _rows_of_bytes(random: np.random.Generator, count: int) -> Iterator[bytes]:
    content = random.bytes(16 * count)
    return (content[start : start + 16] for start in range(0, len(content), 16))


def _hexadecimal(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

"""Cost of encryption when a query is planned: metadata with a key for each index, and file names under one.

What is timed tells ``skipping/min_max_metadata.py``. For each condition the least of some runs in
milliseconds, the stores in turn, and as a ratio of plain metadata (aim: at most 1.3 cold, 1.05 warm).

    python benchmarks/skipping_encryption.py [--files 100000] [--runs 40]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time

from skipping.min_max_metadata import INDEXES, NAMES, VALUES, Planner, compared, write_metadata
from starskip.file_metadata.table_keys import TableKeys
from starskip.predicates.expression import Expression
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import LocalKey
from starskip.storage.storage_for import storage_for

SECRETS = {name: bytes([number + 1]) * 32 for number, name in enumerate((*NAMES, "names"))}
_OF_INDEXES = dict(zip(INDEXES, NAMES, strict=True))
VARIANTS = {
    "plain": TableKeys(),
    "a key an index": TableKeys(_OF_INDEXES),
    "and file names": TableKeys(_OF_INDEXES, "names"),
}
COLD_AIM, WARM_AIM = 1.3, 1.05


def main() -> None:
    """Write the metadata plain and encrypted, plan with each, print."""
    arguments = _arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="starskip-") as folder:
        stores = {name: storage_for(f"{folder}/{number}") for number, name in enumerate(VARIANTS)}
        print(f"{arguments.files:,} files, min/max of {len(NAMES)} columns")
        for name, storage in stores.items():
            start = time.perf_counter()
            write_metadata(storage, arguments.files, VARIANTS[name], _keyring())
            size = sum(each.size_bytes for each in storage.objects_below("")) / 1e6
            print(f"  {name}: written in {time.perf_counter() - start:.2f} s, {size:.2f} MB")
        _print_planning(Planner(stores, _keyring), arguments.files, arguments.runs)


def _print_planning(planner: Planner, files: int, runs: int) -> None:
    width = VALUES // files
    conditions: dict[str, list[Expression]] = {
        "1 file is left": [compared("EqualTo", "c0", files // 2 * width + width // 2)],
        "half are left": [compared("LessThan", "c0", VALUES // 2)],
        "ten clauses": [compared("LessThan", name, VALUES * 7 // 10) for name in NAMES],
    }
    print(f"  aim: at most {COLD_AIM} cold, {WARM_AIM} warm")
    print(f"  {'planning, ms':<16} {'':<16}{'cold':>8}{'ratio':>8}{'warm':>8}{'ratio':>8}")
    for condition, predicates in conditions.items():
        _, least = planner.least_ms(predicates, runs)
        for name in planner.stores:
            line = f"  {condition:<16} {name:<16}"
            for is_cold in (True, False):
                mine, plain = (least[each, is_cold] for each in (name, "plain"))
                line += f"{mine:>8.2f}{mine / plain:>8.2f}"
            print(line)


def _keyring() -> Keyring:
    return Keyring({name: LocalKey(secret) for name, secret in SECRETS.items()})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=100_000, help="number of files")
    parser.add_argument("--runs", type=int, default=40, help="how often each is timed")
    return parser.parse_args()


if __name__ == "__main__":
    main()

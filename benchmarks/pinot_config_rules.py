"""Our verdict beside Pinot's: generated table configs on the validation of a real Apache Pinot.

Starts Pinot 0.11.0 (fetched with Maven, once), asks ``POST /tableConfigs/validate`` for each generated schema
and config, and compares: Pinot refuses it if and only if it breaks a rule of ``pinot/config_rules.py`` that
the release validates. Nothing is created. 2,000 configs take a minute beside the start. Of another release
the library alone is asked, which Maven has for 0.12.0, 1.1.0, 1.3.0, 1.4.0 and 1.5.1.

    python benchmarks/pinot_config_rules.py
    python benchmarks/pinot_config_rules.py --seed 2 --configs 10000
    python benchmarks/pinot_config_rules.py --pinot-version 1.5.1
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pinot.running_pinot import CACHE, PinotFailed, RunningPinot, pinot_jars
from pinot.validated_configs import refusals
from starskip.pinot.config_columns import Release, SchemaColumn
from starskip.pinot.config_rules import config_faults
from starskip.pinot.target_version import release_number

MEASURED = "0.11.0"
TYPES = ("INT", "LONG", "FLOAT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "STRING", "JSON", "BYTES")
SEVERAL = ("INT", "LONG", "FLOAT", "DOUBLE", "STRING")
METRICS = ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL")
NAMES = ("a", "b", "c", "d", "e", "f")
FUNCTIONS = ("SUM", "MIN", "max", "AVG", "minMaxRange", "DISTINCTCOUNTHLL", "distinct_count_bitmap", "NOSUCH")
SHOWN = 12
KAFKA = "org.apache.pinot.plugin.stream"

Config = dict[str, Any]
Case = tuple[Mapping[str, SchemaColumn], Config, Config]
Feature = Callable[[random.Random, Config], None]


def main() -> None:
    """Generate, ask, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--configs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pinot-version", default=MEASURED)
    parser.add_argument("--pinot-dir", default=CACHE, help="where Pinot's jars are kept")
    parser.add_argument("--heap", default="2g")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        cache = Path(arguments.pinot_dir).expanduser().resolve()
        version, chosen = arguments.pinot_version, random.Random(arguments.seed)
        cases = [_generated(chosen, version) for _ in range(arguments.configs)]
        asked = [(schema, config) for _, schema, config in cases]
        if version == MEASURED:
            jars = pinot_jars(cache)
            with (
                tempfile.TemporaryDirectory() as scratch,
                RunningPinot(jars, Path(scratch), arguments.heap) as pinot,
            ):
                told = [_refusal(pinot.controller_url, *each) for each in asked]
        else:
            told = refusals(version, cache, asked)
        sys.exit(_compare(release_number(version), cases, told))
    except (PinotFailed, OSError) as error:
        sys.exit(str(error))


def _compare(release: Release, cases: Sequence[Case], told: Sequence[str]) -> int:
    """Print how the verdicts agree, and return how many cases they differ on."""
    found, broken = Counter[tuple[bool, bool]](), Counter[str]()
    for (columns, schema, config), refusal in zip(cases, told, strict=True):
        faults = config_faults(config, columns, release)
        ours = [fault for fault in faults if fault.is_validated]
        broken.update({fault.code for fault in faults})
        found[bool(ours), bool(refusal)] += 1
        differing = found[True, False] + found[False, True]
        if bool(ours) != bool(refusal) and differing <= SHOWN:
            print(json.dumps({"schema": schema, "config": config}))
            print(f"  ours: {[fault.words for fault in ours]}\n  Pinot: {refusal}")
    for (ours_refuses, pinot_refuses), number in sorted(found.items()):
        print(f"we {_verdict(ours_refuses)}, Pinot {_verdict(pinot_refuses)}: {number:,}")
    print("configs that break a rule: " + ", ".join(f"{code} {n:,}" for code, n in sorted(broken.items())))
    return found[True, False] + found[False, True]


def _verdict(refuses: bool) -> str:
    return "refuse" if refuses else "accept"


def _refusal(controller: str, schema: Config, config: Config) -> str:
    """Return why Pinot refuses a config, empty if it accepts it."""
    kind = "offline" if config["tableType"] == "OFFLINE" else "realtime"
    asked = {"tableName": "t", "schema": schema, kind: config}
    request = urllib.request.Request(
        f"{controller}/tableConfigs/validate",
        json.dumps(asked).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request):
            return ""
    except urllib.error.HTTPError as error:
        told = error.read().decode(errors="replace")
        return told.rpartition("with reason")[2][:400] or str(error)


def _generated(chosen: random.Random, version: str) -> Case:
    columns: dict[str, SchemaColumn] = {}
    for name in NAMES:
        kind = chosen.choice(("DIMENSION", "DIMENSION", "METRIC"))
        is_single = kind == "METRIC" or chosen.random() < 0.75
        types = METRICS if kind == "METRIC" else TYPES if is_single else SEVERAL
        columns[name] = SchemaColumn(chosen.choice(types), is_single, kind)
    columns["at"] = SchemaColumn("LONG", column_type="DATE_TIME")
    fields = [
        {"name": name, "dataType": column.data_type}
        | ({} if column.is_single_value else {"singleValueField": False})
        for name, column in columns.items()
    ]
    time_field = {**fields.pop(), "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
    metrics = {name for name, column in columns.items() if column.column_type == "METRIC"}
    schema = {
        "schemaName": "t",
        "dimensionFieldSpecs": [each for each in fields if each["name"] not in metrics],
        "metricFieldSpecs": [each for each in fields if each["name"] in metrics],
        "dateTimeFieldSpecs": [time_field],
    }
    config: Config = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1", "schemaName": "t", "timeColumnName": "at"},
        "tenants": {},
        "tableIndexConfig": {"loadMode": "MMAP"},
        "metadata": {},
    }
    if release_number(version) >= (1, 1):
        # There the schema has the table's name.
        del config["segmentsConfig"]["schemaName"]
    if chosen.random() < 0.2:
        single = [name for name, column in columns.items() if column.is_single_value]
        schema["primaryKeyColumns"] = [single[0]]
        _make_realtime(chosen, config)
    for feature in chosen.sample(FEATURES, chosen.randint(1, 3)):
        feature(chosen, config)
    return columns, schema, config


def _make_realtime(chosen: random.Random, config: Config) -> None:
    prefix = "stream.kafka"
    config["tableType"] = "REALTIME"
    config["segmentsConfig"]["replicasPerPartition"] = "1"
    config["routing"] = {"instanceSelectorType": "strictReplicaGroup"}
    config["tableIndexConfig"]["streamConfigs"] = {
        "streamType": "kafka",
        f"{prefix}.consumer.type": "lowlevel",
        f"{prefix}.topic.name": "t",
        f"{prefix}.decoder.class.name": f"{KAFKA}.kafka.KafkaJSONMessageDecoder",
        f"{prefix}.consumer.factory.class.name": f"{KAFKA}.kafka20.KafkaConsumerFactory",
        f"{prefix}.broker.list": "127.0.0.1:1",
    }
    way = chosen.choice(("upsertConfig", "dedupConfig", None))
    if way:
        of_upsert = {"mode": chosen.choice(("FULL", "FULL", "NONE"))}
        config[way] = of_upsert if way == "upsertConfig" else {"dedupEnabled": True}


def _names(chosen: random.Random, most: int = 2) -> list[str]:
    names = (*NAMES, "nosuch") if chosen.random() < 0.1 else NAMES
    return chosen.sample(names, chosen.randint(1, most))


def _list(key: str) -> Feature:
    def add(chosen: random.Random, config: Config) -> None:
        config["tableIndexConfig"][key] = _names(chosen)

    return add


def _mapped(key: str, value: Any) -> Feature:
    def add(chosen: random.Random, config: Config) -> None:
        config["tableIndexConfig"][key] = dict.fromkeys(_names(chosen), value)

    return add


def _field(chosen: random.Random, config: Config) -> None:
    entry: Config = {"name": _names(chosen)[0]}
    if chosen.random() < 0.95:
        entry["encodingType"] = chosen.choice(("RAW", "DICTIONARY"))
    if chosen.random() < 0.6:
        entry["indexTypes"] = [chosen.choice(("INVERTED", "TEXT", "FST", "TIMESTAMP", "RANGE", "JSON"))]
    if chosen.random() < 0.2:
        entry["compressionCodec"] = chosen.choice(("LZ4", "SNAPPY"))
    if chosen.random() < 0.25:
        # Read from 1.0 on; the earlier releases do not know the key.
        options = {} if chosen.random() < 0.7 else {"disabled": True}
        entry["indexes"] = {chosen.choice(("inverted", "range", "bloom", "dictionary", "json")): options}
    if chosen.random() < 0.1:
        entry["properties"] = {"forwardIndexDisabled": "true"}
    config.setdefault("fieldConfigList", []).append(entry)


def _tree(chosen: random.Random, config: Config) -> None:
    dimensions = _names(chosen, 3)
    tree: Config = {"dimensionsSplitOrder": dimensions}
    if chosen.random() < 0.95:
        pairs = {f"{chosen.choice(FUNCTIONS)}__{name}" for name in _names(chosen)}
        tree["functionColumnPairs"] = [*sorted(pairs), "COUNT__*"]
        if chosen.random() < 0.05:
            tree["functionColumnPairs"].append(chosen.choice(("SUM", "SUM__*")))
    if chosen.random() < 0.2:
        tree["skipStarNodeCreationForDimensions"] = chosen.choice((dimensions[:1], _names(chosen)))
    config["tableIndexConfig"].setdefault("starTreeIndexConfigs", []).append(tree)


def _flag(key: str) -> Feature:
    def add(_: random.Random, config: Config) -> None:
        config["tableIndexConfig"][key] = True

    return add


def _partition(chosen: random.Random, config: Config) -> None:
    of_column = {"functionName": "Murmur", "numPartitions": 4}
    config["tableIndexConfig"]["segmentPartitionConfig"] = {
        "columnPartitionMap": dict.fromkeys(_names(chosen), of_column)
    }


LISTS: tuple[str, ...] = (
    "invertedIndexColumns",
    "rangeIndexColumns",
    "noDictionaryColumns",
    "sortedColumn",
    "jsonIndexColumns",
)
LISTS += ("bloomFilterColumns", "onHeapDictionaryColumns", "varLengthDictionaryColumns")
FEATURES: tuple[Feature, ...] = (
    *map(_list, LISTS),
    *map(_list, ("invertedIndexColumns", "noDictionaryColumns")),
    _mapped("bloomFilterConfigs", {"fpp": 0.1}),
    _mapped("jsonIndexConfigs", {}),
    _mapped("noDictionaryConfig", "SNAPPY"),
    *(_field, _field, _tree, _tree, _partition),
    *map(_flag, ("enableDefaultStarTree", "aggregateMetrics", "nullHandlingEnabled")),
)


if __name__ == "__main__":
    main()

"""Proofs of families, run by verify_indexes."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.advisor.families.family import Family
from starskip.advisor.run.night import StageResult
from starskip.errors import StorageError
from starskip.execution.local_engine import LocalEngine
from starskip.night import verify_indexes as module
from starskip.night.verify_indexes import verify_indexes

RAN: list[str] = []


def proving(name: str, counts: Mapping[str, int], error: Exception | None = None) -> Family:
    def publish(*_: Any) -> StageResult:
        RAN.append(name)
        if error is not None:
            raise error
        return StageResult(counts, (f"{name} warns",))

    return Family(name, f"a {name}", f"{name}s", proof=publish)


def verified(monkeypatch: pytest.MonkeyPatch, *families: Family) -> StageResult:
    RAN.clear()
    monkeypatch.setattr(module, "families_of_night", lambda _: SimpleNamespace(known=families))
    return verify_indexes(LocalEngine(), SimpleNamespace())  # type: ignore[arg-type]


def test_all_families_prove_and_one_without_a_proof_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    families = proving("zone", {"zone_equal": 2}), Family("bitmap", "a bitmap", "bitmaps")
    result = verified(monkeypatch, *families, proving("cube", {"cube_equal": 1}))
    assert result == StageResult({"zone_equal": 2, "cube_equal": 1}, ("zone warns", "cube warns"))


def test_damage_that_one_family_finds_is_raised_when_the_others_have_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = StorageError("a file of zone is gone", location="zone")
    with pytest.raises(StorageError, match="a file of zone is gone"):
        verified(monkeypatch, proving("zone", {}, gone), proving("cube", {}))
    assert RAN == ["zone", "cube"]


def test_an_error_that_is_no_damage_ends_the_stage_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        verified(monkeypatch, proving("zone", {}, ZeroDivisionError()), proving("cube", {}))
    assert RAN == ["zone"]

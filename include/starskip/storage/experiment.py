"""Runs that try other settings: their artefacts of one night lie aside, below a folder of their own."""

from __future__ import annotations

from dataclasses import dataclass

# No artefact's name begins so: neither a listing of artefacts nor the retention of nights finds experiments.
EXPERIMENTS = "_experiments"


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment: its night, and the file-safe name of its run."""

    run_date: str
    name: str

    @property
    def folder(self) -> str:
        """The folder of its artefacts, which is laid out as the store is."""
        return f"{EXPERIMENTS}/{self.run_date}/{self.name}"

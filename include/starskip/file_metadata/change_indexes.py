"""Delete and restore indexes; their columns stay stored until a vacuum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from starskip.errors import ConfigError, SourceError
from starskip.file_metadata.commit_refresh import Commit
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.table_state import ARTEFACT, TableState
from starskip.storage.manifest import Manifest, Part
from starskip.storage.storage import Storage


def change_indexes(
    storage: Storage,
    indexes: Sequence[str] | None,
    commit: Commit,
    *,
    active: bool,
    artefact: str = ARTEFACT,
) -> Manifest:
    """Publish that indexes, by default all, are active or deleted.

    Raises ConfigError for an unknown index, or an index that a vacuum has removed, and SourceError without
    metadata.
    """

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        state = TableState.from_parts(parts)
        if state is None:
            raise SourceError(f"{storage.place}: there is no metadata", source=storage.place)
        chosen = list(state.indexes) if indexes is None else list(indexes)
        for name in chosen:
            if name not in state.indexes:
                raise ConfigError(
                    f"there is no index {name}; there are: {', '.join(sorted(state.indexes)) or 'none'}",
                    setting="index",
                )
        return replace(state, indexes={**state.indexes, **dict.fromkeys(chosen, active)}).to_parts()

    return metadata_chain(storage, artefact).commit(
        change, commit_id=commit.name, created_at=commit.created_at, created_by=commit.created_by
    )

"""The keys of a writer of metadata, and the groups that it encrypts with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from starskip.errors import ConfigError
from starskip.file_metadata.new_keys import require_checked, with_checks
from starskip.file_metadata.table_keys import TableKeys
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.storage.encryption.keyring import Keyring, process_keys


@dataclass(frozen=True, slots=True)
class Encryption:
    """``indexes``: key names by specification; ``listing``: key name for file names, None: as before."""

    keyring: Keyring = field(default_factory=process_keys)
    indexes: Mapping[str, str] = field(default_factory=dict)
    listing: str | None = None

    def keys_from_now_on(self, metadata: TableMetadata | None, created: Sequence[str]) -> TableKeys:
        """Return the keys of a table once the indexes ``created`` are made.

        Raises ConfigError for a needed key that is missing, or differs from the table's key of that name.
        """
        before = metadata.state.keys if metadata else TableKeys()
        if not (created or self.indexes or self.listing):
            return before
        active = metadata.state.indexes if metadata else {}
        indexes = {name: key for name, key in before.indexes.items() if name in active or name in created}
        wanted = replace(before, indexes={**indexes, **self.indexes}, listing=self.listing or before.listing)
        used = {wanted.indexes[each] for each in created if each in wanted.indexes}
        listing = [] if wanted.listing is None else [wanted.listing]
        require_checked(sorted({*used, *listing}), wanted, self.keyring)
        if metadata is not None and wanted.listing != before.listing:
            lost = sorted(metadata.unlocked.locked_indexes - set(created))
            if lost:
                raise ConfigError(
                    f"all indexes are made anew with encrypted file names, but the key of {', '.join(lost)} "
                    "is missing",
                    setting="key",
                )
        return with_checks(wanted, self.keyring)

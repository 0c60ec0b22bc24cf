"""Options that name keys: ``--key NAME=FILE``, and the index that each key encrypts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from starskip.errors import ConfigError

if TYPE_CHECKING:
    from starskip.storage.encryption.keyring import Keyring

of_keys = click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="NAME=FILE",
    help="A key of encrypted metadata, 32 raw bytes or base64; repeatable. Also: the folder "
    "STARSKIP_KEYS_DIR, one file a key. For FILE also vault+https://HOST:PORT/MOUNT/KEY, a key of a transit "
    "engine.",
)
of_encryption = click.option(
    "--encrypt",
    "encrypt",
    multiple=True,
    metavar="INDEX=NAME",
    help="Encrypt a created index with the key NAME; repeatable.",
)
of_encrypted_listing = click.option(
    "--encrypt-listing",
    metavar="NAME",
    help="Encrypt the names of the table's files, and so its partition values, with the key NAME.",
)


def named_files(given: Sequence[str], option: str = "--key") -> dict[str, str]:
    """Return files by the names of keys; raise BadParameter for a text that is not NAME=FILE."""
    from starskip.storage.encryption.keyring import checked_name

    found = {}
    for text in given:
        name, separator, file = text.partition("=")
        if not (name and separator and file):
            # Not quoted: it may be a key itself.
            raise click.BadParameter("write NAME=FILE, such as pii=/etc/keys/pii", param_hint=option)
        try:
            found[checked_name(name)] = file
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint=option) from error
    return found


def named_indexes(given: Sequence[str], indexes: Sequence[str]) -> dict[str, str]:
    """Return names of keys by specification; raise BadParameter for an index that is not created."""
    from starskip.storage.encryption.keyring import checked_name

    found = {}
    for text in given:
        index, separator, name = text.rpartition("=")
        if not (index and separator and name):
            raise click.BadParameter(
                f"{text!r} is not INDEX=NAME, such as bloom:email=pii", param_hint="--encrypt"
            )
        if index not in indexes:
            raise click.BadParameter(
                f"{index} is not among the indexes that are created (--index)", param_hint="--encrypt"
            )
        try:
            found[index] = checked_name(name)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--encrypt") from error
    return found


def keyring(keys: Sequence[str]) -> Keyring:
    """Return the keys of the command line and of the environment; raise ConfigError if one is missing."""
    from starskip.storage.encryption.keyring import Keyring

    return Keyring.from_environment(os.environ, named_files(keys))

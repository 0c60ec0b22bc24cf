"""Access keys from the file that AWS's own tools write, ``~/.aws/credentials`` by default.

Our store library knows the environment and the metadata service of a cloud machine, but not this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from configparser import ConfigParser, Error
from pathlib import Path

from starskip.errors import SourceError

_NAMES = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}


def aws_key_file(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the profile AWS_PROFILE ("default"), {} if there is no file that names it.

    Raises SourceError, which quotes nothing of the file, if a file that the environment names cannot be read.
    """
    named = environment.get("AWS_SHARED_CREDENTIALS_FILE")
    home = environment.get("HOME")
    if not named and not home:
        return {}
    path = Path(named) if named else Path(home or "", ".aws", "credentials")
    profile = environment.get("AWS_PROFILE") or "default"
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except OSError as error:
        if not named:
            return {}
        raise SourceError(f"AWS_SHARED_CREDENTIALS_FILE {path}: {error.strerror}", source=str(path)) from None
    except (Error, UnicodeDecodeError):
        raise SourceError(f"{path}: is no file of AWS credentials", source=str(path)) from None
    if not parser.has_section(profile):
        if named:
            raise SourceError(f"{path}: has no profile [{profile}]", source=str(path))
        return {}
    section = parser[profile]
    return {ours: section[theirs] for theirs, ours in _NAMES.items() if section.get(theirs)}

"""Locations of files in one spelling: local ones without a scheme, ``s3a://`` and ``s3n://`` as ``s3://``."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from starskip.storage.files.object_url import local_path, object_url

_LOCAL, _S3 = r"^file:/+", r"^s3[an]://"


def plain_path(location: str) -> str:
    """Return a location in the one spelling."""
    if object_url(location) is None:
        return str(local_path(location))
    return re.sub(_S3, "s3://", location)


def plain_paths(locations: pa.Array) -> pa.Array:
    """Return locations in the spelling of ``plain_path``, a whole column at once: there may be a million."""
    local = pc.replace_substring_regex(locations, _LOCAL, "/")
    return pc.replace_substring_regex(local, _S3, "s3://")

"""Classify failures of an object store, with one sentence that holds no secret.

The library's own messages are never passed on: they quote the store's answer, and S3's answer to a wrong
signature repeats the key id and the signed text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from obstore import exceptions

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
_HOST = re.compile(r"https?://(?:[^/@\s]*@)?([A-Za-z0-9.:\[\]-]{1,100})")
_METADATA_SERVICES = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")
_KEY_REFUSED = frozenset(
    {"SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"}
)
_OTHER_REGION = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
_BUSY = ("408", "429")
_NO_CREDENTIALS = "no credentials are found: set {} (docs/object-stores.md)"
NO_CREDENTIALS = _NO_CREDENTIALS.format(
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE"
)
_OF_CLOUDS = {
    "/computeMetadata/": "GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS",
    "/metadata/identity/": "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
}
"""Credentials to set, by what the library asks a machine of a cloud for when there are none."""


STORE_ERRORS = (exceptions.BaseError, OSError, ValueError)
"""Exceptions of obstore: for a missing object FileNotFoundError, for a key it cannot send ValueError."""


class FailureKind(Enum):
    """MISSING, DENIED and CHANGED concern one object; the others the whole store.

    With the others no other call will succeed. Only OUTAGE may pass by itself.
    """

    MISSING = "missing"
    DENIED = "denied"
    CHANGED = "changed"
    UNSUPPORTED = "unsupported"
    STORE = "store"
    OUTAGE = "outage"


@dataclass(frozen=True, slots=True)
class ObjectFailure:
    """A failure without the name of the object, which the caller knows."""

    kind: FailureKind
    sentence: str


def object_failure(error: Exception) -> ObjectFailure:
    """Return the kind of failure that an exception of obstore stands for."""
    text = str(error)
    status, code = _first(_STATUS, text), _first(_CODE, text)
    answer = " ".join(part for part in (status, code) if part)
    if code == "NoSuchBucket":
        return ObjectFailure(FailureKind.STORE, "there is no such bucket")
    if any(host in text for host in _METADATA_SERVICES):
        names = next((names for asked, names in _OF_CLOUDS.items() if asked in text), "")
        sentence = _NO_CREDENTIALS.format(names) if names else NO_CREDENTIALS
        return ObjectFailure(FailureKind.STORE, sentence)
    if code in _OTHER_REGION or "incorrectly configured region" in text:
        return ObjectFailure(FailureKind.STORE, "the bucket is in another region: set AWS_REGION")
    if code in _KEY_REFUSED or isinstance(error, exceptions.UnauthenticatedError) or status == "401":
        return ObjectFailure(FailureKind.STORE, f"the store refuses the credentials ({answer})")
    if isinstance(error, exceptions.PermissionDeniedError) or status == "403":
        return ObjectFailure(FailureKind.DENIED, f"access is denied ({answer})")
    if isinstance(error, exceptions.NotFoundError | FileNotFoundError):
        return ObjectFailure(FailureKind.MISSING, "there is no such object")
    if isinstance(error, exceptions.PreconditionError):
        return ObjectFailure(FailureKind.CHANGED, "it was written again while it was read")
    if isinstance(error, exceptions.NotSupportedError) or status == "501":
        return ObjectFailure(FailureKind.UNSUPPORTED, "the store does not know this operation")
    if status:
        kind = FailureKind.OUTAGE if status in _BUSY or status.startswith("5") else FailureKind.STORE
        return ObjectFailure(kind, f"the store answers {answer}, after repeated attempts")
    if "HTTP error" in text:
        host = _first(_HOST, text)
        reason = " in time" if "timed out" in text else ""
        return ObjectFailure(
            FailureKind.OUTAGE, f"the store{' at ' + host if host else ''} does not answer{reason}"
        )
    return ObjectFailure(FailureKind.STORE, f"the store cannot be used ({type(error).__name__})")


def is_refused_range(error: Exception) -> bool:
    """Return whether the store may have refused the range that was asked for, and not the object."""
    text = str(error)
    status = _first(_STATUS, text)
    is_known = isinstance(error, exceptions.NotSupportedError) or status in ("416", "501")
    # Of a store that ignores ranges the library says neither a status nor that it does not answer.
    return is_known or (type(error) is exceptions.GenericError and not status and "HTTP error" not in text)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""

"""Address of a live Pinot: where controller and broker are, and with which credentials they are asked."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starskip.errors import ConfigError, printable

CONTROLLER, BROKER = "STARSKIP_PINOT_CONTROLLER", "STARSKIP_PINOT_BROKER"
TOKEN, USER, PASSWORD = "STARSKIP_PINOT_TOKEN", "STARSKIP_PINOT_USER", "STARSKIP_PINOT_PASSWORD"
DATABASE, CA_FILE = "STARSKIP_PINOT_DATABASE", "STARSKIP_PINOT_CA_FILE"
CREDENTIALS = (TOKEN, USER, PASSWORD)
TIMEOUT_SECONDS = 60.0


def of_broker(variable: str) -> str:
    """Return the variable by which the broker gets credentials of its own, such as …_BROKER_TOKEN."""
    return variable.replace("PINOT_", "PINOT_BROKER_")


@dataclass(frozen=True, slots=True)
class PinotAddress:
    """URLs of one cluster, and what requests carry.

    ``broker``: empty if queries go through the controller, which hands them to a broker of the table.
    ``authorization``, ``broker_authorization``: the header, such as ``Bearer …``, empty for none.
    ``database``: the header ``Database`` of Pinot 1.2. ``ca_file``: certificates of the authority.
    """

    controller: str
    broker: str = ""
    authorization: str = field(default="", repr=False)
    broker_authorization: str = field(default="", repr=False)
    database: str = ""
    ca_file: str = ""
    timeout_seconds: float = TIMEOUT_SECONDS


def pinot_address(controller: str, broker: str, environment: Mapping[str, str]) -> PinotAddress:
    """Return the address of the URLs, or of those in the environment, which has the credentials.

    Raises ConfigError, which quotes no credential.
    """
    place = controller or environment.get(CONTROLLER, "")
    if not place:
        raise ConfigError(
            f"give the URL of Pinot's controller: --controller URL, or {CONTROLLER}", setting="controller"
        )
    own = {each: environment.get(of_broker(each), "") for each in CREDENTIALS}
    common = {each: environment.get(each, "") for each in CREDENTIALS}
    return PinotAddress(
        _checked_url("controller", place),
        _checked_url("broker", broker or environment.get(BROKER, "")),
        _authorization(common, CREDENTIALS),
        _authorization(own, [of_broker(each) for each in CREDENTIALS]) or _authorization(common, CREDENTIALS),
        _header(DATABASE, environment.get(DATABASE, "")),
        environment.get(CA_FILE, ""),
    )


def _checked_url(name: str, url: str) -> str:
    if not url:
        return ""
    try:
        parts = urlsplit(url.strip())
        is_whole = bool(parts.scheme in ("http", "https") and parts.hostname) and parts.port != 0
    except ValueError:
        is_whole, parts = False, urlsplit("")
    if "@" in url:
        raise ConfigError(
            f"the {name}'s URL holds a user or password: take it out, and set {USER} and {PASSWORD}, "
            f"or {TOKEN}",
            setting=name,
        )
    # What stands behind ? or # may be a secret.
    shown = re.sub(r"(?s)([?#]).*", r"\1…", url)
    if not is_whole or shown != url:
        raise ConfigError(
            f"the {name}'s URL is {printable(shown, 100)}: write it as http://HOST:PORT or https://HOST:PORT",
            setting=name,
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _authorization(given: Mapping[str, str], names: tuple[str, ...] | list[str]) -> str:
    token, user, password = (given[each] for each in CREDENTIALS)
    if token:
        # Pinot's own tools take a token with its scheme.
        is_whole = token.startswith(("Basic ", "Bearer "))
        return _header(names[0], token if is_whole else f"Bearer {token}")
    if bool(user) != bool(password):
        raise ConfigError(f"{names[1]} and {names[2]} go together: one is missing", setting=names[1])
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""


def _header(name: str, value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"{name} holds characters that no header of HTTP can carry", setting=name)
    return value

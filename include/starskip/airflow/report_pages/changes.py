"""Take POSTs: only from our own pages, read within bounds, answered by a page to see.

Airflow's cookie says who asks, and a browser sends it with whatever page asks: the guard tells our own pages
from others. A right of its own says who may; each route names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from airflow.configuration import conf as airflow_conf
from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from starskip.reports.render_pages import Message

Form = Mapping[str, Sequence[str]]
"""The values of each field of a form."""

MAX_BODY_BYTES = 64 * 1024
MAX_FIELDS = 1000

_FORM = "application/x-www-form-urlencoded"
_ELSEWHERE = Message(
    "Not from these pages",
    "Only a form of the report pages themselves can change anything. If it was one: a proxy in front of "
    "Airflow must pass on Host, or AIRFLOW__API__BASE_URL must name the address that browsers ask for.",
)
_TOO_BIG = Message("Too much", "The form holds more than these pages take at once.")
_NO_FORM = Message("Not understood", "Only a form of the report pages is understood here.")


def require_same_origin(request: Request) -> None:
    """Raise HTTPException unless a page of this very server asks.

    Browsers say so in Sec-Fetch-Site, but over plain HTTP they send the origin of the page alone. Our pages'
    referrer policy must stay same-origin for that: without a referrer, browsers hide the origin too.
    """
    site = request.headers.get("sec-fetch-site")
    is_ours = site == "same-origin" if site else _is_own_origin(request)
    if not is_ours:
        raise HTTPException(403, _ELSEWHERE)


def _is_own_origin(request: Request) -> bool:
    """Return whether Origin is the server's own, as the browser knows it before any proxies.

    No page can make a browser send another Host or X-Forwarded-Host. A proxy that ends TLS may not say so,
    and one that passes on no Host leaves the address that Airflow is configured with.
    """
    try:
        origin = urlsplit(request.headers.get("origin", ""))
        configured = urlsplit(str(airflow_conf.get("api", "base_url", fallback="") or "").lower())
    except ValueError:
        return False
    if origin[:2] == configured[:2] and origin.netloc:
        return True
    hosts = {request.headers.get("host"), request.headers.get("x-forwarded-host")} - {None, ""}
    return origin.scheme in (request.url.scheme, "https") and origin.netloc in hosts


async def posted_form(request: Request) -> Form:
    """Return the fields of the form that one of our pages posts; raises HTTPException for anything else."""
    require_same_origin(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, _NO_FORM)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, _TOO_BIG)
    try:
        text = body.decode("ascii")
        return parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise HTTPException(422, _NO_FORM) from error


PostedForm = Annotated[Form, Depends(posted_form)]
"""The fields of a form of our own pages, as an argument of a route that changes something."""


def field_of(form: Form, name: str) -> str:
    """Return the one value of a field without space around it, empty if there is none."""
    values = form.get(name, ())
    return values[0].strip() if len(values) == 1 else ""


def see_other(address: str) -> Response:
    """Return the answer to a change: the page that shows it. Reloading that page changes nothing again."""
    return RedirectResponse(address, status_code=303)

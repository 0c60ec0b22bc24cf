"""Add security headers to every response of the report pages, errors included.

The pages stand in a frame of Airflow's own page, so that a script in one of them would act as its reader:
each policy names by its hash each script that may run, and a report may run none.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "Content-Security-Policy"

_HEADERS = {
    # Airflow's page and ours have one origin; any other is refused the frame.
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    # Nobody else learns an address, and a form of our own still says whose it is (changes.py).
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
_NOTHING_ALLOWED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"


class StrictHeaders:
    """An ASGI application around another; a response without a policy of its own gets the strictest."""

    def __init__(self, app: ASGIApp) -> None:
        """Keep the application whose responses get the headers."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault(POLICY, _NOTHING_ALLOWED)
                headers.update(_HEADERS)
            await send(message)

        await self.app(scope, receive, send_strictly)

"""The responses of the report pages: pages, messages for errors, files; each with its policy.

The pages stand in a frame of Airflow's own page, so that a script in one of them would act as its reader:
each policy names by its hash each script that may run, and a report may run none.
"""

from __future__ import annotations

import logging
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as AsgiMessage

from starskip.airflow.report_pages.nightly_dags import NightlyDag
from starskip.errors import MissingSource, StarskipError
from starskip.reports.page_links import PageLinks
from starskip.reports.render_html import content_security_policy
from starskip.reports.render_pages import Message, render_message
from starskip.reports.template_environment import page_content_security_policy

_LOG = logging.getLogger(__name__)
_MEDIA_TYPES = {
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
}
_REFUSALS = {
    401: Message("Not logged in", "Log in to Airflow, then open the reports again."),
    403: Message(
        "Not permitted", "Who may read a nightly DAG may read its reports: ask for that permission."
    ),
    404: Message("No such page", "There is no such page among the reports."),
    405: Message("Reading only", "This page can be read and nothing else."),
    422: Message("Not understood", "The address asks for something that these pages do not know."),
}


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
NO_DAG_YET = Message(
    "No nightly DAG yet",
    "Airflow has read no DAG that index_advisor_dag made, or none that is sound. It reads a new file within "
    "minutes; this lists the files that it could not import:",
    ("airflow dags list-import-errors",),
)
NO_ADVICE = Message("No index advice", "Only runs of DAGs that index_advisor_dag made give advice.")


def page_answer(page: str, status: int = 200) -> Response:
    """Return one of our own pages."""
    return HTMLResponse(page, status, headers={POLICY: page_content_security_policy()})


def message_answer(
    request: Request, message: Message, status: int = 200, links: PageLinks | None = None
) -> Response:
    """Return a page that says only ``message``; ``links``: of one DAG, by default of them all."""
    return page_answer(render_message(links or links_of(request), message), status)


def report_answer(page: bytes) -> Response:
    """Return a published report under its own policy, in our own frames only."""
    policy = f"{content_security_policy()}; frame-ancestors 'self'"
    return HTMLResponse(page, headers={POLICY: policy})


def download_answer(content: bytes, file_name: str) -> Response:
    """Return a file to keep; ``file_name`` consists of page names and our own words."""
    media_type = _MEDIA_TYPES[file_name[file_name.rindex(".") :]]
    return Response(
        content,
        media_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


def links_of(request: Request, dag: NightlyDag | None = None) -> PageLinks:
    """Return the links of the pages of ``dag``, by default of all, below their mount in Airflow."""
    root = request.scope.get("root_path", "")
    return PageLinks(f"{root}/dags/{quote(dag.dag_id, safe='')}", dag.experiment) if dag else PageLinks(root)


def answer_errors(app: FastAPI) -> None:
    """Let ``app`` answer each error with a page that says what is wrong, and never with a stack trace."""

    async def refused(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, StarletteHTTPException) else 422
        detail = getattr(error, "detail", None)
        otherwise = Message("Not possible", "The page cannot be shown.")
        message = detail if isinstance(detail, Message) else _REFUSALS.get(status, otherwise)
        return message_answer(request, message, status)

    async def unreadable(request: Request, error: Exception) -> Response:
        if isinstance(error, MissingSource):
            return message_answer(request, Message("No such report", f"{error}."), 404)
        return message_answer(request, Message("The reports cannot be read", f"{error}."), 503)

    async def broken(request: Request, error: Exception) -> Response:
        _LOG.error("a report page failed: %s", request.url.path, exc_info=error)
        text = "This is a fault of Starskip; the log of Airflow's API server says where."
        return message_answer(request, Message("Something went wrong", text), 500)

    for kind in (HTTPException, StarletteHTTPException, RequestValidationError):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(StarskipError, unreadable)
    app.add_exception_handler(Exception, broken)


class StrictHeaders:
    """An ASGI application around another; a response without a policy of its own gets the strictest."""

    def __init__(self, app: ASGIApp) -> None:
        """Keep the application whose responses get the headers."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_strictly(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault(POLICY, _NOTHING_ALLOWED)
                headers.update(_HEADERS)
            await send(message)

        await self.app(scope, receive, send_strictly)


def no_night_yet(dag: NightlyDag) -> Message:
    """Return the message for a DAG without a published night."""
    return Message(
        "No night yet",
        f"Nothing is published in the artefacts that {dag.config} names. Start a night:",
        (f"airflow dags trigger {dag.dag_id}",),
    )

"""Render the templates of the pages in Airflow, whose one style and one script the policy allows by hash.

Jinja escapes their text as in the reports. The script follows Airflow's choice of light or dark. The pages
load nothing; only the frame of a report loads the report itself.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from starskip.advisor.deployment.forecast import minutes_words
from starskip.advisor.families.headline_pieces import Piece
from starskip.reports.template_environment import template_environment, template_text


def page_content_security_policy() -> str:
    """Return the policy of all pages in Airflow: our own style, script and frames, nothing else."""
    return (
        f"default-src 'none'; style-src 'sha256-{_digest(_style())}'; "
        f"script-src 'sha256-{_digest(_script())}'; frame-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'self'"
    )


def rendered_page(template: str, *, alarms: Sequence[str] = (), **values: Any) -> str:
    """Return a page of the templates folder with these values; ``alarms`` are sentences for its top."""
    return _environment().get_template(template).render(values, alarms=alarms)


@cache
def _environment() -> Environment:
    """Return the environment of all pages of this process, which keeps their compiled templates."""
    environment = template_environment(autoescape=True)
    # Our own files. Neither element knows entities, so the files must stay as they are, to the byte of their
    # hashes.
    own = {"style": Markup(_style()), "script": Markup(_script())}  # noqa: S704
    environment.filters |= {"rough_time": lambda seconds: minutes_words(seconds / 60)}
    environment.globals |= {**own, "sentence": _sentence}
    return environment


def _sentence(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.text for piece in pieces)


def _style() -> str:
    return template_text("report.css") + template_text("pages.css")


def _script() -> str:
    return template_text("pages.js")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

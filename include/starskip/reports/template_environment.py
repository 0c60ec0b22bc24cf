"""Load the Jinja templates of the reports, from inside a zip too, and render those of the pages in Airflow.

The pages' one style and one script the policy allows by hash. The script follows Airflow's choice of light or
dark. The pages load nothing; only the frame of a report loads the report itself.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from starskip import number_text
from starskip.advisor.deployment.forecast import minutes_words
from starskip.advisor.families.families import BUILT_IN
from starskip.advisor.families.headline_pieces import Piece
from starskip.errors import printable
from starskip.reports import afterwards_words, past_words, sentences

MAX_NAME = 120


def template_environment(*, autoescape: bool) -> jinja2.Environment:
    """Return an environment with the report's filters; undefined names are errors."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template_text),
        autoescape=autoescape,  # noqa: S701 - Markdown has an escaping of its own
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": number_text.count,
        "mean_count": number_text.mean_count,
        "compact_count": number_text.compact_count,
        "size": number_text.size,
        "size_share": number_text.size_share,
        "percent": number_text.percent,
        "points": number_text.points,
        "fine_percent": number_text.fine_percent,
        "milliseconds": number_text.milliseconds,
        "decimal": number_text.decimal,
        "code_words": sentences.code_words,
        "sentence": sentences.sentence,
        "log_words": sentences.log_words,
        "unit_words": sentences.unit_words,
        "gap_words": sentences.gap_words,
        "widened_words": sentences.widened_words,
        "kind_label": sentences.kind_label,
        "kind_noun": sentences.kind_noun,
        "kind_words": sentences.kind_words,
        "known_words": sentences.known_words,
        "afterwards_words": afterwards_words.afterwards_words,
        "beside_words": afterwards_words.beside_words,
        "refuted_words": afterwards_words.refuted_words,
        "past_words": past_words.past_words,
        "kept_rule": past_words.kept_rule,
        "stop_sentence": past_words.stop_sentence,
        "shown": shown,
        "with_units": _with_units,
        "shell_word": lambda text: shlex.quote(shown(text)),
        # A longer name stands in no address, and nobody would type it.
        "url_word": lambda text: (
            quote(str(text), safe="", errors="replace") if len(text) <= MAX_NAME else "TABLE"
        ),
        "data_url": data_url,
    }
    environment.globals |= {
        "percent_range": number_text.percent_range,
        "refusals_by_reason": sentences.refusals_by_reason,
        # If it is the usual kind of index, the kind is not named.
        "usual_kind": BUILT_IN[0].name,
    }
    return environment


@lru_cache(maxsize=64)
def compiled(environment: jinja2.Environment, text: str) -> jinja2.Template:
    """Return the template of a text; families' templates are compiled once in a process."""
    return environment.from_string(text)


def template_text(name: str) -> str:
    """Return the text of one file of the templates folder."""
    return (resources.files("starskip.reports") / "templates" / name).read_text(encoding="utf-8")


def _with_units(text: str) -> str:
    """Return the text with spaces before units that no line breaks at."""
    return re.sub(r"(?<=\d) (?=%|ms|s|min|h)", "\u00a0", text)


def data_url(svg: str) -> str:
    """Return a picture as an address that loads nothing."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def shown(text: object, limit: int = MAX_NAME) -> str:
    """Return text from outside on one bounded line, control characters escaped."""
    return printable(str(text), limit)


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
def _environment() -> jinja2.Environment:
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

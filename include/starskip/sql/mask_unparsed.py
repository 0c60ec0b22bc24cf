"""Mask text that does not parse: only words of SQL and of Pinot's log lines stay.

Where one quote is missing or too many, as in ``'O'Brien' AND mail = 'x'``, the values stand outside the
quotes. So a word is shown only because it is known, never because of its place; names of tables and columns
are masked too. The place of the record is reported beside the text.
"""

from __future__ import annotations

import re

from starskip.sql.literal_spans import without_literals

MAX_REJECTED_TEXT = 200

_SQL = """
    all and any array as asc avg between bigint boolean both by bytes case cast ceil char coalesce
    concat count cross cube current date datetime dateconvert datetimeconvert datetrunc day decimal
    default desc distinct distinctcount distinctcounthll divide double else end escape except exists
    explain extract false fetch filter first float floor following for from full group grouping having
    hour if ilike in inner int integer intersect interval into is join json lag last lateral lead
    leading left length like limit long lower max min minus minute minmaxrange mod month mult natural
    next not ntile null nulls numeric offset on only option or order outer over partition percentile
    percentileest percentiletdigest plan plus preceding quarter range rank real recursive regexp_like
    replace right rollup round row row_number rows second select set sets similar smallint some string
    sub substr substring sum table text then ties time timestamp timestampadd timestampdiff tinyint to
    todatetime todayofweek toepoch toepochdays toepochhours toepochminutes toepochseconds top trailing
    trim true unbounded union unknown unnest upper using values varbinary varchar week when where window
    with within year
"""
_LOG = """
    brokerid brokerreducetimems consumingfreshnesstimems consumingmatched consumingprocessed
    consumingqueried clientip debug docs entries error exceptions executor failed fatal
    grouplimitreached info matched numgroupslimitreached offline offlinethreadcputimens
    offlinetotalcputimens pinot processed queried query queryengine querylogger basebrokerrequesthandler
    basesinglestagebrokerrequesthandler singleconnectionbrokerrequesthandler
    multistagebrokerrequesthandler realtime realtimethreadcputimens realtimetotalcputimens
    reasonableunavailable request requestid ressersize resser response responseserialization scanned
    segments serverstats servers slow sql stage sysactivity thread timems total unavailable warn
"""
_KNOWN = frozenset(f"{_SQL} {_LOG}".split())
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_SHOWN_SIGNS = frozenset("()[]{},.=<>*+;:%|/")
_MASK = "?"
_MANY_MASKS = re.compile(r"\?(?: \?){2,}")


def mask_unparsed(text: str, *, limit: int = MAX_REJECTED_TEXT) -> str:
    """Return ``text`` on one line of at most ``limit`` characters, with ``?`` for all but known words.

    Masked text up to the next blank is one ``?``; more than two ``?`` in a row become two. Linear, never
    raises.
    """
    pieces: list[str] = []
    blank = False
    for token in _TOKEN.findall(without_literals(text, quoted_names=False)):
        if token.isspace():
            blank = True
            continue
        shown = token if token in _SHOWN_SIGNS or token.casefold() in _KNOWN else _MASK
        if shown == "*" and pieces and pieces[-1] == "/" and not blank:
            shown = _MASK  # together they would open a comment
        if shown == _MASK and pieces and pieces[-1] == _MASK and not blank:
            continue
        pieces += [" ", shown] if blank and pieces else [shown]
        blank = False
    line = _MANY_MASKS.sub("? ?", "".join(pieces))
    return line if len(line) <= limit else line[: limit - 1] + "…"

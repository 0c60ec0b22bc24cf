"""Draw the charts of a report as SVG: saving by K, shapes, pairs of families, latency.

Drawn by Vega-Lite (vl-convert: no browser, no network). Every chart has a wide and a narrow form; both carry
a style sheet that swaps the theme's colours if the reader prefers dark. The colours are Okabe and Ito's,
which colour-blind eyes can distinguish. Text from outside is passed as data values, never in an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from starskip.advisor.families.family_section import PairsPicture, ShapePair
from starskip.extras import missing_extra, needing_extra
from starskip.number_text import compact_count, milliseconds, percent, percent_range
from starskip.reports.evidence import Evidence
from starskip.reports.log_values import thinned_bins
from starskip.reports.sentences import filter_text
from starskip.reports.template_environment import shown

Spec = dict[str, Any]
"""A part of a Vega-Lite specification."""

WIDE, NARROW = 860, 330
MAX_BARS = 15
MAX_POINTS = 150
"""A page stays light; the evidence holds all bins."""

INK, MUTED, GRID = "#1f2430", "#5b6472", "#e3e6eb"
BLUE, VERMILLION, GREY = "#0072b2", "#d55e00", "#b9c0ca"
_DARK = {
    INK: "#e8ebf0",
    MUTED: "#a3adba",
    GRID: "#343b47",
    BLUE: "#56b4e9",
    VERMILLION: "#ff9d57",
    GREY: "#566070",
}
# Without aria: an attribute on each mark would double the size; the picture has its alt text.
_THEME: Spec = {
    "aria": False,
    "font": "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif",
    "view": {"stroke": None},
    "mark": {"aria": False},
    "text": {"fontSize": 12},
    "axis": {
        "aria": False,
        "labelColor": INK,
        "titleColor": MUTED,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": GRID,
        "domainColor": GRID,
        "tickColor": GRID,
        "titlePadding": 8,
    },
}


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: two SVG texts and the sentence that replaces it where it cannot be seen.

    The texts are empty where the library that draws is missing.
    """

    wide_svg: str
    narrow_svg: str
    alt: str


@cache
def missing_pictures() -> str:
    """Return why no chart can be drawn here, empty if charts can be."""
    return missing_extra("reports")


def k_curve_chart(evidence: Evidence) -> Chart | None:
    """Return saving by number of indexes with its 90 % band and the chosen number; None without a curve."""
    curve = evidence.k_curve
    if not curve.points:
        return None
    points = [
        {"k": each.k, "saving": each.saving_ratio, "low": each.interval.low, "high": each.interval.high}
        for each in curve.points
    ]
    if all(each.k for each in curve.points):
        points.insert(0, {"k": 0, "saving": 0.0, "low": 0.0, "high": 0.0})
    chosen = [
        {
            "k": each.k,
            "saving": each.saving_ratio,
            "label": f"chosen: {each.k} → {percent(each.saving_ratio)}",
        }
        for each in curve.points
        if each.k == curve.chosen_k > 0
    ]
    x = _axis("k", "number of indexes", values=[point["k"] for point in points], format="d")
    percents = "format(datum.value * 100, '~f') + ' %'"
    y = _axis("saving", "share of all entries saved", labelExpr=percents, tickCount=5)
    # The curve never falls: the corner below its end is free.
    corner = {"align": "right", "baseline": "bottom", "dx": -8, "dy": -8}
    layers = [
        _layer(
            points,
            {"type": "area", "color": BLUE, "opacity": 0.18},
            x=x,
            y=y | {"field": "low"},
            y2={"field": "high"},
        ),
        _layer(points, {"type": "line", "color": BLUE, "strokeWidth": 2}, x=x, y=y),
        _layer(points, _dots(BLUE, size=45), x=x, y=y),
        _layer(chosen, {"type": "point", "color": VERMILLION, "size": 190, "strokeWidth": 2.5}, x=x, y=y),
        _layer(
            chosen,
            {"type": "text", "color": VERMILLION, "fontWeight": "bold"} | corner,
            x={"value": "width"},
            y={"value": "height"},
            text={"field": "label"},
        ),
    ]
    described = "; ".join(
        f"{each.k}: {percent(each.saving_ratio)} ({percent_range(each.interval.low, each.interval.high)})"
        for each in curve.points[:20]
    )
    alt = f"Predicted saving by number of indexes, 90 % interval in brackets. {described}."
    return Chart(_svg(layers, WIDE, 260), _svg(layers, NARROW, 260), alt)


def shapes_chart(evidence: Evidence) -> Chart | None:
    """Return all entries scanned now and with the advice, by shape; None if nothing is scanned."""
    shapes = [each for each in evidence.shapes.top[:MAX_BARS] if each.scanned]
    if not shapes:
        return None
    pairs = [
        ShapePair(
            rank,
            filter_text(each.masked_text),
            each.scanned,
            max(0.0, each.scanned * (1 - each.saved)),
        )
        for rank, each in enumerate(shapes, start=1)
    ]
    x = _axis("before", "entries scanned", format="~s", tickCount=5, orient="top")
    marks: Sequence[tuple[Spec, Spec]] = (
        ({"type": "bar", "color": GREY, "height": 16}, {}),
        ({"type": "bar", "color": BLUE, "height": 8}, {"x": x | {"field": "after"}}),
    )
    alt = "All entries scanned by shape, in filters and behind them, now and with the advice."
    return _by_shape(pairs, x, marks, alt)


def pairs_chart(picture: PairsPicture | None) -> Chart | None:
    """Return the first pairs as dots on a logarithmic axis, None without any."""
    if picture is None or not picture.pairs:
        return None
    # A logarithm has no place for zero.
    drawn = [
        replace(each, before=max(1.0, each.before), after=max(1.0, each.after))
        for each in picture.pairs[:MAX_BARS]
    ]
    x = _axis("before", picture.title, format="~s", tickCount=5, orient="top") | {"scale": {"type": "log"}}
    marks: Sequence[tuple[Spec, Spec]] = (
        ({"type": "rule", "color": GRID}, {"x2": {"field": "after"}}),
        (_dots(GREY, size=90), {}),
        (_dots(BLUE, size=90), {"x": x | {"field": "after"}}),
    )
    return _by_shape(drawn, x, marks, picture.alt, picture.words)


def latency_chart(evidence: Evidence) -> Chart | None:
    """Return pooled bins, measured against predicted, and the perfect fit; None under two bins."""
    bins = tuple(each for each in evidence.latency.bins if each.predicted_ms is not None)
    if len(bins) < 2:
        return None
    points = [
        {"predicted": each.predicted_ms, "measured": each.latency_ms}
        for each in thinned_bins(bins, MAX_POINTS)
    ]
    most = max(each.latency_ms for each in bins)
    end = min(most, max(each.predicted_ms or 0.0 for each in bins))
    perfect = [{"predicted": each, "measured": each} for each in (0.0, end)]
    x = _axis("predicted", "predicted ms", tickCount=6)
    y = _axis("measured", "measured ms", tickCount=5)
    line = {"type": "line", "color": MUTED, "strokeDash": [5, 4], "strokeWidth": 1.5}
    layers = [
        _layer(perfect, line, x=x, y=y),
        _layer(points, _dots(BLUE, size=26) | {"opacity": 0.5}, x=x, y=y),
    ]
    alt = (
        f"Measured against predicted latency of {len(bins)} pooled bins, up to {milliseconds(most)}; "
        "a perfect fit lies on the dashed diagonal."
    )
    return Chart(_svg(layers, WIDE, 280), _svg(layers, NARROW, 280), alt)


def _by_shape(
    pairs: Sequence[ShapePair],
    x: Spec,
    marks: Sequence[tuple[Spec, Spec]],
    alt: str,
    words: Callable[[float], str] = compact_count,
) -> Chart:
    """Return two values of each shape, a row a shape; the narrow form has no texts.

    ``marks``: each with the encoding that extends or replaces ``x`` and the labels.
    """

    def drawn(width: int, label_width: int, characters: int) -> str:
        rows = [
            {
                "label": f"{each.rank}  {shown(each.text, characters) if characters else ''}".strip(),
                "before": each.before,
                "after": each.after,
            }
            for each in pairs
        ]
        axis = {"ticks": False, "domain": False, "grid": False, "labelAlign": "left"}
        axis |= {"labelLimit": label_width, "labelPadding": label_width + 8}
        y = {"field": "label", "type": "nominal", "title": None, "sort": None, "axis": axis}
        layers = [_layer(rows, mark, **({"x": x, "y": y} | encoding)) for mark, encoding in marks]
        return _svg(layers, width, 24 * len(rows) + 50)

    described = "; ".join(f"{each.rank}: {words(each.before)} to {words(each.after)}" for each in pairs)
    return Chart(drawn(WIDE, 350, 52), drawn(NARROW, 22, 0), f"{alt} {described}.")


def _axis(field: str, title: str, **axis: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "axis": axis}


def _dots(color: str, size: int) -> Spec:
    return {"type": "point", "color": color, "filled": True, "size": size, "opacity": 1}


def _layer(rows: Sequence[Spec], mark: Spec, **encoding: Spec) -> Spec:
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _svg(layers: Sequence[Spec], width: int, height: int) -> str:
    if missing_pictures():
        return ""
    with needing_extra("reports"):
        import vl_convert  # noqa: PLC0415

    spec: Spec = {
        "layer": layers,
        "width": width,
        "height": height,
        "background": "transparent",
        "autosize": {"type": "fit", "contains": "padding"},
    }
    # No URL may be loaded, whatever the data hold.
    svg: str = vl_convert.vegalite_to_svg(spec, config=_THEME, allowed_base_urls=[])
    rules = "".join(f'[fill="{a}"]{{fill:{b}}}[stroke="{a}"]{{stroke:{b}}}' for a, b in _DARK.items())
    start = svg.index(">", svg.index("<svg")) + 1
    return f"{svg[:start]}<style>@media (prefers-color-scheme:dark){{{rules}}}</style>{svg[start:]}"

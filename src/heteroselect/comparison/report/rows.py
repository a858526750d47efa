"""Charts of rows on a page, a row per method: bars, stacks and boxes along a scale, with their values as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from heteroselect.comparison.report.html import row, table
from heteroselect.comparison.report.lines import values
from heteroselect.comparison.report.scale import Scale

TONES = {4: ("c0", "c5", "c4", "c3"), 7: ("c0", "c1", "c2", "pale", "c4", "c5", "c6")}
"""The colours of so many parts of a bar; what nobody does is pale."""


@dataclass(frozen=True)
class Mark:
    """A shape of a row, from one value to another; what it says is shown to whoever points at it."""

    kind: str
    """bar, whisker, box or middle"""
    start: float
    end: float
    css: str = ""
    says: str = ""


@dataclass(frozen=True)
class Row:
    label: str
    marks: tuple[Mark, ...]
    text: str = ""
    note: str = ""


@dataclass(frozen=True)
class RowPanel:
    title: str
    scale: Scale
    rows: tuple[Row, ...]

    def html(self) -> str:
        ruler = "".join(f'<i style="left:{100 * share:.2f}%"></i>' for share, _ in self.scale.ticks)
        ticks = "".join(
            f'<span style="left:{100 * share:.2f}%">{escape(label)}</span>' for share, label in self.scale.ticks
        )
        body = "".join(self._row(one) for one in self.rows)
        return (
            f'<div class="rows"><h3>{escape(self.title)}</h3><div class="ruled" role="list">'
            f'<div class="ruler" aria-hidden="true"><div>{ruler}</div></div>{body}</div>'
            f'<div class="scale" aria-hidden="true"><div class="xticks">{ticks}</div></div></div>'
        )

    def _row(self, one: Row) -> str:
        marks = "".join(self._mark(mark) for mark in one.marks)
        note = f"<small>{escape(one.note)}</small>" if one.note else ""
        return (
            f'<div class="row" role="listitem"><span class="label">{escape(one.label)}</span>'
            f'<span class="track">{marks}</span><span class="value">{escape(one.text)}{note}</span></div>'
        )

    def _mark(self, mark: Mark) -> str:
        start, end = (100 * min(1.0, max(0.0, self.scale.share(value))) for value in (mark.start, mark.end))
        says = f' title="{escape(mark.says)}"' if mark.says else ""
        return f'<i class="{mark.kind} {mark.css}"{says} style="left:{start:.2f}%;width:{end - start:.2f}%"></i>'


@dataclass(frozen=True)
class Rows:
    """Panels beside each other, what the colours mean, and the values that the rows do not say."""

    panels: tuple[RowPanel, ...]
    legend: tuple[tuple[str, str], ...] = ()
    """name and class of each colour"""
    heads: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()

    def html(self) -> str:
        keys = "".join(f'<span><i class="key {css}"></i>{escape(name)}</span>' for name, css in self.legend)
        keys = f'<div class="legend">{keys}</div>' if keys else ""
        body = "".join(panel.html() for panel in self.panels)
        below = values(table(self.heads, [row([escape(cell) for cell in cells]) for cells in self.cells]))
        return f'{keys}<div class="panels p{len(self.panels)}">{body}</div>{below if self.cells else ""}'


def stacked(
    labels: Sequence[str], amounts: Sequence[Mapping[str, float]], names: Mapping[str, str], title: str, unit: str
) -> Rows:
    """A row per label: its amounts end to end, in the colours of the `names`, and their sum."""
    shown = [part for part in names if any(one[part] for one in amounts)]
    css = dict(zip(names, TONES[len(names)], strict=True))
    rows = []
    for label, one in zip(labels, amounts, strict=True):
        marks, at = [], 0.0
        for part in shown:
            marks.append(Mark("bar", at, at + one[part], css[part], f"{names[part]}: {one[part]:,.4g} {unit}"))
            at += one[part]
        rows.append(Row(label, tuple(marks), f"{at:,.4g}"))
    scale = Scale.over([sum(one.values()) for one in amounts], zero=True)
    cells = [(label, *(f"{one[part]:,.4g}" for part in shown)) for label, one in zip(labels, amounts, strict=True)]
    return Rows(
        panels=(RowPanel(title, scale, tuple(rows)),),
        legend=tuple((names[part], css[part]) for part in shown),
        heads=("", *(names[part] for part in shown)),
        cells=tuple(cells),
    )

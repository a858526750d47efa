"""How good the models of a comparison are on single classes, in the end: the worst, the best, and a strip of all."""

from html import escape
from statistics import fmean

from heteroselect.comparison.report.html import row, section, table
from heteroselect.comparison.report.load import Comparison, Group

_CAPTION = (
    "Accuracy on the examples of each class at the last evaluation, the mean over seeds. In the strip each class is a "
    "cell, in the order of their numbers: the stronger its colour, the higher, from 0 % to 100 %."
)


def by_class(group: Group) -> dict[int, float]:
    """The accuracy of each class that has test examples at the last evaluation, mean over seeds; of seeds that did not
    record it, or not for the same classes, there is nothing to say."""
    ends = []
    for lines in group.lines:
        found = next((line["class_accuracy"] for line in reversed(lines) if line.get("class_accuracy")), None)
        ends.append({number: value for number, value in enumerate(found or ()) if value is not None})
    if not all(one.keys() == ends[0].keys() for one in ends):
        return {}
    return {number: fmean(one[number] for one in ends) for number in ends[0]}


def classes(comparison: Comparison) -> str:
    """The section of a page; empty where no run has the accuracy on single classes."""
    found = {group.label: values for group in comparison.groups if (values := by_class(group))}
    rows = []
    for label, values in found.items():
        ends = (min(values, key=lambda number: values[number]), max(values, key=lambda number: values[number]))
        rows.append(
            row([escape(label), *(f"{values[one]:.2%}<small>class {one}</small>" for one in ends), strip(values)])
        )
    return section("Classes", _CAPTION, table(["method", "worst", "best", "all classes"], rows)) if rows else ""


def strip(values: dict[int, float]) -> str:
    """A row of cells, one for each class; what it shows is also text, for whoever points at a cell."""
    cells = (
        f'<span class="cell" style="--part:{value:.0%}" title="class {number}: {value:.2%}"></span>'
        for number, value in values.items()
    )
    return f'<span class="strip">{"".join(cells)}</span>'

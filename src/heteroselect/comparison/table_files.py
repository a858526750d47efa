"""The files of comparisons, studies and tunings: Markdown, CSV, JSON and LaTeX."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heteroselect.comparison.table import CELLS, RESTRICTED, Row, Summary, Table
from heteroselect.files import write_whole
from heteroselect.runs.folder import as_user_error


def write_files(out: Path, texts: Mapping[str, str]) -> None:
    """Write texts into a folder, each by the name of its file."""
    with as_user_error(out):
        out.mkdir(parents=True, exist_ok=True)  # (all runs may be those of other studies)
        for name, text in texts.items():
            write_whole(out / name, text.encode())


def as_json(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def as_csv(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A line per row; what is not in `fields` is left out, and no cell is taken for a formula by a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fields, extrasaction="ignore", lineterminator="\n")
    writer.writerow({field: as_text(field) for field in fields})
    writer.writerows({key: as_text(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def as_text(value: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def as_markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns but the first are aligned to the right."""
    lines = [" | ".join(cell.replace("|", r"\|") for cell in row) for row in (heads, *rows)]
    first, *rest = [f"| {line} |" for line in lines]
    return "\n".join([first, "|---|" + "---:|" * (len(heads) - 1), *rest])


def save(
    table: Table,
    runs: Sequence[Summary],
    out: Path,
    command: str,
    stem: str = "compare",
    claims: Mapping[str, Any] | None = None,
) -> None:
    """Write the table as Markdown, CSV, JSON and LaTeX; `claims` are those of a study, by a sentence on each."""
    content = {
        "command": command,
        "runs": runs,
        **{key: value for key, value in vars(table).items() if key not in ("rows", "measure")},
        "table": [_plain(row, table) for row in table.rows],
        **({} if claims is None else {"claims": list(claims.values())}),
    }
    texts = {
        "md": "\n".join([markdown(table, command), *(f"- {sentence}" for sentence in claims or ())]),
        "csv": as_csv([*CELLS, *table.rows[0].figures, *RESTRICTED.values()], runs),
        "tex": latex(table),
        "json": as_json(content),
    }
    write_files(out, {f"{stem}.{kind}": text for kind, text in texts.items()})


def markdown(table: Table, command: str) -> str:
    heads, *body = table.cells()
    return "\n".join([f"Made by `{command}`. {table.clock()}", *table.notes(), "", as_markdown(heads, body), ""])


_LATEX = str.maketrans(
    {"%": r"\%", "_": r"\_", "&": r"\&", "±": r"$\pm$", "−": "--", "–": "--", "≈": r"$\approx$", ">": "$>$"}
)


def latex(table: Table) -> str:
    """Three tables for a paper (how good, how soon, at what cost: one alone is wider than a page), with the rules of
    booktabs; what the figures are stands above them as comments."""
    cells = [[cell.translate(_LATEX) for cell in row] for row in table.cells()]
    lines = [f"% {note}" for note in (table.clock(), *table.notes())]
    for group in table.groups():
        head, *body = (" & ".join(row[i] for i in group) + r" \\" for row in cells)
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(group) - 1)}}}", r"\toprule", head, r"\midrule", *body]
        lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


def _plain(row: Row, table: Table) -> dict[str, Any]:
    """A row for JSON."""
    arrived = {}
    for field, one in row.arrivals.items():
        limit = table.horizons[field]
        restricted = None if limit is None else one.restricted(limit)
        arrived[field] = {"median": one.median, "arrived": len(one.reached), "restricted_mean": restricted}
    return {
        "method": row.method,
        "label": row.label,
        "reconstruction": row.group.reconstruction,
        "sends_float32": row.group.sends_float32,
        "figures": row.figures,
        "arrivals": arrived,
        "differences": {field: one and {**asdict(one), "apart": one.apart} for field, one in row.differences.items()},
    }

"""What pages are made of: their look, sections and tables; and a whole page of these."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from string import Template

from heteroselect.report import MARK
from heteroselect.report.style import FONT, GRID, INK, QUIET
from heteroselect.version import __version__

STYLE = Template("""
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #f6f7f8; color: $ink; font: 16px/1.5 $font; }
header, main, footer { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 36px; }
h1 { margin: 0; font-size: 1.9rem; font-weight: 650; letter-spacing: -0.01em; }
header p, footer { color: #5a6068; }
section { background: white; border: 1px solid $grid; border-radius: 10px; padding: 20px 24px; margin: 20px 0; }
h2 { margin: 0; font-size: 1.2rem; font-weight: 600; }
.caption { margin: 4px 0 12px; color: #5a6068; font-size: 0.92rem; max-width: 78ch; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 12px; border-bottom: 1px solid $grid; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th { font-weight: 600; color: #5a6068; }
td small { display: block; white-space: nowrap; color: $quiet; }
tr.paper td { color: #5a6068; font-style: italic; }
.key { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 8px; }
.strip { display: inline-flex; border: 1px solid $grid; }
.cell { display: inline-block; width: 10px; height: 18px; }
details { border-top: 1px solid $grid; padding: 6px 0; }
summary { cursor: pointer; }
pre { overflow-x: auto; background: #f6f7f8; padding: 12px 14px; border-radius: 8px; font-size: 0.85rem; }
footer { padding-bottom: 40px; font-size: 0.9rem; }
""").substitute(ink=INK, grid=GRID, quiet=QUIET, font=FONT)

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="$mark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; $policy">
<title>$title</title>
<style>$style
img { max-width: 100%; }</style>
</head>
<body>
<header><h1>$title</h1><p>$lead</p></header>
<main>
$body
</main>
<footer>$footer</footer>
$scripts</body>
</html>
""")

# Both policies forbid every load from outside, so that the promise of the page is the browser's to keep.
_PICTURES = "style-src 'unsafe-inline'; img-src data:"
_SCRIPTS = "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def page(title: str, lead: str, sections: Sequence[str], command: str, scripts: str = "") -> str:
    """A page of these sections; `command` is what made it, and `scripts` are those that it may run."""
    return _PAGE.substitute(
        mark=MARK,
        policy=_SCRIPTS if scripts else _PICTURES,
        title=escape(title),
        style=STYLE,
        lead=escape(lead),
        body="\n".join(sections),
        footer=f"<p>Made by heteroselect {escape(__version__)} with</p><pre>{escape(command)}</pre>",
        scripts=scripts,
    )


def picture(svg: bytes, text: str) -> str:
    """A picture in the page itself; `text` says what it shows to whoever cannot see it."""
    return f'<img src="data:image/svg+xml;base64,{b64encode(svg).decode()}" alt="{escape(text)}">'


def section(heading: str, caption: str, *parts: str) -> str:
    below = f'<p class="caption">{escape(caption)}</p>' if caption else ""
    return f"<section><h2>{escape(heading)}</h2>{below}{''.join(parts)}</section>"


def table(head: Sequence[str], rows: Sequence[str]) -> str:
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f'<div class="wide"><table><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def row(cells: Sequence[str], kind: str = "") -> str:
    """Of cells that are HTML already."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<tr{attribute}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

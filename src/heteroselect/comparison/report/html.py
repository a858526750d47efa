"""What pages are made of: their look, sections and tables; and a whole page of these."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from heteroselect.comparison.report import MARK
from heteroselect.comparison.report.style import COLOURS, ON_DARK
from heteroselect.version import __version__

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="$mark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; $policy">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header><h1>$title</h1><p>$lead</p></header>
<main>
$body
</main>
<footer>$footer</footer>
$script</body>
</html>
""")


def page(title: str, lead: str, sections: Sequence[str], command: str, *, script: bool = False) -> str:
    """A page of these sections; `command` is what made it, and `script` says whether it has charts to be read.

    The policy forbids every load from outside and every script but the page's own, so that both promises are the
    browser's to keep.
    """
    code = _asset("page.js") if script else ""
    digest = b64encode(sha256(code.encode()).digest()).decode()
    return _PAGE.substitute(
        mark=MARK,
        policy=(f"script-src 'sha256-{digest}'; " if script else "") + "style-src 'unsafe-inline'; img-src data:",
        title=escape(title),
        style=_colours() + _asset("page.css"),
        lead=escape(lead),
        body="\n".join(sections),
        footer=f"<p>Made by heteroselect {escape(__version__)} with</p><pre>{escape(command)}</pre>",
        script=f"<script>{code}</script>\n" if script else "",
    )


def _asset(name: str) -> str:
    return (files("heteroselect.comparison.report") / name).read_text(encoding="utf-8")


def _colours() -> str:
    """The methods' colours as a style: c0, c1, … have them as their tone, on a light page and on a dark one."""

    def tones(colours: Sequence[str]) -> str:
        return ":root{" + "".join(f"--c{number}:{one};" for number, one in enumerate(colours)) + "}"

    kinds = "".join(f".c{number}{{--tone:var(--c{number})}}" for number in range(len(COLOURS)))
    return f"{tones(COLOURS)}@media(prefers-color-scheme:dark){{{tones(ON_DARK)}}}{kinds}\n"


def picture(image: bytes, text: str) -> str:
    """A picture, SVG or PNG, in the page itself; `text` says what it shows to whoever cannot see it."""
    kind = "png" if image.startswith(b"\x89PNG") else "svg+xml"
    return f'<img src="data:image/{kind};base64,{b64encode(image).decode()}" alt="{escape(text)}">'


def section(heading: str, caption: str, *parts: str) -> str:
    below = f'<p class="caption">{escape(caption)}</p>' if caption else ""
    return f"<section><h2>{escape(heading)}</h2>{below}{''.join(parts)}</section>"


class Html(str):
    """A cell that is markup already."""


def table(head: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = f"<table{_class(kind)}><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide" tabindex="0">{body}</div>'


def row(cells: Iterable[str], kind: str = "") -> str:
    inside = "".join(f"<td>{cell if isinstance(cell, Html) else escape(cell)}</td>" for cell in cells)
    return f"<tr{_class(kind)}>{inside}</tr>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def listed(lines: Iterable[str]) -> str:
    return f'<ul class="notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'

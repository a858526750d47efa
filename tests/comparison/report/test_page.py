"""The page as text: it needs nothing from outside, says what was compared, and takes no name for markup."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

from heteroselect.comparison.report import MARK, curves
from heteroselect.comparison.report.chart import drawn
from heteroselect.comparison.report.load import compare
from heteroselect.comparison.report.page import render

pytestmark = pytest.mark.slow  # they train, draw or start processes

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;\"$"


KINDS = ["png", *["svg+xml"] * 5]


class Outline(HTMLParser):
    """The elements with their attributes, and the text of each kind of element."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self._open = [], {}, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        for tag in self._open:
            self.text[tag] = self.text.get(tag, "") + data


@pytest.fixture
def comparison(make_run, tmp_path):
    for seed in (1, 2):
        make_run(f"a{seed}", seed=seed)
        make_run(f"b{seed}", method="other", seed=seed, accuracies=(0.1, 0.2, 0.3, 0.4))
    return compare([tmp_path])


def charts(page):
    """The sections with a chart, by name."""
    return dict(re.findall(r'<div id="plot-(\w+)">(.*?)</section>', page, re.DOTALL))


def test_the_page_loads_nothing(comparison):
    page = render(comparison, "heteroselect report runs")
    outline = Outline(page)
    kinds = {tag for tag, _ in outline.elements}
    assert not kinds & {"link", "iframe", "object", "embed", "base", "form"}
    assert not [attrs for _, attrs in outline.elements if {"href", "srcset", "action"} & set(attrs)]
    pictures = [attrs["src"] for _, attrs in outline.elements if "src" in attrs]
    assert [one.partition(",")[0] for one in pictures] == [f"data:image/{kind};base64" for kind in KINDS]
    assert "@import" not in outline.text["style"]
    assert "url(" not in outline.text["style"]
    policy = next(attrs["content"] for _, attrs in outline.elements if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert MARK in page


def test_no_script_but_the_pages_own_may_run(comparison):
    """The policy has the digest of the one script; what it is not, the browser does not run."""
    page = render(comparison, "")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page
    assert not re.search(
        r"insertAdjacentHTML|innerHTML|outerHTML|document\.write|eval\(|fetch\(|XMLHttpRequest", script
    )


def test_a_page_stays_small_however_long_the_runs(make_run, tmp_path):
    """Ten methods with 1,000 noisy rounds each: the page has as many points of a line as fit into it."""
    noise = np.random.default_rng(1).uniform(0.4, 0.9, (10, 1000))
    for number, accuracies in enumerate(noise.tolist()):
        make_run(f"a{number}", method=f"method-{number}", accuracies=tuple(accuracies))
    page = render(compare([tmp_path]), "")
    assert len(page.encode()) < 1_500_000
    data = json.loads(next(attrs["data-chart"] for _, attrs in Outline(page).elements if "data-chart" in attrs))
    longest = max(len(line["x"]) for panel in data["panels"] for line in panel["lines"])
    assert 100 < longest <= curves.POINTS


def test_what_is_in_the_page(comparison):
    page = render(comparison, "heteroselect report runs --out x.html")
    text = Outline(page).text
    assert text["title"] == "points: 2 methods compared"
    assert "heteroselect report runs --out x.html" in text["footer"]
    assert "python 3.11, device cpu" in text["section"]
    assert 'name = "other"' in text["pre"]
    assert text["table"].count("0 of 2 arrived") == 4
    assert "31.5 (31.0 – 32.0)" in text["table"]  # seconds to target: the median, and the range of two seeds
    assert text["table"].index("ours") < text["table"].index("other"), "ranked by the final accuracy"
    assert "Rows are ranked by final accuracy, not by the peak." in text["section"]
    assert "the paper: Table I" in text["table"]
    assert "reconstruction" not in text["section"]
    assert "not float32" not in text["section"]
    assert "<h2>Classes</h2>" not in page
    assert page == render(comparison, "heteroselect report runs --out x.html"), "the same runs give the same page"
    names = {"accuracy", "bars", "score_parts", "selections", "clients", "traffic"}
    assert set(charts(page)) == names
    assert {attrs["id"] for _, attrs in Outline(page).elements if "id" in attrs} == {f"plot-{name}" for name in names}


def test_memory_and_events_are_drawn_where_they_were_recorded(make_run):
    each = {"memory_norm": 2.0, "events": [{"client": 1, "kind": "late <b>"}]}
    page = render(compare([make_run("a", each=each)]), "")
    assert "memory" in charts(page)
    text = Outline(page).text
    assert "Events" in text["h2"]
    assert text["table"].endswith("methodlate <b>ours4")  # one event in each of four rounds


def test_what_a_method_leaves_out_and_what_its_values_are_not_stands_below_the_table(make_run):
    summary = {"leaves_out": "compression downwards", "sends_float32": False, "megabytes_to_target": 1558.0}
    runs = [make_run("a", method="stc", summary=summary), make_run("b", method="fedavg")]
    again = make_run("c", method="fedcg", summary={"reconstruction": True})
    text = Outline(render(compare([*runs, again]), "")).text
    assert "fedcg*" in text["table"]
    assert "the rule is a reconstruction from the paper's abstract" in text["section"]
    assert "stc leaves out compression downwards" in text["section"]
    assert "1,558" not in text["table"]
    assert "—" in text["table"]
    assert "its values are not float32" in text["section"]
    assert "fedavg leaves out" not in text["section"]


def test_differences_are_paired_by_seed_and_marked_where_they_say_nothing(make_run, tmp_path):
    """+10 points with every seed; and +10 ± 25.4, which is 12.706 · (s = 2.83)/√2 of two pairs."""
    for seed in (1, 2):
        make_run(f"a{seed}", method="a", seed=seed, accuracies=(0.1,) * 5)
        make_run(f"b{seed}", method="b", seed=seed, accuracies=(0.2,) * 5)
        make_run(f"c{seed}", method="c", seed=seed, accuracies=(0.14 + 0.04 * seed,) * 5)
    text = Outline(render(compare([tmp_path]), "")).text["table"]
    assert "difference to a, points" in text
    assert "+10.00 ± 0.00" in text
    assert "≈ +10.00 ± 25.41" in text
    assert "to b" not in text


def test_what_a_method_has_of_its_own_data_is_said_where_others_share_it(make_run):
    runs = [make_run("a", method="heteroselect-as-run"), make_run("b", method="fedavg")]
    said = "heteroselect-as-run runs without data.variant = authors"
    assert said in Outline(render(compare(runs), "")).text["section"]
    assert said not in Outline(render(compare(runs[:1]), "")).text["section"]


def test_a_hostile_name_stays_text(make_run, tmp_path):
    make_run("plain")
    make_run("a", method=HOSTILE, summary={"environment": {HOSTILE: HOSTILE}})
    page = render(compare([tmp_path]), f"heteroselect report {HOSTILE}")
    outline = Outline(page)
    assert sum(tag == "script" for tag, _ in outline.elements) == 1
    assert not [attrs for _, attrs in outline.elements if "onerror" in attrs]
    for place in ("td", "summary", "pre", "section", "button"):
        assert HOSTILE in outline.text[place]


def test_a_metric_goes_by_its_name_and_the_lowest_is_the_first_where_lower_is_better(make_run, tmp_path):
    metric = {"name": "MSE", "higher": False, "unit": "m²"}
    for name, values in (("worse", (9.0,) * 7 + (5.0,)), ("better", (8.0,) * 6 + (4.0, 3.25))):
        make_run(name, method=name, accuracies=values, summary={"metric": metric, "target": 4.0}, paper=False)
    page = render(compare([tmp_path]), "c")
    body = page.partition("<main>")[2]
    assert "<h2>MSE</h2>" in body
    assert "ranked by final MSE, the lowest first" in body
    rows = re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    assert ["better" in rows[1], "worse" in rows[2]] == [True, True]
    assert "final MSE, m²" in rows[0]
    assert "3.62" in rows[1], "the mean of the last quarter, which is two"
    assert "%" not in rows[1]
    assert "target 4 m²" in page
    assert "test MSE, m²" in charts(page)["accuracy"]


def test_curves_against_values_alone_are_of_float32(make_run, tmp_path):
    make_run("a")
    make_run("few", method="few", summary={"sends_float32": False})
    panels = drawn(compare([tmp_path]))["panels"]
    assert [[line["key"] for line in panel["lines"]] for panel in panels] == [[0, 1]] * 3 + [[0]]
    assert "values only" in panels[-1]["name"]


def test_the_worst_and_the_best_class_in_the_end(make_run, tmp_path):
    for seed, last in ((1, [0.5, None, 0.9]), (2, [0.7, None, 0.4])):
        folder = make_run(f"a{seed}", seed=seed, each={"class_accuracy": None})
        lines = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
        for line, found in zip(lines, ([0.1, None, 0.2], [0.2, None, 0.2], last, None), strict=True):
            line["class_accuracy"] = found  # the last round has none: the one before counts
        (folder / "rounds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    make_run("old", method="old")
    body = render(compare([tmp_path]), "c").partition("<h2>Classes</h2>")[2].partition("</section>")[0]
    assert "60.00%<small>class 0</small>" in body, "(0.5 + 0.7) / 2"
    assert "65.00%<small>class 2</small>" in body, "(0.9 + 0.4) / 2"
    assert body.count('class="cell"') == 2
    assert "old" not in body, "a run of an earlier version has none"

"""The picture of what each part earns: which rows are its steps, and what it says of one that never arrives."""

from typing import Any

from scripts import script

script("studies/paper_numbers.py")
script("studies/paper_figures.py")
results_page = script("studies/results_page.py")
ladder = script("studies/ladder.py")
frontier = script("studies/frontier.py")


def run(row: str, seconds: float | None, sent: float | None, **settings: float) -> dict[str, Any]:
    clocks = {"uplink": seconds, "everything": seconds and 4 * seconds}
    named = {f"method.allocate.{name}": value for name, value in settings.items()}
    return {
        **{"study": "parts", "row": row, "settings": named, "paper": [], "reconstruction": False},
        **{"seconds_to_target_by_clock": clocks, "wire_megabytes_to_target": sent},
    }


def test_each_step_has_a_point_in_each_panel_and_one_that_never_arrived_says_so():
    steps = {"1 a": run("1 a", 1800.0, 1400.0), "2 b": run("2 b", None, None), "3 c": run("3 c", 150.0, 19.5)}
    panels = ladder.drawn(steps).axes
    assert [panel.get_title(loc="left") or panel.get_title() for panel in panels] == list(ladder.PANELS)
    for panel, costs in zip(panels, ([1800, 150], [1400, 19.5], [7200, 600]), strict=True):
        (line,) = panel.lines
        assert list(line.get_xdata()) == costs
        assert list(line.get_ydata()) == [0, 2]
        assert panel.texts[1].get_text() == "not reached"
    assert [text.get_text() for text in panels[0].get_yticklabels()] == list(steps)
    low, high = panels[0].get_ylim()
    assert low > high  # the first step stands at the top


def test_byte_budgets_stand_in_the_order_of_their_bits_and_between_steps_only_whole_methods():
    runs = [
        run("8 at a third of a bit", 170.0, 30.0, average=0.34),
        run("8 weights by variance, bits by energy (heteroselect2)", 146.0, 19.5),
        run("8 drawn uniformly", 196.0, 19.5),
        run("8 at a tenth of a bit", 140.0, 12.0, average=0.1),
        run("7 a balanced draw of fast devices", 149.0, 19.6),
        run("1 the recipe, nothing compressed", 900.0, 3000.0),
        run("stc", None, None),
        run("fedluar", 800.0, 2000.0),
    ]
    found = list(frontier.budgets(runs))
    ours, others = "heteroselect2, by bits per coordinate", "other methods"
    assert [(one.name, one.group, one.megabytes) for one in found] == [
        ("1/10 bit", ours, 12.0),
        ("1/5 bit", ours, 19.5),
        ("1/3 bit", ours, 30.0),
        ("our recipe, nothing compressed", others, 3000.0),
        ("FedLUAR", others, 2000.0),
    ]
    (panel,) = frontier.drawn(found, "60 %").axes
    joined = [list(line.get_ydata()) for line in panel.lines if len(line.get_ydata()) > 1]
    assert joined == [[12.0, 19.5, 30.0]]  # ours alone

"""The page in a real browser: it loads without a complaint or a request, the plots are there, a legend click works."""

import json
import shutil
import time

import pytest

from heteroselect.cli.report import write

pytestmark = pytest.mark.slow
PANELS = ("xy", "x2y2", "x3y3", "x4y4")
HOSTILE = "<b>other</b></script><script>throw 1</script>"


@pytest.fixture
def browser(tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromedriver is absent (Debian's packages chromium and chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1240,1600"):
        options.add_argument(f"--{switch}")
    options.add_argument(f"--user-data-dir={tmp_path / 'profile'}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield session
    session.quit()


@pytest.fixture
def page(browser, make_run, tmp_path):
    """A page of two methods with two seeds, opened, with every plot drawn."""
    each = {"memory_norm": 2.0, "events": [{"client": 1, "kind": "late"}]}
    for seed in (1, 2):
        make_run(f"a{seed}", seed=seed, each=each)
        make_run(f"b{seed}", method=HOSTILE, seed=seed, accuracies=(0.1, 0.2, 0.3, 0.4), each=each)
    path = tmp_path / "report.html"
    write([tmp_path / "runs"], path, None, "heteroselect report runs")
    browser.get(path.as_uri())
    wait(lambda: browser.execute_script("return document.querySelectorAll('.plot .main-svg').length") >= 7)
    return browser


def wait(true, seconds=30):
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def lines_by_panel(browser):
    """How many lines each panel of the accuracy plot shows, as drawn; a band has no stroke of its own."""
    script = "return document.querySelectorAll('#plot-accuracy .subplot.' + arguments[0] + ' .js-line').length"
    return [browser.execute_script(script, panel) for panel in PANELS]


def test_it_loads_without_complaints_or_requests(page):
    assert page.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # the browser's own start page asks for things too
    asked = [one["request"]["url"] for one in sent if one["documentURL"] == page.current_url]
    assert asked[0] == page.current_url
    assert [url for url in asked[1:] if not url.startswith(("data:", "blob:"))] == []


def test_the_plots_are_there(page):
    ids = page.execute_script("return [...document.querySelectorAll('.js-plotly-plot')].map(plot => plot.id)")
    names = ("accuracy", "bars", "score_parts", "selections", "clients", "traffic", "memory")
    assert ids == [f"plot-{name}" for name in names]
    count = "return document.querySelectorAll(arguments[0]).length"
    assert page.execute_script(count, "#plot-bars .barlayer .point") == 9  # two methods and the paper, three panels
    assert page.execute_script(count, "#plot-clients .heatmaplayer image") == 3
    assert page.execute_script(count, "#plot-traffic .barlayer .trace") == 4
    assert (
        page.execute_script("return document.querySelector('#plot-accuracy .legend').textContent").count(HOSTILE) == 1
    )
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_a_legend_click_hides_a_method_in_all_panels(page):
    before = lines_by_panel(page)
    assert len(set(before)) == 1
    toggle = page.find_element("css selector", "#plot-accuracy .legendtoggle")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", toggle)
    click(page, toggle)
    wait(lambda: lines_by_panel(page) == [count // 2 for count in before])
    click(page, toggle_again(page))
    wait(lambda: lines_by_panel(page) == before)


def toggle_again(browser):
    """Plotly draws its legend anew, and takes two quick clicks for a double click."""
    time.sleep(0.6)
    return browser.find_element("css selector", "#plot-accuracy .legendtoggle")


def click(browser, element):
    from selenium.webdriver import ActionChains

    ActionChains(browser).move_to_element(element).click().perform()

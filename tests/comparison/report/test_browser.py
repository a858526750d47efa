"""The page in a real browser: it loads without a complaint or a request, its charts are there and can be read, by
pointer and by keyboard, its legend works, it is light or dark as the reader is, and it fits on a phone."""

import json
import re
import shutil

import pytest

from heteroselect.comparison.report.load import compare
from heteroselect.comparison.report.write import write_comparison

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.slow
HOSTILE = "<b>other</b></script><script>throw 1</script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromedriver is absent (Debian's packages chromium and chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1240,1600"):
        options.add_argument(f"--{switch}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield session
    session.quit()


@pytest.fixture
def page(browser, make_run, tmp_path):
    """A page of two methods with two seeds, opened."""
    each = {"memory_norm": 2.0, "events": [{"client": 1, "kind": "late"}]}
    for seed in (1, 2):
        make_run(f"a{seed}", seed=seed, each=each)
        frugal = each | {"bytes_up": 100_000}
        make_run(f"b{seed}", method=HOSTILE, seed=seed, accuracies=(0.1, 0.2, 0.3, 0.4), each=frugal)
    path = tmp_path / "report.html"
    write_comparison(compare([tmp_path / "runs"]), path, None, "heteroselect report runs")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    for kind in ("browser", "performance"):  # what others left
        browser.get_log(kind)
    browser.get(path.as_uri())
    return browser


def lines_by_panel(browser):
    """How many lines each panel of the accuracy chart shows, as drawn."""
    script = """return [...document.querySelectorAll('#plot-accuracy .panel')].map(panel =>
        [...panel.querySelectorAll('.area .line')].filter(line => line.getClientRects().length).length)"""
    return browser.execute_script(script)


def ticks(browser, place=0):
    """What is written below the panel at this place."""
    script = "return [...document.querySelectorAll('.xticks')[arguments[0]].children].map(one => one.textContent)"
    return browser.execute_script(script, place)


def count(browser, selector):
    return browser.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


def move(browser, selector, across, down, *, press=None):
    """Put the pointer at a share of an element's width and height; then press it, let it go, or neither."""
    element = browser.find_element("css selector", selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    box = element.rect
    offset = round((across - 0.5) * box["width"]), round((down - 0.5) * box["height"])
    pointer = ActionChains(browser, duration=0).move_to_element_with_offset(element, *offset)
    if press is not None:
        pointer = pointer.click_and_hold() if press else pointer.release()
    pointer.perform()


def test_it_loads_without_complaints_or_requests(page):
    assert page.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # the browser's own start page asks for things too
    asked = [one["request"]["url"] for one in sent if one["documentURL"] == page.current_url]
    assert asked[0] == page.current_url
    assert [url for url in asked[1:] if not url.startswith("data:")] == []


def test_the_charts_are_there_and_can_be_read(page):
    ids = page.execute_script("return [...document.querySelectorAll('[id^=plot-]')].map(plot => plot.id)")
    names = ("accuracy", "bars", "score_parts", "selections", "clients", "traffic", "memory")
    assert ids == [f"plot-{name}" for name in names]
    assert count(page, "section img") == 6
    loaded = "return [...document.querySelectorAll('section img')].every(one => one.naturalWidth > 100)"
    assert page.execute_script(loaded)
    move(page, "#plot-accuracy .area", 0.75, 0.5)
    readout = page.find_element("css selector", "#plot-accuracy .readout").text.split("\n")
    assert readout == ["rounds 3", "ours", "90.00%", HOSTILE, "30.00%"]
    assert ticks(page, 2) == ["0.1", "0.2", "0.5", "1", "2", "5"], "a logarithm, since one sends a tenth of the other"
    assert page.get_log("browser") == []


def test_a_part_can_be_enlarged_and_the_whole_is_what_it_was(page):
    labels = "return [...document.querySelectorAll('#plot-accuracy .panel')].map(panel => panel.innerText)"
    before = page.execute_script(labels)
    assert ticks(page) == ["0", "1", "2", "3", "4"]
    move(page, "#plot-accuracy .area", 0.5, 0.2, press=True)
    move(page, "#plot-accuracy .area", 0.95, 0.6, press=False)
    assert ticks(page) == ["2.0", "2.5", "3.0", "3.5"]
    after = page.execute_script(labels)
    assert all(one != other for one, other in zip(before, after, strict=True)), "the heights of all four panels"
    page.find_element("css selector", "#plot-accuracy .whole").click()
    assert page.execute_script(labels) == before


def test_a_legend_click_hides_a_method_in_all_panels(page):
    assert lines_by_panel(page) == [2, 2, 2, 2]
    button = page.find_element("css selector", "#plot-accuracy .legend button")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert lines_by_panel(page) == [1, 1, 1, 1]
    button.send_keys(Keys.SPACE)
    assert button.get_attribute("aria-pressed") == "true"
    assert lines_by_panel(page) == [2, 2, 2, 2]


def test_a_click_on_a_head_sorts_a_table(page):
    names = "return [...document.querySelector('table.sortable').tBodies[0].rows].map(row => row.cells[0].textContent)"
    assert page.execute_script(names) == ["ours", HOSTILE]
    for turned in (False, True):
        button = page.find_elements("css selector", "table.sortable th button")[1]
        page.execute_script("arguments[0].click()", button)
        assert page.execute_script(names) == (["ours", HOSTILE] if turned else [HOSTILE, "ours"])
    assert page.find_elements("css selector", "table.sortable th")[1].get_attribute("aria-sort") == "descending"


def test_the_keyboard_reads_lines(page):
    panel = page.find_element("css selector", "#plot-accuracy .panel")
    panel.send_keys(Keys.END, Keys.ARROW_LEFT)
    assert "rounds 3" in page.find_element("css selector", "#plot-accuracy .readout").text
    style = "return getComputedStyle(arguments[0])"
    assert page.execute_script(f"{style}.outlineStyle", panel) == "solid", "the focus is seen"
    assert page.get_log("browser") == []


def test_it_is_light_or_dark_and_fits_on_a_phone(page):
    colours = "const {backgroundColor, color} = getComputedStyle(document.body); return [backgroundColor, color]"
    fits = "return document.documentElement.scrollWidth <= window.innerWidth"
    light = page.execute_script(colours)
    assert page.execute_script(fits)
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    assert brightness(light) == [True, False]
    assert brightness(page.execute_script(colours)) == [False, True]
    size = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert page.execute_script("return window.innerWidth") == 390
    assert page.execute_script(fits)
    sizes = (
        "return [...document.querySelectorAll('.xticks span')].map(one => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(page.execute_script(sizes)) >= 12


def brightness(colours):
    """Which of these is light."""
    return [sum(int(number) for number in re.findall(r"\d+", colour)[:3]) > 384 for colour in colours]

"""The pages in a browser: no console error, no request, nothing that overlaps, readable without JavaScript, by keyboard, on
narrow screens and on paper."""

import base64
import csv
import json
import re

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from conftest import gnomon, study_arguments

OVERLAPS = """
const out = [];
for (const svg of document.querySelectorAll('figure svg')) {
  if (!svg.checkVisibility()) continue;  // a closed <details> is laid out as well
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.getBoundingClientRect(), t.textContent]);
  const frame = svg.getBoundingClientRect();
  boxes.forEach(([a, s], i) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.bottom > frame.bottom + 1) out.push('outside: ' + s);
    for (const [b, t] of boxes.slice(i + 1))
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2) out.push(s + ' | ' + t);
  });
}
return out;
"""


def open_page(path, width=1280, javascript=True):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    if not javascript:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_script_timeout(900)  # of a machine that does much else at the time
    driver.set_page_load_timeout(900)
    driver.get(f"file://{path}")
    return driver


def show_as(driver, width, media="screen", dark=False):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


# The least height of letters in pictures that are seen, in pixels.
LETTERS = """
return Math.min(...[...document.querySelectorAll('figure svg text')].filter(t => t.checkVisibility() && t.getBoundingClientRect().height)
    .map(t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width));
"""

# What the keyboard can stop at.
STOPS = "return [...document.querySelectorAll('a[href], button, input, summary, [tabindex]')].filter(e => e.tabIndex >= 0 && e.checkVisibility()).length"

# The charts of lines that are seen: of each line its colour, dash and end; of each name its text, its marker, and its leader.
LINES = """
return [...document.querySelectorAll('figure > svg')].filter(s => s.checkVisibility() && s.querySelector('.line')).map(s => ({
    title: s.querySelector('title').textContent,
    lines: [...s.querySelectorAll('.line')].map(l => ({colour: l.getAttribute('stroke'), dash: l.getAttribute('stroke-dasharray') || '',
        end: l.getAttribute('d').match(/[-0-9.]+ [-0-9.]+$/)[0].split(' ').map(Number)})),
    plot: Math.max(...[...s.querySelectorAll('.axis')].map(a => +a.getAttribute('x2'))),
    marks: [...s.querySelectorAll('.mark')].map(m => { const b = m.getBBox(); return b.x + b.width / 2; }),
    names: [...s.querySelectorAll('.name')].map(n => {
        const before = n.previousElementSibling, mark = before?.matches('.mark') ? before : null, lead = mark ? mark.previousElementSibling : before;
        const line = s.querySelector(`[data-series="${n.parentElement.dataset.series}"] .line`);
        return {text: n.textContent, at: [+n.getAttribute('x') - 8, +n.getAttribute('y') - 4],
            mark: mark ? mark.getAttribute('d').replace(/^M[-0-9.]+ [-0-9.]+/, '') : '', hollow: mark ? mark.matches('.hollow') : false,
            colour: (mark ? mark.getAttribute('color') : lead?.getAttribute('stroke')) ?? line.getAttribute('stroke'),
            leader: lead?.matches('.leader') ? lead.getAttribute('d') : ''};
    }),
}));
"""


def luminance(colour):
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= .04045 else ((c + .055) / 1.055) ** 2.4 for c in channels]
    return .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2]


def contrast(a, b):
    """By the Web Content Accessibility Guidelines 2.1."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + .05) / (low + .05)


def requests(driver):
    events = [json.loads(e["message"])["message"] for e in driver.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [u for u in urls if not u.startswith(("file:", "data:"))]


@pytest.fixture(scope="module")
def pages(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    shown = {}
    for name, spec in (("sinusoidal", "sinusoidal"), ("rope", "rope(fraction=0.5)+alibi"), ("t5", "t5"), ("learned", "learned")):
        shown[name] = folder / f"{name}.html"
        gnomon("show", spec, "--out", shown[name], check=0)
    shown["both sides"] = folder / "both.html"
    gnomon("show", "t5", "--bidirectional", "--out", shown["both sides"], check=0)
    return {"report": study[0] / "report.html", **shown}


@pytest.mark.parametrize("name", ["report", "sinusoidal", "rope", "t5", "learned", "both sides"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_is_whole(pages, name, width):
    driver = open_page(pages[name], width)
    try:
        show_as(driver, width)
        driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert driver.get_log("browser") == []
        assert requests(driver) == []
        assert driver.execute_script(OVERLAPS) == []
        assert driver.execute_script(LETTERS) >= 10
        untold = "return [...document.querySelectorAll('figure > svg')].filter(s => s.firstElementChild.tagName != 'title' || !s.querySelector('desc').textContent)"
        assert driver.execute_script(untold) == []
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        assert driver.execute_script("return [...document.images].every(i => i.complete && i.naturalWidth > 0)")
        assert driver.execute_script("return document.querySelectorAll('figure').length") >= 1
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def report(pages):
    driver = open_page(pages["report"])
    yield driver
    driver.quit()


def test_the_tables_sort_and_the_data_are_there(pages):
    driver = open_page(pages["report"])
    try:
        cell = "return document.querySelector('table.data tbody tr td').textContent"
        sorts = "return [...document.querySelector('table.data').tHead.rows[0].cells].map(h => h.ariaSort)"
        button = driver.find_elements("css selector", "table.data th button")[0]
        assert set(driver.execute_script(sorts)) == {"none"}
        button.click()
        first = driver.execute_script(cell)
        assert driver.execute_script(sorts)[:2] == ["ascending", "none"]
        button.send_keys("\ue007")  # Enter
        assert driver.execute_script(cell) != first
        assert driver.execute_script(sorts)[:2] == ["descending", "none"]
        data = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
        assert len(data["arms"]) == 9
        for section in ("Ranking", "Budgets", "Learning rates", "Longer windows than in training", "While training",
                        "Within the window", "The encodings", "How this was made"):
            assert section in driver.page_source
        assert "not defined" in driver.page_source
    finally:
        driver.quit()


def test_a_table_copies_numbers_that_programs_read(report, study):
    report.execute_script("document.execCommand = () => { window.copied = document.activeElement.value; return true }")
    buttons = [b for b in report.find_elements("css selector", "button") if b.text == "copy as CSV"]
    tables = []
    for button in buttons:
        button.click()
        tables.append(list(csv.DictReader(report.execute_script("return window.copied").splitlines())))
    arms = {a["arm"]: a for a in json.loads((study[0] / "results.json").read_text())["arms"]}
    costs = next(t for t in tables if "parameters" in t[0])
    assert {row["arm"]: int(row["parameters"]) for row in costs} == {a: v["runs"][0]["parameters"] for a, v in arms.items()}
    assert any(int(row["parameters"]) >= 1000 for row in costs)
    for row in next(t for t in tables if "difference to baseline" in t[0]):
        if row["difference to baseline"] != "baseline":
            difference = float(row["difference to baseline"].split(" ± ")[0])
            assert abs(difference - arms[row["arm"]]["difference_to_baseline"]["mean"]) <= .0005 + 1e-9


def test_every_line_is_named_at_its_end(report):
    show_as(report, 1280)
    charts = [c for c in report.execute_script(LINES) if c["names"]]
    assert len(charts) >= 6
    assert report.find_elements("css selector", "ul.legend.wide") == []
    for chart in charts:
        assert len(chart["names"]) == len(chart["lines"]) >= 8, chart["title"]
        ends = {line["colour"]: line["end"] for line in chart["lines"]}
        for name in chart["names"]:
            begins = [float(x) for x in name["leader"][1:].split("L")[0].split()] if name["leader"] else name["at"]
            assert max(abs(a - b) for a, b in zip(begins, ends[name["colour"]])) <= 1.5, (chart["title"], name)


def test_a_marker_is_a_point_of_its_line(report):
    """None stands beside the names, where it would look like one more point."""
    for width in (1280, 390):
        show_as(report, width)
        charts = report.execute_script(LINES)
        assert sum(len(chart["marks"]) for chart in charts) > 20
        for chart in charts:
            assert max(chart["marks"]) <= chart["plot"] + 1, (chart["title"], width)
    show_as(report, 1280)


POINTED = """
    const told = [];
    for (const svg of document.querySelectorAll('svg')) {
        if (!svg.checkVisibility()) continue;
        for (const path of svg.querySelectorAll('.series[data-name] path.line')) {
            const at = path.getPointAtLength(0), seen = new DOMPoint(at.x, at.y).matrixTransform(svg.getScreenCTM());
            svg.dispatchEvent(new PointerEvent('pointermove', {clientX: seen.x, clientY: seen.y}));
            const lit = [...svg.querySelectorAll('.series.near')].map(g => g.dataset.series);
            told.push({words: svg.querySelector('.told').textContent, description: svg.querySelector('desc').textContent,
                       lit: lit.length > 0});
            svg.dispatchEvent(new PointerEvent('pointerleave'));
            if (svg.matches('.pointed') || svg.querySelector('.told').textContent) told.push({words: 'stays'});
        }
    }
    return told"""


def test_a_line_under_the_pointer_tells_its_value(report):
    """The first point of each, or of another one that begins at the same place, as the description of the picture has it."""
    show_as(report, 1280)
    told = report.execute_script(POINTED)
    assert len(told) > 40
    for one in told:
        name, value, at = re.fullmatch(r"(.*): ([−\d.,]+) at ([−\d.,]+)", one["words"]).groups()
        first = re.search(rf" {re.escape(name)}: ([−\d.,e-]+) at ([−\d.,e-]+)", one["description"])
        for shown, known in ((value, first[1]), (at, first[2])):
            shown, known = (float(x.replace("−", "-").replace(",", "")) for x in (shown, known))
            assert shown == pytest.approx(known, rel=.02, abs=.02), one
        assert one["lit"]


def test_names_of_arms_are_whole_on_a_narrow_screen(report):
    show_as(report, 390)
    seen = "return [...document.querySelectorAll('figure svg text, ul.legend li')].filter(e => e.checkVisibility()).map(e => e.textContent)"
    words = report.execute_script(seen)
    show_as(report, 1280)
    assert [w for w in words if w.endswith("…")] == []
    assert words.count("add(learned, scale=off)") >= 6


def test_too_many_lines_have_a_legend(text, tmp_path):
    arms = ", ".join(["none", "sinusoidal", *(f"alibi+sinusoidal(base={n})" for n in range(2, 13))])
    gnomon(*study_arguments(text, tmp_path / "out", f"study.arms={arms}", "study.seeds=1", "study.budgets=1", "train.steps=4", "tune.seeds=0"), check=0)
    driver = open_page(tmp_path / "out" / "report.html")
    try:
        assert not any(chart["names"] for chart in driver.execute_script(LINES))
        legend = driver.find_element("css selector", "ul.legend")
        assert [item.text for item in legend.find_elements("css selector", "li")][:2] == ["none", "sinusoidal"] or len(legend.find_elements("css selector", "li")) == 13
        assert driver.execute_script(OVERLAPS) == []
        entry = legend.find_element("css selector", "button")
        hidden = "return arguments[0].closest('figure').querySelectorAll('.series.hidden').length"
        for pressed, how_many in (("false", 2), ("true", 0)):  # of the wide picture and the narrow one
            entry.click()
            assert entry.get_attribute("aria-pressed") == pressed and driver.execute_script(hidden, entry) >= how_many
            assert how_many or driver.execute_script(hidden, entry) == 0
        for width in (1280, 390):  # each with a legend of its own
            show_as(driver, width)
            assert driver.execute_script("return [...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('ul.legend')].filter(u => u.checkVisibility()).length).filter(n => n > 1)") == []
    finally:
        driver.quit()


def test_lines_are_told_apart_on_either_background_and_without_colour(report):
    for dark in (False, True):
        show_as(report, 1280, dark=dark)
        paper = report.execute_script("const c = document.createElement('canvas').getContext('2d'); c.fillStyle = getComputedStyle(document.body).backgroundColor; return c.fillStyle")
        assert paper == ("#15181b" if dark else "#ffffff")
        for chart in report.execute_script(LINES):
            for line in chart["lines"]:
                assert contrast(line["colour"], paper) >= 3, (line, paper)
            looks = {line["colour"]: line["dash"] for line in chart["lines"]}
            marks = [(looks[name["colour"]], name["mark"], name["hollow"]) for name in chart["names"]]
            assert len(set(marks)) == len(marks), chart["title"]
    show_as(report, 1280)


def test_each_seed_stands_where_its_difference_is(report, study):
    svg = report.execute_script("""
    const s = document.querySelector('figure > svg.wide'), number = t => +t.replace('−', '-').replaceAll(',', '');
    return {ticks: [...s.querySelectorAll('text[text-anchor=middle]:not(.label)')].map(t => [number(t.textContent), +t.getAttribute('x')]),
            dots: [...s.querySelectorAll('.point')].map(c => +c.getAttribute('cx'))};""")
    (a, x), (b, y) = svg["ticks"][0], svg["ticks"][-1]
    arms = json.loads((study[0] / "results.json").read_text())["arms"]
    steps = max(run["steps"] for run in arms[0]["runs"])
    losses = {arm["arm"]: {run["seed"]: run["nats"] for run in arm["runs"] if run["steps"] == steps and run["seed"] < 1000} for arm in arms}
    baseline = losses["sinusoidal"]
    wanted = sorted(x + (nats - baseline[seed] - a) / (b - a) * (y - x) for arm in losses if arm != "sinusoidal" for seed, nats in losses[arm].items())
    assert len(baseline) == 2 and len(svg["dots"]) == 2 * (len(arms) - 1)
    assert max(abs(found - want) for found, want in zip(sorted(svg["dots"]), wanted)) < .2


def test_numbers_are_written_for_readers_and_as_on_the_terminal(report, study):
    shown = report.execute_script("return [...document.querySelectorAll('td.n, figure text, p')].map(e => e.textContent)")
    assert [t for t in shown if re.search(r"(?<![\d.])\d{4,}(?![\w])|(?<![\w.])-\d", t)] == []
    assert any(re.search(r"\d,\d{3}", t) for t in shown)
    rows = report.execute_script("return [...document.querySelector('table.data').tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))")
    terminal = {line.split("  ")[0]: line.split()[-3:] for line in study[1].stdout.splitlines()}
    first = {}
    for line in study[1].stdout.splitlines():
        first.setdefault(line.split("  ")[0], line)
    for arm, nats, *_ in rows:
        assert re.search(rf"\s{re.escape(nats.split(' ± ')[0])}\s", first[arm]), (arm, nats, first[arm])


def test_the_keyboard_finds_its_way(pages):
    report = open_page(pages["report"])  # where nothing has the focus yet
    try:
        show_as(report, 1280)
        assert report.execute_script(STOPS) < 60
        assert report.execute_script("return [...document.querySelectorAll('th')].every(h => ['col', 'row'].includes(h.scope) && !h.hasAttribute('role'))")
        focused = "const e = document.activeElement, s = getComputedStyle(e); return [e.tagName, s.outlineStyle, parseFloat(s.outlineWidth)]"
        body = report.find_element("css selector", "body")
        seen = set()
        for _ in range(14):
            body = report.switch_to.active_element
            body.send_keys("\ue004")  # Tab
            tag, style, width = report.execute_script(focused)
            seen.add(tag)
            assert style != "none" and width >= 2, tag
        assert {"A", "BUTTON"} <= seen
    finally:
        report.quit()


def test_a_wide_table_keeps_its_names_in_sight(report):
    show_as(report, 390)
    try:
        edges = """
        const t = document.querySelector('table.data'), box = t.parentNode; box.scrollLeft = arguments[0];
        const b = box.getBoundingClientRect(), fade = getComputedStyle(box, '::after');
        return {wider: box.scrollWidth - box.clientWidth, name: t.rows[1].cells[0].getBoundingClientRect().left - b.left,
                second: t.rows[1].cells[1].getBoundingClientRect().left - b.left, fade: [fade.position, fade.right, fade.backgroundImage]};"""
        still, moved = report.execute_script(edges, 0), report.execute_script(edges, 150)
        assert still["wider"] > 150
        assert still["name"] == moved["name"] == 0
        assert abs(still["second"] - moved["second"] - 150) < 1
        assert still["fade"][:2] == ["sticky", "0px"] and "gradient" in still["fade"][2]
    finally:
        show_as(report, 1280)


def test_a_narrow_screen_has_pictures_of_its_own(report):
    seen = "return ['wide', 'narrow'].map(k => [...document.querySelectorAll('figure > svg.' + k)].filter(s => s.checkVisibility()).length)"
    show_as(report, 1280)
    wide, narrow = report.execute_script(seen)
    assert wide >= 7 and narrow == 0
    show_as(report, 390)
    assert report.execute_script(seen) == [0, wide]
    show_as(report, 1280)


def test_it_prints(pages):
    driver = open_page(pages["report"])
    try:
        show_as(driver, 720, media="print", dark=True)
        look = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
        assert driver.execute_script(look) == ["rgb(28, 32, 36)", "rgb(255, 255, 255)"]
        cut = "return [...document.querySelectorAll('.scroll, pre, figure')].filter(e => e.checkVisibility() && (e.scrollWidth > e.clientWidth + 1)).map(e => e.textContent.slice(0, 60))"
        assert driver.execute_script(cut) == []
        unseen = "return [...document.querySelectorAll('button, nav, details')].filter(e => !e.closest('th') && e.checkVisibility()).length"
        assert driver.execute_script(unseen) == 0
        assert driver.execute_script("return [...document.querySelectorAll('figure')].every(f => getComputedStyle(f).breakInside == 'avoid')")
        points = "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).map(e => parseFloat(getComputedStyle(e).fontSize) * 3 / 4)"
        assert all(7.9 < size < 8.1 for size in driver.execute_script(points, "p.note"))
        assert driver.execute_script(LETTERS) * 3 / 4 >= 7.5  # axes are no smaller than what is told of them
        widths = "return [...document.querySelectorAll('figure > svg.wide')].filter(s => s.checkVisibility() && !s.matches('.dial, .map')).map(s => s.getBoundingClientRect().width / s.parentNode.getBoundingClientRect().width)"
        assert min(driver.execute_script(widths)) > 0.99
        pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 10
    finally:
        driver.quit()


def test_it_reads_without_javascript(pages):
    driver = open_page(pages["report"], javascript=False)
    try:
        assert "sinusoidal" in driver.find_element("css selector", "table.data").text
        assert len(driver.find_elements("css selector", "figure svg")) > 10
    finally:
        driver.quit()


SMUGGLED = """<script>document.body.dataset.smuggled = 1</script>
<p onclick="document.body.dataset.smuggled = 1">x</p><img src="x" onerror="document.body.dataset.smuggled = 1">
<style>h1 { color: rgb(1, 2, 3) }</style>
<svg><script>document.body.dataset.smuggled = 1</script></svg>"""


@pytest.mark.parametrize("name", ["report", "clock"])
def test_a_page_runs_its_own_script_and_no_other(pages, name, tmp_path):
    """By its policy, whatever slipped through escaping; without the policy all of it runs, so that this tests something."""
    if name == "clock":
        gnomon("claims", "003-10", "--out", tmp_path / "claims", check=0)
    whole = (pages[name] if name == "report" else tmp_path / "claims" / "claims.html").read_text()
    assert "unsafe" not in whole and " style=" not in whole
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\".*?>", whole)[0]
    for guarded in (True, False):
        changed = tmp_path / f"{guarded}.html"
        changed.write_text((whole if guarded else whole.replace(policy, "")).replace("</h1>", "</h1>" + SMUGGLED, 1))
        driver = open_page(changed)
        try:
            driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
            driver.find_element("css selector", "main > p[onclick]").click()
            assert driver.execute_script("return document.body.dataset.smuggled") == (None if guarded else "1")
            colour = driver.execute_script("return getComputedStyle(document.querySelector('h1')).color")
            assert (colour == "rgb(1, 2, 3)") != guarded
            own = "th button" if name == "report" else ".turn:not([hidden]) button"
            assert driver.find_elements("css selector", own)  # made, or shown, by the page's own
            if name == "clock":
                turn = "const s = document.querySelector('.turn input'); s.value = 7; s.dispatchEvent(new Event('input')); return document.querySelector('.turn output').textContent"
                assert driver.execute_script(turn) == "7"
            assert driver.execute_script("return getComputedStyle(document.querySelector('main')).maxWidth") == "960px"
            refusals = [entry["message"] for entry in driver.get_log("browser") if "Content Security Policy" in entry["message"]]
            assert len(refusals) >= 5 if guarded else not refusals
        finally:
            driver.quit()


def test_text_from_outside_is_escaped(text, tmp_path):
    hostile = tmp_path / "<img src=x onerror=alert(1)>.txt"
    hostile.write_bytes(text.read_bytes())
    gnomon(*study_arguments(hostile, tmp_path / "out", "study.arms=none, sinusoidal", "study.seeds=1"), check=0)
    assert "<img" not in (tmp_path / "out" / "report.html").read_text()

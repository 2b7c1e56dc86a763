"""The page of claims in a browser: a question to a screen, the rest folded; wide and narrow, light, dark, on paper, without scripts."""

import base64
import json
import re

import pytest

from conftest import gnomon, wait_for
from test_report import OVERLAPS, open_page, requests, show_as

OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"

# Of each question: heading, badge, answer, the figures that are seen, and the titles of what is folded.
QUESTIONS = """
return [...document.querySelectorAll('section.question')].map(s => ({key: s.querySelector('h2').id, title: s.querySelector('h2').firstChild.textContent.trim(),
    badge: s.querySelector('h2 .verdict').textContent, answer: s.querySelector('p.answer').textContent,
    figures: [...s.querySelectorAll('figure, .scroll')].filter(f => f.checkVisibility() && !f.parentNode.closest('figure')).length,
    seen: [...s.querySelectorAll('details.layer')].filter(d => d.checkVisibility()).map(d => d.querySelector('summary').firstChild.textContent.trim()),
    open: s.querySelectorAll('details[open]').length, height: s.getBoundingClientRect().height}));
"""


def test_a_question_is_a_screen(quick):
    driver = open_page(quick[0] / "claims.html")
    try:
        show_as(driver, 1280)
        shown = driver.execute_script(QUESTIONS)
        assert [q["key"] for q in shown] == [q["key"] for q in quick[1]["questions"]]
        for q, found in zip(shown, quick[1]["questions"]):
            assert q["title"] == found["title"] and q["badge"] == found["state"] and q["answer"] == found["answer"]
            assert q["badge"] in ("answered", "open", "no inference from a quick run")
            count = sum(c["question"] == q["key"] for c in quick[1]["claims"])
            assert q["seen"] == [layer["title"] for layer in found["layers"]] + [q["seen"][-1]]
            assert q["seen"][-1].startswith(f"{count} claim{'s' * (count > 1)}: ")
            assert q["open"] == 0
            assert 850 <= q["height"] <= 1500, q
        assert [q["key"] for q in shown if q["figures"] != 1] == []
    finally:
        driver.quit()


@pytest.mark.parametrize("width, most", [(1280, 20000), (390, 24000)])
def test_the_page_is_short_when_folded(quick, width, most):
    driver = open_page(quick[0] / "claims.html", width)
    try:
        show_as(driver, width)
        assert driver.execute_script("return document.documentElement.scrollHeight") < most
    finally:
        driver.quit()


def test_a_claim_is_one_line_and_has_everything_inside(quick):
    driver = open_page(quick[0] / "claims.html")
    try:
        driver.execute_script(OPEN)
        claims = driver.execute_script("""
        return [...document.querySelectorAll('details.claim')].map(d => ({id: d.id.slice(1), told: d.querySelector('summary .verdict').textContent,
            says: d.querySelector('summary .says').textContent, terms: [...d.querySelectorAll('dt')].map(t => t.textContent),
            sure: d.querySelector('p.sure').lastChild.textContent.trim(), link: d.querySelector('p.note > a[href^="#c"]').textContent,
            heads: [...d.querySelectorAll('table')].every(t => [...t.tHead.rows[0].cells].every(c => c.matches('th[scope=col], td:empty')) && [...t.tBodies[0].rows].every(r => r.cells[0].matches('th[scope=row]')))}))""")
        found = {c["id"]: c for c in quick[1]["claims"]}
        assert sorted(c["id"] for c in claims) == sorted(found)
        for claim in claims:
            record = found[claim["id"]]
            assert (claim["told"], claim["says"], claim["sure"], claim["link"]) == (record["reading"], record["says"], record["how_sure"], claim["id"])
            assert {"How it is measured", "Predicted, before the run", "What to do about it", "Compared with the record", "Measure again"} <= set(claim["terms"]), claim["id"]
            assert claim["heads"], claim["id"]
        headings = driver.execute_script("return [...document.querySelectorAll('h1, h2, h3, h4')].map(h => h.textContent)")
        assert [h for h in headings if re.search(r"00\d-\d\d", h)] == [], "an id in a heading"
        untold = "return [...document.querySelectorAll('figure > svg')].filter(s => s.firstElementChild.tagName != 'title' || !s.querySelector('desc')?.textContent).map(s => s.textContent.slice(0, 60))"
        assert driver.execute_script(untold) == []
    finally:
        driver.quit()


def test_a_link_opens_what_it_points_to(quick):
    driver = open_page(str(quick[0] / "claims.html") + "#c004-16")
    try:
        assert driver.execute_script("return document.getElementById('c004-16').open && document.getElementById('c004-16').checkVisibility()")
        driver.find_element("css selector", "#contents a[href='#how_loud']").click()
        assert abs(driver.execute_script("return document.getElementById('how_loud').getBoundingClientRect().top")) < 60
        driver.find_element("css selector", "section.question:has(#how_loud) nav.steps a.after").click()
        assert driver.execute_script("return location.hash") == "#" + quick[1]["questions"][[q["key"] for q in quick[1]["questions"]].index("how_loud") + 1]["key"]
    finally:
        driver.quit()


@pytest.mark.parametrize("javascript", [True, False])
def test_paper_shows_what_is_folded(quick, javascript):
    driver = open_page(quick[0] / "claims.html", javascript=javascript)
    try:
        show_as(driver, 720, media="print", dark=True)
        if javascript:
            assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            hidden = "return [...document.querySelectorAll('details.layer, details.claim')].filter(d => !d.lastElementChild.checkVisibility({contentVisibilityAuto: true})).length"
            assert driver.execute_script(hidden) == 0
            assert driver.execute_script("return [...document.querySelectorAll('nav')].filter(n => n.checkVisibility()).length") == 0
            cut = "return [...document.querySelectorAll('.scroll, pre, figure')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"
            assert driver.execute_script(cut) == []
        pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        assert 30 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 110
    finally:
        driver.quit()


def test_one_claim_has_a_page(tmp_path):
    gnomon("claims", "004-16", "--out", tmp_path / "out", check=0)
    driver = open_page(tmp_path / "out" / "claims.html")
    try:
        (question,) = driver.execute_script(QUESTIONS)
        assert question["badge"] == "measured in part"
        assert question["answer"].startswith("Not measured in this run: ") and "…" not in question["answer"], "of its other claims"
        assert driver.title == f"Word + position: 1 of {len(json.loads(gnomon('claims', '--json', check=0).stdout))} statements and questions, measured"
        assert "No model was trained" in driver.find_element("tag name", "body").text
    finally:
        driver.quit()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_whole(quick, width, dark):
    driver = open_page(quick[0] / "claims.html", width)
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        driver.execute_script(OPEN)
        assert driver.get_log("browser") == []
        assert requests(driver) == []
        assert driver.execute_script(OVERLAPS) == []
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        assert driver.execute_script("return [...document.images].every(i => i.complete && i.naturalWidth > 0)")
        # Every label is at least 9 pixels high on the screen.
        small = "return [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height && t.getBoundingClientRect().height < 9 && !t.getAttribute('transform')).map(t => t.textContent)"
        assert driver.execute_script(small) == []
    finally:
        driver.quit()


@pytest.mark.parametrize("width, media", [(1280, "screen"), (390, "screen"), (720, "print")])
def test_every_verdict_is_seen(quick, width, media):
    driver = open_page(quick[0] / "claims.html", width)
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
        if media == "screen":  # paper shows what is folded
            driver.execute_script(OPEN)
        column = """
        const table = document.querySelector('.verdicts table'), box = table.parentNode.getBoundingClientRect();
        return [...table.rows].map(r => r.cells[1]).map(c => [c.textContent, box.left <= c.getBoundingClientRect().left,
            c.getBoundingClientRect().right <= Math.min(box.right, innerWidth) && c.scrollWidth <= c.clientWidth]);"""
        head, *verdicts = driver.execute_script(column)
        assert head[0] == "verdict"
        assert len(verdicts) == len(quick[1]["claims"]) and all(name for name, *_ in verdicts)
        assert [name for name, begins, ends in [head, *verdicts] if not (begins and ends)] == []
        if width != 390:
            wide = "const t = document.querySelector('.verdicts table'); return t.scrollWidth <= t.parentNode.clientWidth"
            assert driver.execute_script(wide), "no column is cut"
    finally:
        driver.quit()


def test_the_clock_turns_clockwise(quick):
    driver = open_page(quick[0] / "claims.html")
    try:
        driver.execute_script(OPEN)
        ends = """
        const s = document.querySelector('.turn input'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));
        const h = document.querySelector('[data-w="1"]');
        return [h.getAttribute('x2') - h.getAttribute('x1'), h.getAttribute('y1') - h.getAttribute('y2'), +h.dataset.r];"""
        x, y, r = driver.execute_script(ends, 0)
        assert abs(x) < 1e-6 and abs(y - r) < 1e-6, "position 0 points up"
        x, y, r = driver.execute_script(ends, 1)
        assert 0.84 < x / r < 0.842 and 0.54 < y / r < 0.541, "sine to the right, cosine up"
        button = driver.find_element("css selector", ".turn button")
        button.click()
        wait_for(lambda: float(driver.execute_script("return document.querySelector('.turn input').value")) > 1)
        button.click()
        between = "const s = document.querySelector('.turn input'); s.value = arguments[0]; s.dispatchEvent(new Event('input')); return [s.step, s.value, document.querySelector('.turn output').textContent]"
        assert driver.execute_script(between, 7.4) == ["1", "7", "7"], "whole steps"
    finally:
        driver.quit()


def test_it_reads_without_javascript(quick):
    driver = open_page(quick[0] / "claims.html", javascript=False)
    try:
        assert not any(turn.is_displayed() for turn in driver.find_elements("css selector", ".turn")), "a slider that does nothing is not shown"
        assert len(driver.find_elements("css selector", "figure")) > 25
        assert len([f for f in driver.find_elements("css selector", "section.question > figure, section.question > div figure") if f.is_displayed()]) > 5
        for question in driver.find_elements("css selector", "section.question")[:2]:
            question.find_elements("css selector", "details.layer > summary")[-1].click()
            claim = question.find_element("css selector", "details.claim")
            claim.find_element("css selector", "summary").click()
            assert claim.find_element("css selector", "table").is_displayed()
            assert claim.find_element("css selector", "dl").is_displayed()
    finally:
        driver.quit()

"""The race in a browser: it trains, draws, pauses, goes on by single steps and ends; and its losses are those of `gnomon study`."""

import json
import re
import shlex

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from web.pages import OVERLAPS, PAGES, ROOT, complaints, gnomon, open_page, requests, show_as

PAGE = PAGES / "race.html"
TEXT = ROOT / "build/text/king-james.txt"
SMALL = {"layers": 1, "width": 32, "heads": 2, "length": 32, "batch": 2, "steps": 60, "rate": 0.01}
WIDE = "return document.documentElement.scrollWidth"


@pytest.fixture
def race():
    driver = open_page(PAGE)
    show_as(driver, 1280)
    yield driver
    driver.quit()


def choose(driver, settings=SMALL, arms=(), text=None):
    driver.execute_script("""
    const [settings, arms, text] = arguments;
    document.querySelectorAll('details').forEach(fold => { fold.open = true; });
    for (const [name, value] of Object.entries(settings)) document.getElementById(name).value = value;
    arms.forEach((spec, n) => { document.getElementById(`arm-${n}`).value = spec; });
    if (text !== null) document.getElementById('text').value = text;
    """, settings, list(arms), text)


def press(driver, name):
    driver.find_element(By.ID, name).click()


def said(driver):
    return driver.find_element(By.ID, "said").text


def wait(driver, condition, why):
    WebDriverWait(driver, 180, 0.1).until(lambda _: condition(), why)


def told(driver, words):
    wait(driver, lambda: words in said(driver), f"it was not said: {words}")


def steps(driver):
    """How far each model is."""
    return driver.execute_script("return race.arms.map(arm => arm.step)")


def faults(driver):
    return [fault.text for fault in driver.find_elements(By.CSS_SELECTOR, "#race .fault")]


def is_quiet(driver):
    assert [asked for asked in requests(driver) if not asked.startswith("blob:")] == []  # a worker's own text
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_three_models_race_and_longer_windows_are_told(race):
    choose(race, SMALL, ["rope", "alibi", "add(learned, scale=off)"])
    press(race, "start")
    told(race, "The race is over.")
    best = re.search(r"over\. (.*) has the lowest held-out loss: ([\d.]+) nats", said(race))
    assert best[1] in ("rope", "alibi", "add(learned, scale=off)")
    assert steps(race) == [60] * 3
    losses = race.find_element(By.CSS_SELECTOR, "[data-part=losses] svg.drawn")
    assert len(losses.find_elements(By.CSS_SELECTOR, "polyline")) == 3 and len(losses.find_elements(By.CSS_SELECTOR, "path")) == 3 * 20
    live = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in race.find_elements(By.CSS_SELECTOR, "[data-part=table] tbody tr")]
    assert [row[2] for row in live] == ["60 of 60"] * 3 and [row[7] for row in live] == ["has ended"] * 3
    assert min(float(row[4]) for row in live) == float(best[2]) < 5 and all(int(row[6].replace(",", "")) > 0 for row in live)
    longer = {row.text.split(" ")[0]: [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")]
              for row in race.find_elements(By.CSS_SELECTOR, "[data-part=longer] tbody tr")}
    assert longer["add(learned,"][1:] == ["no position there"] * 2  # its table ends with the window
    assert all(1 < float(loss) < 6 for loss in (*longer["rope"], *longer["alibi"], longer["add(learned,"][0]))
    ends = race.execute_script("return [...document.querySelectorAll('[data-part=longer] polyline')].map(line => line.points[line.points.length - 1].x)")
    assert ends[0] == ends[1] > 2 * ends[2]  # as far as it has positions
    written = race.find_elements(By.CSS_SELECTOR, "[data-part=written] pre")
    assert all(text.text.startswith("In the beginning") and len(text.text) > 20 for text in written)
    beyond = [text.find_element(By.CSS_SELECTOR, ".beyond").get_property("textContent") for text in written]
    assert beyond[0] and beyond[1] and not beyond[2]
    is_quiet(race)


def test_it_pauses_goes_on_by_single_steps_and_is_reset(race):
    choose(race, SMALL | {"steps": 5000})
    press(race, "step")  # a race may begin so
    wait(race, lambda: steps(race) == [1, 1, 1], "no single step")
    press(race, "step")
    wait(race, lambda: steps(race) == [2, 2, 2], "no second step")
    assert race.find_element(By.ID, "pause").text == "Continue"
    press(race, "pause")
    wait(race, lambda: min(steps(race)) > 20, "it does not go on")
    assert not race.find_element(By.ID, "step").is_enabled()
    press(race, "pause")
    told(race, "The race is paused.")
    paused = steps(race)
    press(race, "step")
    wait(race, lambda: steps(race) == [step + 1 for step in paused], "a paused race went on by itself")
    press(race, "reset")
    assert said(race) == "The race was reset." and race.find_element(By.ID, "race").text == ""
    assert race.execute_script("return race") is None and not race.find_element(By.ID, "reset").is_enabled()
    choose(race, {"steps": 10})
    press(race, "start")
    told(race, "The race is over.")
    is_quiet(race)


def test_what_is_wrong_is_said_in_the_words_of_the_module(race):
    choose(race, SMALL, ["rope", "ROPE", "alibi(slope=2)"])
    press(race, "start")
    told(race, "The race has not begun.")
    one, other = faults(race)
    assert one.startswith("ROPE: ") and "did you mean 'rope'" in one
    assert other.startswith("alibi(slope=2): ") and "slopes" in other
    choose(race, SMALL, ["rope", "alibi", "none"], text="In the beginning was a short text.\n")
    press(race, "start")
    wait(race, lambda: any("your text" in fault for fault in faults(race)), "a text that is too short was taken")
    [fault] = faults(race)  # once, for all three
    assert fault == "your text: the text has 35 bytes; windows of 128 tokens need at least 3900; shorten model.length or evaluate.lengths, or take a longer text"
    choose(race, SMALL | {"heads": 3}, text="")
    press(race, "start")
    wait(race, lambda: any("heads" in fault for fault in faults(race)), "three heads in a width of 32 were taken")
    assert len(faults(race)) == 1
    choose(race, SMALL | {"layers": 5})
    press(race, "start")
    assert race.execute_script("return [race, document.getElementById('layers').validity.rangeOverflow]") == [None, True]
    choose(race, SMALL)
    press(race, "start")
    told(race, "The race is over.")
    is_quiet(race)


def test_a_model_that_diverges_ends_alone(race):
    choose(race, SMALL | {"steps": 40}, ["rope", "alibi", "none"])
    race.execute_script("document.getElementById('rate').removeAttribute('max'); document.getElementById('rate').value = 1000")
    press(race, "start")
    told(race, "The race is over.")
    states = [cell.text for cell in race.find_elements(By.CSS_SELECTOR, "[data-part=table] td:last-child")]
    assert all("not finite at step" in state for state in states), states
    is_quiet(race)


def program_runs(command, folder):
    """What `gnomon study` finds by the command that the page tells, by arm and seed, with every step in its curve."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:3] == ["gnomon", "study", "--text"]
    steps = next(word for word in words if word.startswith("train.steps=")).partition("=")[2]
    gnomon(*words[1:], "--set", f"evaluate.points={steps}", "--set", "study.workers=1", cwd=folder, check=0)
    found = [json.loads(path.read_text()) for path in folder.glob("race/runs/*/result.json")]
    return {(run["arm"], run["seed"]): run for run in found}


def test_the_losses_are_those_of_the_program(race, tmp_path):
    arms, most = ["sinusoidal", "rope", "t5"], 200
    choose(race, {"steps": most, "seed": 2}, arms)
    press(race, "start")
    told(race, "The race is over.")
    found = race.execute_script("return race.arms.map(({losses, points, lengths}) => ({losses, points, lengths}))")
    (tmp_path / "king-james.txt").write_text(race.execute_script("return race.text"))
    assert TEXT.read_bytes().startswith((tmp_path / "king-james.txt").read_bytes())
    command = race.find_element(By.CSS_SELECTOR, "#race .copyable pre").text
    runs = program_runs(command, tmp_path)
    furthest = {1: 0.0, 2: 0.0}
    for spec, here in zip(arms, found):
        for seed in (1, 2):
            curve = runs[spec, seed]["curve"]
            assert len(curve) == len(here["losses"]) == most and len(here["points"]) == 20
            apart = [abs(loss - training) for loss, (_, training, _) in zip(here["losses"], curve)]
            apart += [abs(nats - curve[step - 1][2]) for step, nats in here["points"]]
            furthest[seed] = max(furthest[seed], *apart)
        run = runs[spec, 2]
        assert [length["factor"] for length in here["lengths"]] == [1, 2, 4]
        by_factor = {length["factor"]: length["nats"] for length in run["by_length"]}
        assert all(abs(length["nats"] - by_factor[length["factor"]]) < 1e-4 for length in here["lengths"])
        assert abs(here["lengths"][0]["whole"] - run["nats"]) < 1e-4
        assert max(abs(a - b) for a, b in zip(here["lengths"][0]["by_position"], run["by_position"])) < 1e-3
    assert furthest[2] < 1e-4
    assert furthest[1] > 0.1  # another seed is another training


def test_with_less_motion_it_draws_when_there_is_news(race):
    """A point or a text is news; losses of steps are none."""
    begin = """
    window.news = 0, window.drawings = 0;
    for (const arm of race.arms) arm.worker.addEventListener('message', ({data}) => { window.news += data.is !== 'steps'; });
    new MutationObserver(() => { ++window.drawings; }).observe(document.querySelector('[data-part=losses]'), {childList: true});
    """
    counts = "return [window.news, window.drawings]"
    race.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]})
    choose(race, SMALL | {"length": 128, "batch": 8, "steps": 4000})  # a while between two points
    press(race, "start")
    wait(race, lambda: min(steps(race)) > 5, "it does not begin")
    race.execute_script(begin)
    wait(race, lambda: race.execute_script(counts)[0] > 3, "there is no news")
    news, drawings = race.execute_script(counts)
    assert drawings <= news
    # The control: with motion it draws more often.
    race.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": "no-preference"}]})
    wait(race, lambda: (lambda now: now[1] > now[0] + 1)(race.execute_script(counts)), "it draws no more often")
    is_quiet(race)


def test_it_is_readable_everywhere(race):
    choose(race, SMALL, ["concat(sinusoidal, share=0.5)", "rope", "[rope+window(size=16), none]"])
    press(race, "start")
    told(race, "The race is over.")
    for width, dark in ((1280, False), (390, True)):
        show_as(race, width, dark=dark)
        fits = "return [...document.querySelectorAll('svg.drawn')].every(svg => svg.viewBox.baseVal.width <= innerWidth)"
        wait(race, lambda: race.execute_script(fits), "it was not drawn again")
        race.execute_script("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        assert race.execute_script(WIDE) <= width
        assert complaints(race) == []
        assert race.execute_script(OVERLAPS) == []
    race.execute_script("document.querySelector('#pause').textContent = ''")  # the control
    assert "button-name" in [complaint.split(":")[0] for complaint in complaints(race)]
    is_quiet(race)


def test_without_scripts_it_tells_what_a_study_found():
    driver = open_page(PAGE, width=390, javascript=False)
    try:
        assert "needs JavaScript" in driver.find_element(By.CSS_SELECTOR, "noscript").text
        assert driver.find_element(By.CSS_SELECTOR, "svg.found").size["height"] > 150
        rows = [row.text.split() for row in driver.find_elements(By.CSS_SELECTOR, "section tbody tr")]
    finally:
        driver.quit()
    found = (ROOT / "docs/study.md").read_text().split("at 1.5x")[1].split("```")[0]
    told = {line.split()[0]: line.split()[1:5] for line in found.splitlines()[1:11] if line.strip()}
    assert len(rows) == 5 and all(told[name] == losses for name, *losses in rows)
    # The picture says the same: its lines are straight in the logarithm of the length and in the loss.
    lines = re.findall(r'<polyline class="line" points="([^"]*)"', PAGE.read_text())
    ys = [float(point.split(",")[1]) for line in lines for point in line.split()]
    losses = [float(loss) for _, *row in rows for loss in row]
    low, high = losses.index(min(losses)), losses.index(max(losses))
    slope = (ys[high] - ys[low]) / (losses[high] - losses[low])
    assert slope < 0 and all(abs(ys[low] + slope * (loss - losses[low]) - y) < 0.5 for loss, y in zip(losses, ys))

"""The page why-add in Chromium: what it says beside what NumPy makes of the definitions."""

import json
import re
import time

import numpy as np
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from web.pages import LETTERS, OVERLAPS, PAGES, ROOT, complaints, open_page, requests, show_as

PAGE = PAGES / "why-add.html"
SCREENS = ["plane", "width", "terms", "words", "blocks", "clock"]
NUMERAL = r"−?\d+\.?\d*(?:e−?\d+)?"


def opened(**more):
    driver = open_page(PAGE, **more)
    for _ in range(600):
        if driver.execute_script("return document.documentElement.dataset.ready || document.querySelector('.fault[role=alert]')"):
            return driver
        time.sleep(.1)
    raise AssertionError("the page is not ready after a minute")


@pytest.fixture(scope="module")
def page():
    driver = opened()
    yield driver
    driver.quit()


def put(driver, **values):
    """Moves sliders and fills fields, as a hand does."""
    for name, value in values.items():
        driver.execute_script("""const e = document.getElementById(arguments[0]); e.value = arguments[1];
                                 e.dispatchEvent(new Event('input', {bubbles: true}))""", name.replace("_", "-"), str(value))


def said(driver, name):
    return driver.execute_script("return document.getElementById(arguments[0]).textContent", name)


def described(driver, name):
    return driver.execute_script("return document.querySelector(`#${arguments[0]} desc`).textContent", name)


def numbers(text):
    return [float(x.replace("−", "-")) for x in re.findall(NUMERAL, text)]


def sinusoid(dim, positions, base=10000):
    """Vaswani et al. 2017, section 3.5."""
    p, i = np.asarray(positions, float)[:, None], np.arange(dim // 2)[None]
    angle = p / base ** (2 * i / dim)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(p), dim)


def chance(seed):
    """mulberry32, in numbers of 32 bits."""
    state, most = seed, 0xFFFFFFFF
    while True:
        state = state + 0x6D2B79F5 & most
        t = (state ^ state >> 15) * (1 | state) & most
        t = t ^ (t + ((t ^ t >> 7) * (61 | t) & most) & most)
        yield (t ^ t >> 14) / 2 ** 32


def made_up(count, dim):
    draw = chance(dim)
    words = np.array([[np.sqrt(-2 * np.log(1 - next(draw))) * np.cos(2 * np.pi * next(draw)) for _ in range(dim)] for _ in range(count)])
    return words / np.linalg.norm(words, axis=1, keepdims=True) * np.sqrt(dim / 2)


def test_the_generator_is_the_published_one():
    """mulberry32's first numbers for the seed 1, by its author's code in C."""
    draw = chance(1)
    assert [round(next(draw) * 2 ** 32) for _ in range(3)] == [2693262067, 11749833, 2265367787]


def test_the_page_is_whole(page):
    assert page.execute_script("return document.documentElement.dataset.ready") == "yes"
    for width in (1280, 390):
        show_as(page, width)
        assert page.execute_script(OVERLAPS) == []
        assert page.execute_script(LETTERS) >= 10
        assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    show_as(page, 1280)
    assert page.execute_script("return [...document.querySelectorAll('fieldset')].filter(f => f.disabled).length") == 0
    assert page.execute_script("return [...document.querySelectorAll('figure > svg')].filter(s => s.firstElementChild.tagName != 'title' || !s.querySelector('desc').textContent).length") == 0


@pytest.mark.parametrize("p", [0, 2, 11])
def test_the_sum_in_the_plane(page, p):
    put(page, plane_a=-1.3, plane_b=.4, plane_p=p)
    e, x = sinusoid(2, [p])[0], np.array([-1.3, .4])
    told = numbers(said(page, "plane-now"))[:6]
    assert told == pytest.approx([*x, *e, *(x + e)], abs=.0051)
    assert told[2:4] != pytest.approx(sinusoid(2, [p + 1])[0], abs=.0051)
    bars = page.execute_script("return [...document.querySelectorAll('#plane-bars rect')].map(r => +r.getAttribute('height'))")
    assert bars == pytest.approx(np.abs([*x, *e, *(x + e)]) * 19, abs=.06)


def test_clouds_that_meet(page):
    """The other word stands at (−1.8, 1.2)."""
    put(page, plane_a=2, plane_b=-2)
    clouds = [np.array(word) + sinusoid(2, range(12)) for word in ((2, -2), (-1.8, 1.2))]
    apart = min(np.linalg.norm(a - b) for a in clouds[0] for b in clouds[1])
    assert f"{apart:.1f} apart" in said(page, "plane-now")
    put(page, plane_a=-1.8, plane_b=1.2)
    assert "The clouds meet" in said(page, "plane-now")


def test_a_word_is_dragged_and_moved_by_keys(page):
    show_as(page, 1280)
    put(page, plane_a=1.2, plane_b=1.8, plane_p=2)
    handle, svg = page.find_element("css selector", "#plane-arrows .handle"), page.find_element("id", "plane-arrows")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
    unit = svg.size["width"] / 340 * 40
    ActionChains(page).click_and_hold(handle).move_by_offset(-unit, unit / 2).move_by_offset(-unit, unit / 2).release().perform()
    assert numbers(said(page, "plane-now"))[:2] == pytest.approx([-.8, .8], abs=.11)
    put(page, plane_a=0, plane_b=0)
    handle.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert numbers(said(page, "plane-now"))[:2] == [.2, -.1]
    assert page.execute_script("return document.activeElement === arguments[0]", handle)
    assert handle.get_attribute("aria-valuetext") == "0.2 and −0.1"


def read_back(dim, loudness):
    made, places = made_up(100, dim), sinusoid(dim, range(64))
    sums = made[:, None] + loudness * places[None]
    words = (sums @ made.T).argmax(-1) == np.arange(100)[:, None]
    positions = (sums @ places.T).argmax(-1) == np.arange(64)[None]
    return 100 * words.mean(), 100 * positions.mean()


@pytest.mark.parametrize("loudness, at", [(1, 5), (10, 9)])
def test_what_is_read_out_of_the_sum(page, loudness, at):
    put(page, width_a=at)
    told = {int(width): numbers(rest) for width, rest in re.findall(r"(\d+): (word [^;]*)", described(page, "width-shares"))}
    assert list(told) == [2, 4, 8, 16, 32, 64, 128, 256, 384]
    for width in told:
        # Of equal products, which chance decides, some 20 of 6,400.
        assert told[width] == pytest.approx(read_back(width, loudness), abs=.8), width
    assert told[16] != pytest.approx(read_back(16, 3), abs=.8)


@pytest.mark.parametrize("n, width", [(0, 2), (3, 16), (8, 384)])
def test_angles(page, n, width):
    put(page, width_d=n, width_a=5)
    angles = np.degrees(np.arccos(np.clip(made_up(100, width) @ sinusoid(width, range(64)).T / (width / 2), -1, 1)))
    found = re.match(r"In (\d+) channels the angle of a word and a position is ([\d.]+)°", said(page, "width-now"))
    assert int(found[1]) == width and float(found[2]) == pytest.approx(np.abs(angles - 90).mean(), abs=.051)
    bars = page.execute_script("return [...document.querySelectorAll('#width-angles rect')].map(r => +r.getAttribute('height'))")
    counts = np.histogram(angles, 36, (0, 180))[0]
    assert np.array(bars) == pytest.approx(150 * counts / counts.max(), abs=.5)


def test_the_four_terms(page):
    made, places = made_up(6, 32), sinusoid(32, range(64))
    for x, p, y, q in ((0, 3, 3, 5), (2, 60, 2, 60), (5, 0, 1, 63)):
        put(page, terms_x=x, terms_p=p, terms_y=y, terms_q=q)
        terms = [made[x] @ made[y], made[x] @ places[q], places[p] @ made[y], places[p] @ places[q]]
        told = numbers(said(page, "terms-now").replace("− ", "−"))
        assert told == pytest.approx([(made[x] + places[p]) @ (made[y] + places[q]), *terms], abs=.051)
        assert numbers(described(page, "terms-bars")) == pytest.approx([*terms, sum(terms)], abs=.051)
        other = [made[x] @ made[y], made[x] @ places[p], places[q] @ made[y], places[p] @ places[q]]  # positions exchanged
        assert p == q or told[1:] != pytest.approx(other, abs=.051)


@pytest.fixture(scope="module")
def table():
    """The data file, by what scripts/words says of it."""
    header, rest = (ROOT / "web/pages/data/minilm-words.bin").read_bytes().split(b"\n", 1)
    about = json.loads(header)
    names, size, fine = about["words"].split(), about["directions"], about["fine"]
    each = fine + (size - fine) // 2
    rows = np.frombuffer(rest[:len(names) * each], np.uint8).reshape(len(names), each)
    halves = np.stack([rows[:, fine:] & 15, rows[:, fine:] >> 4], axis=-1).reshape(len(names), size - fine)
    words = about["word_means"] + np.hstack([rows[:, :fine].view(np.int8), halves - 7.5]) * about["word_steps"]
    positions = np.frombuffer(rest[len(names) * each:], np.int8).reshape(len(about["positions"]), size) * np.array(about["position_steps"])
    products, lengths = words @ words.T, np.array(about["word_lengths"])
    np.fill_diagonal(products, lengths ** 2)
    return {"names": names, "at": about["positions"], "about": about, "lengths": lengths, "products": products, "with_positions": words @ positions.T}


def nearest(table, word, place, loudness):
    w, p = table["names"].index(word), table["at"].index(place)
    cosines = (table["products"][w] + loudness * table["with_positions"][:, p]) / table["lengths"]
    cosines /= np.sqrt(table["lengths"][w] ** 2 + 2 * loudness * table["with_positions"][w, p] + (loudness * table["about"]["position_lengths"][p]) ** 2)
    order = np.argsort(-cosines)[:6]
    return [table["names"][n] for n in order], cosines[order]


@pytest.mark.parametrize("word, place", [("dog", 5), ("river", 0), ("the", 511), ("king", 48)])
def test_nearest_words(page, table, word, place):
    put(page, words_x=word, words_p=table["at"].index(place))
    for loudness in (1, 3, 10):
        names, cosines = nearest(table, word, place, loudness)
        told = described(page, f"words-{loudness}").split(", ")
        assert [one.rsplit(" ", 1)[0] for one in told] == names
        assert [numbers(one)[0] for one in told] == pytest.approx(cosines, abs=.0051)
    assert nearest(table, word, place, 1) != nearest(table, word, place, 10)
    lost = re.search(r"From ×([\d.]+) on “\w+” is lost: “(\w+)”", said(page, "words-now"))
    if not lost:  # as some are not, however loud their position is
        assert nearest(table, word, place, 40)[0][0] == word and word == "the"
        return
    assert nearest(table, word, place, float(lost[1]) - .06)[0][0] == word
    assert nearest(table, word, place, float(lost[1]) + .06)[0][0] != word
    assert lost[2] in nearest(table, word, place, float(lost[1]) + .06)[0][:2]


def test_no_word_is_lost_under_its_own_position(page, table):
    """Each of the 2,000, as the page's last sentence of that screen says; ten times as loud, some are."""
    own = np.arange(2000)
    found = {loudness: [((table["products"] + loudness * place) / table["lengths"]).argmax(1) == own for place in table["with_positions"].T] for loudness in (1, 10)}
    assert np.all(found[1]) and not np.all(found[10])
    put(page, words_p=5)
    shares = numbers(described(page, "words-shares"))[1::2]
    assert shares[0] == 100 and shares[2] == pytest.approx(100 * found[10][5][::10].mean(), abs=1)


def test_the_words_are_reduced_as_the_page_says(page, table):
    assert len(table["names"]) == 2000 and len(set(table["names"])) == 2000
    assert table["about"]["about"]["license"] == "Apache-2.0"
    assert f"{100 * table['about']['kept']['nearest']:.0f} % of the words keep" in said(page, "words-note")
    assert (ROOT / "web/pages/data/minilm-words.bin").stat().st_size < 320_000


def test_a_word_that_is_not_there(page):
    before = described(page, "words-1")
    put(page, words_x="dogg<b>")
    shown = before.split()[0]
    assert said(page, "words-now") == f"“dogg<b>” is not among the 2,000 words here. The pictures are those of “{shown}”."
    put(page, words_x=" ")
    assert said(page, "words-now") == f"The pictures are those of “{shown}”."
    assert described(page, "words-1") == before
    page.find_element("css selector", "[data-word=two]").click()
    assert described(page, "words-1").startswith("two ")


def test_a_concatenation_is_a_sum(page):
    x, e = np.array([2, 0, 1, -1]), np.array([0, .1, .4, -.4])
    for way in ("free", "tied", "same", "own"):
        page.find_element("css selector", f"[data-blocks={way}]").click()
        cells = page.execute_script("return [...document.querySelectorAll('#blocks-whole .cell + text')].map(t => t.textContent)")
        rows = 8 if way == "own" else 4
        # Cells stand block by block, row by row; then the column and the product.
        values = [numbers(cell)[0] for cell in cells]
        left, right = np.array(values[:4 * rows]).reshape(rows, 4), np.array(values[4 * rows:8 * rows]).reshape(rows, 4)
        assert values[8 * rows:8 * rows + 8] == [*x, *e]
        assert values[8 * rows + 8:] == pytest.approx(np.hstack([left, right]) @ [*x, *e])
        apart = described(page, "blocks-apart")
        assert numbers(apart) == pytest.approx([*(left @ x), *(right @ e), *(left @ x + right @ e)])
        assert np.array_equal(left, right) == (way in ("tied", "same"))
        if way == "same":
            assert values[8 * rows + 8:] == pytest.approx(x + e)
        if way == "own":
            assert values[8 * rows + 8:] == pytest.approx([*x, *e])
    page.find_element("css selector", "[data-blocks=free]").click()


def test_what_each_way_costs(page):
    put(page, blocks_d=3, blocks_n=4)
    rows = page.execute_script("return [...document.querySelectorAll('#blocks-count tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert rows[1] == ["sum with a learned table", "768", f"2,048 × 768 = {2048 * 768:,}"]
    assert rows[2] == ["concatenation with a projection", "768", f"2 × 768 × 768 = {2 * 768 * 768:,}"]
    assert rows[3][1] == "768: 576 word, 192 position" and rows[4][1] == "1,536"


def test_the_clock(page):
    put(page, clock_p=17, clock_k=9)
    hands = page.execute_script("return ['.arrow', '.arrow.dash'].map(k => [...document.querySelectorAll('#clock-hands ' + k)].map(l => ['x1', 'y1', 'x2', 'y2'].map(a => +l.getAttribute(a))))")
    for position, kind in ((17, [h for h in hands[0] if h not in hands[1]]), (26, hands[1])):
        ends = [[(x2 - x1) / 34, (y1 - y2) / 34] for x1, y1, x2, y2 in kind]
        assert np.array(ends).ravel() == pytest.approx(sinusoid(8, [position])[0], abs=.005)
    cells = "return [...document.querySelectorAll('#clock-hands .cell + text')].map(t => t.textContent)"
    turn = [numbers(cell)[0] for cell in page.execute_script(cells)]
    s, c = sinusoid(8, [9])[0].reshape(4, 2).T
    assert turn == pytest.approx(np.stack([c, s, -s, c], axis=1).ravel(), abs=.0051)
    assert "less than 1e-12" in said(page, "clock-now")
    put(page, clock_p=40)
    assert [numbers(cell)[0] for cell in page.execute_script(cells)] == turn  # by k alone
    put(page, clock_k=10)
    assert [numbers(cell)[0] for cell in page.execute_script(cells)] != turn


def test_the_product_of_a_rotation_depends_on_the_distance_alone(page):
    query, key = np.array([1, .5]), np.array([.4, 1])

    def rotated(vector, at):
        s, c = sinusoid(2, [at])[0]
        return np.array([[c, s], [-s, c]]) @ vector

    told = {}
    for p, k in ((5, 3), (50, 3), (5, 8)):
        put(page, clock_p=p, clock_k=k)
        told[p, k] = numbers(described(page, "clock-products"))[:2]
        e, f = sinusoid(2, [p, p + k])
        assert told[p, k] == pytest.approx([rotated(query, p) @ rotated(key, p + k), (query + e) @ (key + f)], abs=.0051)
    assert told[5, 3][0] == told[50, 3][0] != told[5, 8][0]
    assert told[5, 3][1] != told[50, 3][1]


def test_it_reads_without_scripts_and_its_first_drawings_are_those():
    """scripts/stills wrote them."""
    inside = """document.querySelectorAll('.handle').forEach(e => e.remove());
                return [...document.querySelectorAll('main svg[id], main output[for], main [role=status][id], main .filled[id]')].map(e => [e.id || e.htmlFor.value, e.innerHTML]);"""
    drivers = [opened(), open_page(PAGE, javascript=False)]
    try:
        drawn, still = (dict(driver.execute_script(inside)) for driver in drivers)
        assert len(drawn) > 30 and all(drawn.values())
        assert {name: still[name] for name in drawn} == drawn
        put(drivers[0], plane_p=3)
        assert dict(drivers[0].execute_script(inside)) != still
        assert drivers[1].find_element("css selector", "noscript p").is_displayed()
        assert drivers[1].execute_script("return [...document.querySelectorAll('fieldset')].every(f => f.disabled)")
    finally:
        for driver in drivers:
            driver.quit()


def test_the_keyboard_moves_every_slider(page):
    for slider in page.find_elements("css selector", "input[type=range]"):
        before, output = slider.get_attribute("value"), page.find_element("css selector", f"output[for={slider.get_attribute('id')}]")
        key, back = (Keys.ARROW_LEFT, Keys.ARROW_RIGHT) if before == slider.get_attribute("max") else (Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
        text = output.text
        slider.send_keys(key)
        assert slider.get_attribute("value") != before and output.text != text and slider.get_attribute("aria-valuetext") == output.text
        slider.send_keys(back)
        assert slider.get_attribute("value") == before


def test_axe_finds_nothing(page):
    for width, dark in ((1280, False), (390, True)):
        show_as(page, width, dark=dark)
        assert complaints(page) == [], width
    page.execute_script("document.querySelector('label[for=clock-k]').remove()")
    assert "label" in [found.split(":")[0] for found in complaints(page)]
    page.execute_script("""const e = document.createElement('label'); e.htmlFor = 'clock-k'; e.textContent = 'shift k';
                           document.getElementById('clock-k').before(e)""")
    show_as(page, 1280)


def test_nothing_moves_by_itself(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]})
    look = "return document.querySelector('main').innerHTML"
    before = page.execute_script(look)
    time.sleep(1)
    assert page.execute_script(look) == before and page.execute_script("return document.getAnimations().length") == 0
    put(page, plane_p=7)
    assert page.execute_script(look) != before


def test_it_prints(page):
    show_as(page, 720, media="print")
    assert page.execute_script("return [...document.querySelectorAll('figure svg')].every(s => s.checkVisibility())")
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    show_as(page, 1280)


def test_no_error_and_no_request(page):
    """After all that was done above."""
    assert page.get_log("browser") == []
    assert requests(page) == []
    page.execute_script("console.error('so errors are seen')")
    assert len(page.get_log("browser")) == 1


def test_what_was_measured_stands_in_the_essay_or_the_evidence():
    """Whole numbers are widths and counts; the others are results, of which no two pages may differ."""
    known = " ".join((ROOT / f"docs/{name}.md").read_text() for name in ("why-add", "evidence"))
    results = [x for said in re.findall(r'<p class="seen">(.*?)</p>', PAGE.read_text(), re.S) for x in re.findall(r"−?\d[\d,]*\.\d+|\de-\d+", said)]
    assert len(results) > 20 and [x for x in results if not re.search(rf"(?<![\d.]){re.escape(x)}(?!\d)", known)] == []

"""The explorer draws every encoding without an error and without a request; its text and its controls say the same; what is wrong is
told and mended; its address restores it; and everything is reached by keyboard and on a narrow screen."""

import shlex

import pytest

from web.pages import OVERLAPS, PAGES, complaints, gnomon, open_page, requests, show_as

PAGE = PAGES / "explore.html"

# Waits until what the page computes is drawn, or told to be wrong.
SETTLED = """
const told = arguments[arguments.length - 1], look = () => {
  const answer = document.getElementById('answer'), said = document.getElementById('said').textContent;
  answer.getAttribute('aria-busy') === 'false' && said && !said.startsWith('computing') ? told(said) : setTimeout(look, 20);
};
setTimeout(look, 20);
"""
# Sets a control as a hand does.
SET = """
const [id, value] = arguments, control = document.getElementById(id);
control.value = value;
control.dispatchEvent(new Event('input', {bubbles: true}));
control.dispatchEvent(new Event('change', {bubbles: true}));
"""


def settled(driver):
    return driver.execute_async_script(SETTLED)


def goto(driver, address):
    """Opens the page anew at this address."""
    driver.get("about:blank")
    driver.get(f"file://{PAGE}{address}")
    return settled(driver)


def write(driver, spec):
    driver.execute_script("document.getElementById('spec').value = arguments[0]; document.getElementById('ask').requestSubmit()", spec)
    return settled(driver)


def choose(driver, id, value):
    driver.execute_script(SET, id, value)
    return settled(driver)


def spec(driver):
    return driver.execute_script("return document.getElementById('spec').value")


def faults(driver):
    return driver.execute_script("return [...document.querySelectorAll('.fault')].filter(f => f.checkVisibility()).map(f => f.textContent)")


def figures(driver):
    return driver.execute_script("return [...document.querySelectorAll('#answer figcaption')].map(f => f.textContent)")


@pytest.fixture(scope="module")
def driver():
    driver = open_page(PAGE)
    show_as(driver, 1280)
    settled(driver)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def registry(driver):
    return driver.execute_async_script("""
const told = arguments[arguments.length - 1];
ask(gnomon => JSON.parse(gnomon.encodings())).then(told);
""")


def another(option):
    """A value of the option that is not its standard."""
    if "words" in option:
        return next(word for word in option["words"] if word != option["standard"])
    standard = float(option["standard"].split("/")[0])
    for x in (512, standard + 1, standard - 1) if standard == 0 and option["whole"] else (standard * 2, standard / 2, standard + 1, standard - 1):
        if option["least"] <= x <= option["most"] and x != standard and (not option["whole"] or x == int(x)):
            return str(int(x)) if x == int(x) else repr(x)
    raise AssertionError(option)


def test_every_encoding_is_drawn(driver, registry):
    assert len(registry) >= 65
    driver.get_log("browser")
    driver.get_log("performance")
    for entry in registry:
        name = entry["name"]
        assert write(driver, name) == f"Drawn: {name}.", (name, faults(driver))
        assert faults(driver) == [] and spec(driver) == name
        assert driver.execute_script("return document.querySelector('#answer h2').textContent") == name
        pictures = driver.execute_script("return document.querySelectorAll('#answer figure').length")
        said = driver.execute_script("return document.getElementById('answer').textContent")
        assert pictures or name == "none" or "depends on the content of the words" in said, name
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), name
    assert driver.get_log("browser") == []
    assert requests(driver) == []


def test_one_option_of_every_encoding_is_changed_by_its_control(driver, registry):
    driver.get_log("browser")
    for entry in (e for e in registry if e["options"]):
        option, name = entry["options"][0], entry["name"]
        write(driver, name)
        value = another(option)
        said = choose(driver, f"part0-{option['name']}", value)
        assert said.startswith("Drawn"), (name, option["name"], value, faults(driver))
        assert f"{option['name']}={value}" in spec(driver).replace(".0", ""), (name, spec(driver))
    assert driver.get_log("browser") == []


@pytest.mark.parametrize("position", [1000, 1000000])
def test_every_encoding_is_drawn_far_away(driver, registry, position):
    for entry in registry:
        said = goto(driver, f"#spec={entry['name']}&first={position}") if entry is registry[0] else write(driver, entry["name"])
        assert said.startswith("Drawn"), (entry["name"], faults(driver))
    goto(driver, "")


def test_controls_stay_within_bounds(driver):
    write(driver, "rope")
    field = "return document.getElementById('part0-fraction')"
    assert driver.execute_script(f"{field}.min") == "0" and driver.execute_script(f"{field}.max") == "1"
    choose(driver, "part0-fraction", "7")
    assert driver.execute_script(f"{field}.value") == "1" and spec(driver) == "rope"
    choose(driver, "part0-channels", "2.4")
    assert spec(driver) == "rope(channels=2)"
    # Every step of every slider gives a value that its field takes, and both ends are there.
    outside = driver.execute_script("""
const out = [];
for (const slider of document.querySelectorAll('input[type=range]')) {
  const field = document.getElementById(slider.id.replace('-slider', ''));
  for (const step of [0, 1, 2, 50, 199, 200, 399, +slider.max]) {
    slider.value = step;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    if (!field.checkValidity() || field.value === '') out.push(`${slider.id} at ${step}: ${field.value}`);
  }
}
return out;
""")
    assert outside == []
    settled(driver)
    goto(driver, "")


def test_a_slider_over_decades_is_logarithmic(driver):
    write(driver, "rope")
    values = driver.execute_script("""
const slider = document.getElementById('part0-theta-slider'), field = document.getElementById('part0-theta');
return [0, 100, 200, 300, 400].map(step => {
  slider.value = step;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  return +field.value;
});
""")
    ratios = [b / a for a, b in zip(values, values[1:], strict=False)]
    assert values[0] == 1e-6 and values[-1] == 1e15
    assert max(ratios) < 1.5 * min(ratios), ratios
    settled(driver)


@pytest.mark.parametrize("text, canonical", [
    ("rope( theta=500 )", "rope(theta=500)"),
    ("rope(theta=10000)", "rope"),
    ("sinusoidal+rope+alibi(bias_max=4)", "sinusoidal+rope+alibi(bias_max=4)"),
    ("concat(sinusoidal, width=32)+t5", "concat(sinusoidal, width=32)+t5"),
    ("project(learned)", "project(learned)"),
    ("rope+[window(size=8), none]", "rope+[window(size=8), none]"),
    ("rope+randomised(most=512)", "rope+randomised(most=512)"),
    ("add(none, scale=off)+rope", "add(none, scale=off)+rope"),
    ("mrope(sections=2/3/3)", "mrope(sections=2/3/3)"),
])
def test_text_and_controls_round_trip(driver, text, canonical):
    goto(driver, "")
    assert write(driver, text) == f"Drawn: {text}."
    assert driver.execute_script("return specOf(parts)") == canonical
    assert driver.execute_async_script("const told = arguments[arguments.length - 1]; canonical(arguments[0]).then(s => told(s.spec))", text) == canonical


def test_controls_write_the_text(driver):
    goto(driver, "")
    assert spec(driver) == "rope"
    choose(driver, "part0-theta", "500")
    assert spec(driver) == "rope(theta=500)"
    choose(driver, "part0-pairing", "adjacent")
    assert spec(driver) == "rope(theta=500, pairing=adjacent)"
    driver.find_element("id", "more").click()
    settled(driver)
    assert spec(driver) == "rope(theta=500, pairing=adjacent)+alibi"
    choose(driver, "part0-name", "sinusoidal")
    assert spec(driver) == "sinusoidal+alibi"
    choose(driver, "joining", "concat")
    choose(driver, "join-width", "32")
    assert spec(driver) == "concat(sinusoidal, width=32)+alibi"
    driver.find_element("id", "layers-more").click()
    settled(driver)
    assert spec(driver) == "concat(sinusoidal, width=32)+alibi+[rope]"
    driver.find_element("id", "part0-remove").click()
    settled(driver)
    assert spec(driver) == "alibi+[rope]"
    driver.find_element("css selector", "#part0-bias_max + .standard, #parts .standard").click()
    assert settled(driver).startswith("Drawn")


@pytest.mark.parametrize("text, button, mended", [
    ("rop", "rope", "rope"),
    ("sinusoidal+alibii", "alibi", "sinusoidal+alibi"),
    ("rope(thetaa=5)", "theta", "rope(theta=5)"),
    ("rope(pairing=interleaved)", "adjacent", "rope(pairing=adjacent)"),
    ("[rope,rop]", "rope", "[rope]"),
    ("alibi+rope(pairing=interleaved)", "adjacent", "alibi+rope(pairing=adjacent)"),
])
def test_a_wrong_spec_is_told_and_mended(driver, text, button, mended):
    goto(driver, "")
    before = figures(driver)
    assert write(driver, text).startswith("Not drawn")
    assert len(faults(driver)) == 1 and "did you mean" in faults(driver)[0]
    assert figures(driver) == before, "the pictures of before stay"
    choice = driver.find_element("css selector", "button.mend")
    assert choice.text == f"write {button}"
    choice.click()
    settled(driver)
    assert faults(driver) == []
    assert spec(driver).replace(", ", ",") in (mended, "[rope,rope]")


@pytest.mark.parametrize("text, says", [
    ("rope(theta=0)", "allowed is a number"), ("rope+", "found the end"), ("sinusoidal+learned", "second input encoding"), ("add(rope)", "not on the input")])
def test_an_error_without_a_suggestion_is_the_programs_own(driver, text, says):
    goto(driver, "")
    write(driver, text)
    assert [says in fault for fault in faults(driver)] == [True]
    assert driver.find_elements("css selector", "button.mend") == []


def test_the_address_restores_the_page(driver):
    goto(driver, "#spec=rope(theta=500)+alibi&length=512&first=100000&with=yarn(factor=8)&causal=0&dim=128&heads=8")
    state = """
const at = id => document.getElementById(id);
return [at('spec').value, at('with').value, ...['length', 'first', 'dim', 'heads'].map(i => +at(i).value), at('causal').checked];
"""
    assert driver.execute_script(state) == ["rope(theta=500)+alibi", "yarn(factor=8)", 512, 100000, 128, 8, False]
    assert len(driver.find_elements("css selector", "#answer .side")) == 2
    address = driver.execute_script("return location.hash")
    assert sorted(address[1:].split("&")) == sorted("spec=rope(theta=500)+alibi&with=yarn(factor=8)&length=512&first=100000&causal=0&dim=128&heads=8".split("&"))
    # And a link within the page: the address changes, and no page is loaded.
    driver.execute_script("location.hash = '#spec=t5'")
    assert settled(driver) and spec(driver) == "t5"
    # What is no number is left out, and a wrong spec is told.
    goto(driver, "#spec=rop%&length=many")
    assert len(faults(driver)) == 1 and driver.execute_script("return document.getElementById('length').value") == "128"


def test_the_pictures_are_those_of_the_position(driver):
    goto(driver, "#spec=rope")
    near = figures(driver)
    assert "Which pairs leave what training has seen" not in near
    choose(driver, "first", "1000000")
    assert figures(driver) == [*near, "Which pairs leave what training has seen"]
    told = driver.execute_script("return document.getElementById('answer').textContent")
    assert "At distances 1,000,000 to 1,000,127" in told and "pairs make angles that no distance below 128 made in training" in told
    # Interpolation by the factor by which the context grows leaves nothing that training has not seen; by none, something.
    share = "return +/(\\d+) of \\d+ pairs make angles/.exec(document.getElementById('answer').textContent)[1]"
    goto(driver, "#spec=linear(factor=4)&length=512&first=1024")
    assert driver.execute_script(share) == 0
    goto(driver, "#spec=rope&length=512&first=1024")
    assert driver.execute_script(share) > 0


def test_what_takes_long_is_asked_for(driver):
    goto(driver, "#spec=fourier(features=4096,hidden=512)&length=128")
    assert len(faults(driver)) == 1 and "its definition needs" in faults(driver)[0]
    assert driver.find_element("css selector", ".fault button").text == "compute it all the same"
    goto(driver, "")


def test_what_is_taken_along(driver, tmp_path):
    goto(driver, "#spec=rope(theta=500)+alibi&length=256&first=1000&causal=0")
    command, python, cpp = (e.text for e in driver.find_elements("css selector", "#code pre"))
    assert shlex.split(command) == ["gnomon", "show", "rope(theta=500)+alibi", "--dim", "64", "--heads", "4", "--length", "256", "--first", "1000",
                                    "--bidirectional", "--out", "page.html"]
    assert 'gn.make("rope(theta=500)+alibi", heads=4, head_dim=16, length=256, causal=False)' in python
    assert '"rope(theta=500)+alibi", {.heads = 4, .head_dim = 16, .length = 256, .causal = false}' in cpp
    gnomon(*shlex.split(command)[1:], cwd=tmp_path, check=0)
    written, titles = (tmp_path / "page.html").read_text(), figures(driver)
    assert titles and [title for title in titles if title not in written] == []
    compile(python, "page", "exec")


def test_the_keyboard_reaches_everything(driver):
    goto(driver, "#spec=t5+[window, none]")
    driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true); document.activeElement.blur(); window.scrollTo(0, 0)")
    wanted = driver.execute_script("""
let n = 0;
const all = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')];
return all.filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility()).map(e => e.dataset.stop = ++n);
""")
    reached = set()
    for _ in range(2 * len(wanted)):
        driver.switch_to.active_element.send_keys("\ue004")  # Tab
        reached.add(driver.execute_script("return +(document.activeElement.dataset.stop ?? 0)"))
        if len(reached - {0}) == len(wanted):
            break
    assert wanted and set(wanted) <= reached, [n for n in wanted if n not in reached]


def test_a_slider_moves_by_keys(driver):
    goto(driver, "")
    driver.find_element("id", "length-slider").send_keys("\ue014")  # to the right
    assert settled(driver).startswith("Drawn")
    assert driver.execute_script("return +document.getElementById('length').value") > 128
    assert "length=" in driver.execute_script("return location.hash")


@pytest.mark.parametrize("address", ["", "#spec=sinusoidal&with=concat(learned,width=32)&first=1000",
                                     "#spec=rope(theta=500)+alibi+[window,none]&with=yarn&length=512&first=1000000"])
def test_wide_narrow_light_and_dark(driver, address):
    goto(driver, address)
    try:
        for width, dark in ((1280, False), (390, True)):
            show_as(driver, width, dark=dark)
            driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
            assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), width
            assert driver.execute_script(OVERLAPS) == [], width
            assert complaints(driver) == [], (width, dark)
    finally:
        show_as(driver, 1280)


def test_axe_would_have_found(driver):
    goto(driver, "")
    driver.execute_script("document.querySelector('label[for=spec]').remove()")
    assert any(found.startswith("label") for found in complaints(driver))


def test_without_scripts_a_picture_is_there():
    driver = open_page(PAGE, javascript=False)
    try:
        assert len(driver.find_elements("css selector", "#answer figure")) >= 2
        assert driver.find_element("css selector", "noscript .fault").is_displayed()
    finally:
        driver.quit()

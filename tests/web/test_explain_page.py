"""explain.html in a browser: it says what the program says of the same files, finds what lint finds, and asks nobody."""

import json
import re

import pytest

from web.pages import PAGES, ROOT, complaints, fits, gnomon, open_page, open_web, requests, show_as, wait_until

# The 1,539 configurations whose layers transformers has computed (make_resolver.py): every seventh, and the examples.
GOLDEN = [case["config"] for case in json.loads((ROOT / "tests/golden/resolver.json").read_text())[::7]]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.json"))
BROKEN = (ROOT / "docs/examples/broken-yarn.json").read_text()

EXPLAIN_ALL = """
const [texts, told] = arguments;
ask(gnomon => texts.map(text => {
  gnomon.files.set('config.json', text);
  try { return gnomon.explain('config.json'); } catch (error) { return error.message; }
})).then(told, error => told(String(error)));
"""
EXPLAINED = "/^Explained|cannot be read/.test(document.getElementById('said').textContent)"
HEADINGS = "return [...document.querySelectorAll('#answer h2')].map(h => h.textContent)"


NUMERAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def same(one, other):
    """Equal but for the last digit of a number: the C library of WebAssembly rounds a power otherwise."""
    numbers = [[float(x) for x in NUMERAL.findall(text)] for text in (one, other)]
    return NUMERAL.sub("#", one) == NUMERAL.sub("#", other) and all(
        abs(a - b) <= 1e-14 * abs(b) for a, b in zip(*numbers, strict=True))


@pytest.fixture(scope="module")
def page():
    driver = open_web("explain")
    yield driver
    driver.quit()


@pytest.fixture
def asked(page):
    """The page as it is opened, asked about a text by its own form."""
    def ask(text):
        page.get(f"file://{PAGES / 'explain.html'}")
        page.execute_script("document.getElementById('text').value = arguments[0]; document.querySelector('#ask button.main').click()", text)
        wait_until(page, EXPLAINED)
        return page
    return ask


def test_every_example_and_many_golden_configurations_are_explained_as_by_the_program(page, tmp_path):
    texts = [path.read_text() for path in EXAMPLES] + [json.dumps(config) for config in GOLDEN]
    assert len(texts) > 200 + 3
    said = page.execute_async_script(EXPLAIN_ALL, texts)
    for text, by_page in zip(texts, said, strict=True):
        (tmp_path / "config.json").write_text(text)
        done = gnomon("explain", "--json", "config.json", cwd=tmp_path)
        assert same(by_page, (done.stdout or done.stderr.removeprefix("gnomon: ")).rstrip("\n"))
    assert len(set(said)) > 100  # they are not one answer
    assert not same("theta 10000.0", "theta 10000.1") and not same("0.5 of 64", "0.5 of 32")


def test_a_pasted_text_is_explained_from_its_faults_to_its_longer_contexts(asked):
    page = asked(BROKEN)
    assert page.execute_script(HEADINGS)[:2] == ["What is wrong with the file", "What the model computes"]
    found = json.loads(gnomon("lint", "--json", ROOT / "docs/examples/broken-yarn.json").stdout)["findings"]
    assert page.execute_script("return [...document.querySelectorAll('#findings ~ h3')].map(h => h.firstChild.textContent.trim())") == \
        [f"{one['severity']}: {one['rule']}" for one in found]
    page.execute_script("document.querySelector('#findings ~ h3 button').click()")
    line = found[0]["line"]
    assert page.execute_script("const t = document.activeElement; return t.value.slice(t.selectionStart, t.selectionEnd)") == BROKEN.split("\n")[line - 1]
    assert page.execute_script("return document.querySelectorAll('#answer figure svg').length") >= 2
    assert requests(page) == [] and page.get_log("browser") == []


def plan(page, to):
    page.execute_script("""const form = document.querySelector('#longer + form'); form.querySelector('input').value = arguments[0];
        document.querySelector('#longer ~ div').replaceChildren(); form.querySelector('button').click()""", to)
    wait_until(page, "document.querySelector('#longer ~ div').childElementCount > 0")
    return page.execute_script("return document.querySelector('#longer ~ div').textContent")


def test_settings_for_a_longer_context_are_those_of_extend(asked):
    name = ROOT / "docs/examples/llama-3.1.json"
    page = asked(name.read_text())
    assert "is not longer" in plan(page, "16") or "allowed" in plan(page, "16")
    plan(page, "4x")
    expected = json.loads(gnomon("extend", name, "--to", "4x", "--json", check=0).stdout)
    texts = page.execute_script("return [...document.querySelectorAll('#longer ~ div pre')].map(p => p.textContent)")
    snippets = [snippet["text"] for way in expected["methods"] for snippet in way["snippets"]]
    assert len(texts) == len(snippets) > 2
    for text, snippet in zip(texts, snippets, strict=True):
        assert text == snippet if isinstance(snippet, str) else json.loads(text) == snippet


def test_a_file_with_errors_is_extended_only_when_that_is_asked_for(asked):
    page = asked(BROKEN)
    assert "lint finds 1 error" in plan(page, "4x")
    page.execute_script("document.querySelector('#longer ~ div button').click()")
    wait_until(page, "document.querySelectorAll('#longer ~ div details').length > 2")


def test_other_readers_and_another_file(asked, tmp_path):
    page = asked(BROKEN)
    told = json.loads(gnomon("explain", ROOT / "docs/examples/broken-yarn.json", "--readers", "--json", check=0).stdout)
    differ = [o["reader_title"] for o in told["others"] if o["reads"] and not o["same"]]
    assert differ and page.execute_script("return [...document.querySelectorAll('#readers ~ h3')].map(h => h.textContent)") == \
        [f"{name} computes something else" for name in differ]
    other = ROOT / "docs/examples/llama-3.1.json"
    page.find_element("id", "second").send_keys(str(other))
    wait_until(page, "document.querySelector('#differences table') !== null")
    expected = json.loads(gnomon("explain", ROOT / "docs/examples/broken-yarn.json", other, "--json", check=1).stdout)
    assert page.execute_script("return document.querySelectorAll('#differences tbody tr').length") == len(expected["differences"]) >= 3


def test_files_are_given_as_files(asked, tmp_path):
    page = asked(BROKEN)
    model = ROOT / "tests/golden/opened/gguf_llama/model.gguf"
    page.find_element("id", "files").send_keys(str(model))
    wait_until(page, "document.getElementById('said').textContent === 'Explained: model.gguf'")
    expected = gnomon("explain", model, "--json", check=0).stdout
    said = page.execute_async_script("const told = arguments[0]; ask(gnomon => gnomon.explain('model.gguf')).then(told)")
    differ = {"file"}
    assert {k: v for k, v in json.loads(said).items() if k not in differ} == {k: v for k, v in json.loads(expected).items() if k not in differ}
    both = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, example in zip(both, EXAMPLES, strict=False):
        path.write_text(example.read_text())
    page.execute_script("document.getElementById('files').value = ''")  # or the driver would add to it
    page.find_element("id", "files").send_keys("\n".join(map(str, both)))
    wait_until(page, "document.getElementById('said').textContent === 'Explained: a.json'")
    assert page.execute_script("return document.getElementById('differences').textContent").startswith("a.json and b.json use positions differently")


def test_a_gguf_file_is_read_as_far_as_its_header_goes(page):
    """The header of this one is longer than what is read first."""
    length = page.execute_async_script("""
        const told = arguments[0], parts = [], text = s => [new BigUint64Array([BigInt(s.length)]), s], u32 = n => new Uint32Array([n]);
        const words = new Array(300000).fill('a token of a vocabulary').map((w, n) => w + n);
        const settings = {block_count: 2, embedding_length: 64, 'attention.head_count': 4, context_length: 512, feed_forward_length: 128};
        parts.push('GGUF', u32(3), new BigUint64Array([1n, BigInt(2 + Object.keys(settings).length)]));
        parts.push(...text('tokenizer.ggml.tokens'), u32(9), u32(8), new BigUint64Array([BigInt(words.length)]));
        for (const word of words) parts.push(...text(word));
        parts.push(...text('general.architecture'), u32(8), ...text('llama'));
        for (const [name, n] of Object.entries(settings)) parts.push(...text('llama.' + name), u32(4), u32(n));
        parts.push(...text('token_embd.weight'), u32(2), new BigUint64Array([64n, 1n << 18n]), u32(0), new BigUint64Array(1));
        parts.push(new Uint8Array((32 - new Blob(parts).size % 32) % 32), new Uint8Array(1 << 26));  // numbers that nobody needs
        const file = new File(parts, 'long.gguf');
        lookAt([{path: file.name, file}]).then(async () => told((await instance).files.get('long.gguf').head.length / file.size), error => told(String(error.stack)));""")
    assert page.execute_script("return document.querySelector('#answer .embedded')?.textContent ?? document.querySelector('#answer').textContent").count("llama")
    assert 0.02 < length < 0.5


def test_no_text_is_asked_for(page):
    page.get(f"file://{PAGES / 'explain.html'}?empty")
    page.execute_script("document.querySelector('#ask button.main').click()")
    wait_until(page, "document.getElementById('said').textContent.startsWith('Paste a configuration')")
    assert page.execute_script(HEADINGS) == []


def test_a_link_holds_the_file(asked):
    page = asked(BROKEN)
    page.execute_script("[...document.querySelectorAll('#keep ~ p button')].at(-1).click()")
    wait_until(page, "location.hash.startsWith('#config=')")
    link = page.current_url
    page.get("about:blank")
    page.get(link)
    wait_until(page, EXPLAINED)
    assert page.execute_script("return document.getElementById('text').value") == BROKEN
    page.get("about:blank")
    page.get(link[:-40])
    wait_until(page, "document.getElementById('said').textContent.startsWith('The link holds no file')")


@pytest.mark.parametrize("text, told", [
    ("{", "not JSON"), ("[]", "the document is []"), ('{"model_type": "lama"}', "'lama'"), ("\0", "a NUL byte"), ('{"model_type": "llama", "hidden_size": -1}', "hidden_size")])
def test_what_is_no_configuration_is_told(asked, text, told):
    page = asked(text)
    assert told in page.execute_script("return document.getElementById('answer').textContent")
    if text in ("{", "[]", "\0"):  # nothing else is said of what cannot be read
        assert page.execute_script(HEADINGS) == ["What is wrong with the file"]
        assert page.execute_script("return document.getElementById('said').textContent") == "config.json cannot be read: see below."
    assert page.get_log("browser") == []


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True)])
def test_the_page_is_whole_before_and_after(asked, width, dark):
    page = asked(BROKEN)
    show_as(page, width, dark=dark)
    assert fits(page, width) and complaints(page) == []
    page.get(f"file://{PAGES / 'explain.html'}?again")
    assert fits(page, width) and complaints(page) == []


def test_without_scripts_the_example_stands():
    driver = open_page(PAGES / "explain.html", javascript=False)
    try:
        text = driver.find_element("tag name", "main").text
        assert "needs JavaScript" in text and "An example: Llama 3.1" in text and "Longer contexts" in text
    finally:
        driver.quit()

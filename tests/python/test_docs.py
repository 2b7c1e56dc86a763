"""What README and docs/study.md say is what the program and the findings say."""

import json
import re

import pytest

from conftest import ROOT, gnomon

README = (ROOT / "README.md").read_text()
STUDY = (ROOT / "docs" / "study.md").read_text()
FINDINGS = (ROOT / "docs" / "findings.md").read_text().split("\n## ")
ROUNDED = 0.00056  # four decimals, of three that were rounded from more


def blocks(page, begin):
    return [block for block in re.findall(r"^```\n(.*?)^```$", page, re.M | re.S) if block.startswith(begin)]


def rows(block):
    """The rows of the first table of the terminal, by arm."""
    return {re.split(r"\s{2,}", line)[0]: line for line in block.split("\n\n")[0].splitlines()[1:]}


def found_of_default():
    (section,) = [s for s in FINDINGS if s.startswith("Which encoding?")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")]
    return {row[0]: dict(zip(cells[0], row)) for row in cells[2:]}


def test_readme_is_short():
    assert len(README.split()) <= 1200 and len(README.encode()) <= 7000


def test_counts_are_those_of_the_program():
    for said, words in {r"(\d+) encodings with": ["encodings"], r"(\d+) rules": ["lint", "--rules"], r"(\d+) claims": ["claims"]}.items():
        assert int(re.search(said, README)[1]) == len(json.loads(gnomon(*words, "--json", check=0).stdout)), words
    families = json.loads(gnomon("explain", "--families", "--json", check=0).stdout)
    types = sum(len(f["model_types"] + f["larger_models"]) for f in families)
    assert f"[{types} types of models]" in README
    models = (ROOT / "docs" / "models.md").read_text()
    assert f"{types} types of models in {len(families)} families" in models
    towers = json.loads((ROOT / "tests" / "golden" / "towers.json").read_text())
    known = {kind for parts in towers["within"].values() for kind, _ in parts.values()}
    assert f"{len(known)} of {len(known) + len(towers['unknown'])} types that `vision_config` and `audio_config`" in models


def test_readme_shows_what_lint_says_of_the_broken_example():
    (shown,) = blocks(README, "error: ")
    assert gnomon("lint", "docs/examples/broken-yarn.json", cwd=ROOT, check=1).stdout.startswith(shown)


def test_the_page_of_check_shows_what_it_says():
    (shown,) = blocks((ROOT / "docs" / "check.md").read_text(), "q_before and")
    assert shown in gnomon("check", "tests/golden/dumps/positions_bf16.safetensors", cwd=ROOT, check=1).stdout


def test_readme_shows_rows_of_the_table_of_docs():
    (few,), (all_of_them,) = blocks(README, "arm "), blocks(STUDY, "arm ")
    assert len(rows(few)) == 5 and rows(few).items() <= rows(all_of_them).items()
    assert few.splitlines()[0] == all_of_them.splitlines()[0]


def test_the_table_of_docs_has_the_numbers_of_the_findings():
    (block,) = blocks(STUDY, "arm ")
    first, second = block.split("\n\n")[:2]
    found = found_of_default()
    assert len(rows(first)) == len(found) == len(rows(second))
    for arm, row in found.items():
        nats, rate, *difference = re.split(r"\s+", rows(first)[arm].removeprefix(arm).strip())
        assert float(nats) == pytest.approx(float(row["nats per byte"].split()[0]), abs=ROUNDED) and rate == row["rate"], arm
        if difference[0] != "baseline":
            four_decimals = [float(x) for x in row["difference to sinusoidal"].replace("−", "-").split(" ± ")]
            three = [float(difference[0]), float(difference[1].strip("±"))]
            assert three == pytest.approx(four_decimals, abs=ROUNDED) and difference[2] == row["verdict"], arm
        by_length = rows(second)[arm].removeprefix(arm).split()[:4]
        assert by_length == [row[f"at {n}×"] for n in ("1", "1.5", "2", "4")], arm


def test_the_words_of_docs_have_the_numbers_of_the_findings():
    """Every number with three decimals or more between the table and the next heading."""
    words = STUDY.split("What it shows")[1].split("\n## ")[0]
    known = "\n".join(FINDINGS[1:3])
    rounded = {f"{float(x) + nudge:.3f}" for x in re.findall(r"\d+\.\d{3,}", known) for nudge in (-1e-9, 1e-9)}
    said = set(re.findall(r"\d+\.\d{3,}", words))
    assert len(said) >= 15 and not said - rounded, said - rounded


PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "DESIGN.md", "CHANGELOG.md")] + sorted((ROOT / "docs").glob("*.md"))


def anchors(page):
    text = page.read_text()
    heads = [re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head)).strip().lower().replace(" ", "-") for head in re.findall(r"^#+ (.*)$", text, re.M)]
    return {*heads, *re.findall(r'<a id="([^"]+)">', text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


def test_the_glossary_is_linked_from_the_pages_that_use_its_words():
    linked = {anchor for page in PAGES for anchor in re.findall(r"glossary\.md#([\w-]+)", page.read_text())}
    assert linked <= anchors(ROOT / "docs" / "glossary.md") and len(linked) >= 12


def test_what_the_short_answer_says_of_training_is_what_the_study_of_sizes_found():
    found = {n["key"]: n for n in json.loads((ROOT / "gnomon" / "claims" / "evidence" / "scaling.json").read_text())["numbers"]}
    assert "has a lower loss after a short training. After a long one the two are not told apart." in README
    for share in ("0.25", "0.5"):
        short, long = (found[f"2x64.concat_sinusoidal_share_{share}.at.{after}"] for after in (5, 80))
        assert short["value"] + short["half_width"] < 0 and abs(long["value"]) < long["half_width"]

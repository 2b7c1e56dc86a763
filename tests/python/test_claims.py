"""`gnomon claims`: the list, the rules, single claims, a quick run of all on real text, and what it tells."""

import hashlib
import json
import re
import shutil
import signal
import subprocess

import pytest

from conftest import GNOMON, ROOT, gnomon, wait_for
from test_axe import finds_nothing

LAYERS = ["What follows from algebra", "What models trained here show", "What published models show", "What the literature found",
          "What would change our mind"]
VERDICTS = {"answered", "holds", "holds if", "wrong", "open", "no inference from a quick run", "not measurable on this text",
            "a number did not come out"}


def claims():
    """How many there are: a record each in the files of the questions."""
    return sum(len(re.findall(r"^const Record claim_", path.read_text(), re.M)) for path in (ROOT / "gnomon" / "claims" / "questions").glob("*.cpp"))


def test_the_list_names_every_claim_by_question():
    listed = gnomon("claims", check=0).stdout
    assert sum(line.startswith("  00") for line in listed.splitlines()) == claims()
    assert "Why add, and not concatenate?" in listed
    assert "wrong" in listed
    described = json.loads(gnomon("claims", "--json", check=0).stdout)
    assert len(described) == claims() and all(c["says"] and c["method"] and c["advice"] for c in described)


def test_the_document_shows_the_records():
    document = (ROOT / "docs" / "claims.md").read_text()
    assert f"rules: sha256 {rules_hash()}" in document, "copy claims.md of a full run"
    for claim in json.loads(gnomon("claims", "--json", check=0).stdout):
        heading = f"#### {claim['says']}\n\n<a id=\"c{claim['id']}\"></a>**"
        assert any(f"{heading}{leaning}{claim['told']}**. " in document for leaning in ("", "leaning: ")), claim["id"]
        assert (claim["rests_on"] == "measurement") == bool(claim["decides"]) == (not claim["because"]), claim["id"]
        assert claim["because"] in document, claim["id"]


def test_the_documents_are_written_from_the_archive(tmp_path):
    """Claims and essays have the numbers of one run, docs/results/claims.json, in the words of today; figures as well."""
    gnomon("claims", "--from", ROOT / "docs" / "results" / "claims.json", "--out", tmp_path, check=0)
    written = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(written) == {"claims.md", "evidence.md", "why-add.md", "survival.md"}
    for name, page in written.items():
        assert (ROOT / "docs" / name).read_text() == page, f"docs/{name}: make record"
    run = json.loads((ROOT / "docs" / "results" / "claims.json").read_text())
    drawn = [f for claim in run["claims"] for f in claim["figures"] if f["kind"] != "table"]
    assert drawn and (tmp_path / "claims.html").read_text().count("<figure") == len(drawn)


def test_the_archive_has_the_words_of_its_pages():
    """What somebody reads in docs/results/claims.json is what stands on the page, and what the program makes of the numbers today."""
    archive = ROOT / "docs" / "results" / "claims.json"
    run, page = json.loads(archive.read_text()), (ROOT / "docs" / "claims.md").read_text()
    again = json.loads(gnomon("claims", "--from", archive, "--json", check=0).stdout)
    others = {c["id"]: [key for key in c if c[key] != now[key]] for c, now in zip(run["claims"], again["claims"], strict=True) if c != now}
    assert others == {}, "make record"
    assert run == again, "make record"
    for claim in run["claims"]:
        told = page.split(f'<a id="c{claim["id"]}"></a>')[1].split("\n#### ")[0]
        assert told.startswith(f"**{claim['reading']}**") and claim["leaning"] == claim["reading"].startswith("leaning: "), claim["id"]
        assert all(claim[key] in told for key in ("told", "answer", "how_sure", "other_texts")), claim["id"]
    for question in run["questions"]:
        assert f"\n## {question['title']}\n\n*{question['state']}*: **{question['answer']}**\n" in page, question["key"]


def test_a_run_under_earlier_rules_says_so(tmp_path):
    archive = (ROOT / "docs" / "results" / "claims.json").read_text()
    before = "sha256 " + 64 * "0"
    (tmp_path / "claims.json").write_text(archive.replace(json.loads(archive)["rules"], before))
    gnomon("claims", "--from", tmp_path / "claims.json", "--out", tmp_path, check=0)
    assert f"measured under earlier ones ({before}), and are judged by these." in (tmp_path / "claims.md").read_text()


def test_a_claim_without_models_is_measured_again_into_an_archive(tmp_path):
    archive = json.loads((ROOT / "docs" / "results" / "claims.json").read_text())
    place, claim = next((n, c) for n, c in enumerate(archive["claims"]) if c["id"] == "004-16")
    measured = json.dumps(archive["claims"][place])
    claim["numbers"] = claim["numbers"][:1]  # less than its answer takes
    (tmp_path / "claims.json").write_text(json.dumps(archive))
    assert gnomon("claims", "--from", tmp_path / "claims.json", "--out", tmp_path).returncode != 0
    later = json.loads(gnomon("claims", "004-16", "--from", tmp_path / "claims.json", "--json", check=0).stdout)
    assert json.dumps(later["claims"][place]) == measured and set(later["again"]) == {"004-16", *archive["again"]}
    assert "000-02 trains models" in gnomon("claims", "000-02", "--from", tmp_path / "claims.json", check=2).stderr


def rules_hash():
    return hashlib.sha256((ROOT / "docs" / "claims-rules.json").read_bytes()).hexdigest()


def test_the_rules_were_written_down_before():
    printed = gnomon("claims", "--rules", "--json", check=0).stdout
    assert printed.encode() == (ROOT / "docs" / "claims-rules.json").read_bytes(), "build/dev/gnomon claims --rules --json > docs/claims-rules.json"
    rules = json.loads(printed)
    read = "".join(gnomon("claims", "--rules", check=0).stdout.split())
    for rule in rules:
        for key in ("id", "says", "method", "expects", "because", "condition", "settles", "amended"):
            assert "".join(rule[key].split()) in read, (rule["id"], key)
        for entry in re.split("; |, or", rule["decides"]):  # one below the other
            assert "".join(entry.split()) in read, (rule["id"], entry)
    assert len(rules) == claims()
    for rule in rules:
        assert rule["says"] and rule["method"] and rule["expects"], rule["id"]
        assert (rule["rests_on"] == "measurement") == bool(rule["decides"]), rule["id"]
        assert not {"recorded", "answer", "numbers"} & set(rule), "a rule knows no result"


def test_verdicts_have_their_words():
    for claim in json.loads(gnomon("claims", "--json", check=0).stdout):
        assert claim["recorded"] in VERDICTS, claim["id"]
        assert claim["told"] == claim["recorded"] + (" " + claim["condition"] if claim["recorded"] == "holds if" else ""), claim["id"]
        assert (claim["recorded"] == "open") <= bool(claim["settles"]), claim["id"]
        if claim["recorded"] == "holds if":
            assert claim["condition"] and not claim["condition"].startswith("if "), claim["id"]


def test_one_claim_needs_no_text(tmp_path):
    done = gnomon("claims", "004-16", "--out", tmp_path / "out", check=0)
    assert "7.485166" in done.stdout
    assert "\n1 claim measured in " in done.stdout and " minutes; all verdicts as recorded\n" in done.stdout
    page = (tmp_path / "out" / "claims.html").read_text()
    assert ">1 claim of five texts" in page and "1 claims" not in page + (tmp_path / "out" / "claims.md").read_text()
    found = json.loads((tmp_path / "out" / "claims.json").read_text())["claims"]
    assert [c["id"] for c in found] == ["004-16"]
    assert found[0]["verdict"] == found[0]["recorded"] == "holds"


def test_a_run_is_told_again_in_the_words_of_today(tmp_path):
    gnomon("claims", "004-16", "004-15", "--out", tmp_path / "out", check=0)
    done = gnomon("claims", "--from", tmp_path / "out" / "claims.json", "--out", tmp_path / "again", check=0)
    assert "2 claims written again" in done.stdout
    told, before = ((tmp_path / folder / "claims.md").read_text().splitlines() for folder in ("again", "out"))
    assert [line for line in told if not line.startswith("Generated by")] == [line for line in before if not line.startswith("Generated by")]
    assert "words written again from claims.json" in told[2]
    assert not (tmp_path / "again" / "why-add.md").exists(), "an essay takes what this run did not measure"
    (tmp_path / "other.json").write_text('{"seeds": 5}')
    refused = gnomon("claims", "--from", tmp_path / "other.json")
    assert refused.returncode == 3 and "other.json" in refused.stderr


def test_a_run_of_some_claims_says_which_answers_it_cannot_give(tmp_path):
    gnomon("claims", "003-08", "003-09", "004-16", "--out", tmp_path / "out", check=0)
    found = json.loads((tmp_path / "out" / "claims.json").read_text())
    (question,) = found["questions"]
    assert question["answer"] == "Not measured in this run: 003-06."
    page = (tmp_path / "out" / "claims.html").read_text()
    assert f"3 of {claims()} statements and questions, measured" in page and "No model was trained" in page and "…" not in page


@pytest.mark.parametrize("arguments, told", [(["004-17"], "004-1"), (["Tom"], "unknown claim"), (["000-02"], "--text"), (["all", "--text", "nowhere"], "nowhere")])
def test_what_cannot_be_measured_is_said(arguments, told, tmp_path):
    done = gnomon("claims", *arguments, "--out", tmp_path / "out")
    assert done.returncode in (2, 4)
    assert told in done.stderr


def test_a_quick_run_finds_what_is_recorded(quick):
    out, found, _ = quick
    assert len(found["claims"]) == claims()
    assert [c["id"] for c in found["claims"] if not c["as_recorded"]] == []
    for claim in found["claims"]:
        assert claim["answer"], claim["id"]
        assert all(n["fits"] for n in claim["numbers"]), claim["id"]
    assert any(c["verdict"] == "no inference from a quick run" for c in found["claims"])
    assert [c["id"] for c in found["claims"] if "not measurable" in c["verdict"]] == []
    page = (out / "claims.html").read_text()
    assert "Nothing here about training is evidence" in page
    argued = [c["id"] for c in found["claims"] if c["rests_on"] != "measurement"]
    assert page.count("The verdict rests on a") == len(argued) > 0
    assert page.count("<dt>What decides</dt>") == claims() - len(argued)
    assert page.count("<b>How sure:</b>") == claims()
    document = (out / "claims.md").read_text()
    assert "…" not in document and "Not measured in this run" not in document, "a question asks for a number that no claim found"


def test_the_rules_that_judged_are_named(quick):
    out, found, _ = quick
    for told in (found["rules"], (out / "claims.html").read_text(), (out / "claims.md").read_text()):
        assert f"sha256 {rules_hash()}" in told


def test_how_a_run_went_is_told(quick):
    out, found, _ = quick
    assert found["rates"] == {} and found["seeds"] == 1
    assert found["budgets"]["causal"] == {"layers": 2, "width": 64, "length": 64, "batch": 8, "steps": 100}
    for told in ((out / "claims.html").read_text(), (out / "claims.md").read_text()):
        for words in ("one text, king-james.txt", "100 steps of 8 windows of 64 bytes", "all models of the text learn at 0.004",
                      "interval over training seeds", "Holm 1979", "regression check"):
            assert words in told, words


def test_how_sure_follows_from_the_record(quick):
    records = {c["id"]: c for c in json.loads(gnomon("claims", "--json", check=0).stdout)}
    for claim in quick[1]["claims"]:
        record, sure = records[claim["id"]], claim["how_sure"]
        assert sure.endswith(".") and sure[0].isupper() and "  " not in sure, sure
        assert claim["p"] is claim["p_holm"] is None, "a quick run has no p"
        assert (claim["verdict"] == "no inference from a quick run") == record["by_intervals"] == ("a quick run trains one seed" in sure), claim["id"]
        younger = "by a rule that was changed since" in (claim["other_texts"] or "")  # by intervals then, and perhaps not now
        assert younger or bool(claim["other_texts"]) == record["by_intervals"], claim["id"]
        assert (record["because"] in sure) if record["because"] else ("rests on" not in sure), claim["id"]
        if record["rests_on"] == "measurement" and not record["trains_models"]:
            assert "without a trained model" in sure or "every other case" in sure, claim["id"]


# A number that stands by itself: no part of a name (T5, 2d², W₁) or of a claim's id.
NUMERAL = re.compile(r"(?<![\w.,^₀-₉–])[−-]?(\d[\d,]*(?:\.\d+)?(?:e[−-]\d+)?)(?![\w²³√·^]|\.\d|,\d)( %)?")


def numerals(sentence):
    return [(n.replace(",", ""), bool(percent)) for n, percent in NUMERAL.findall(re.sub(r"\b00\d-\d\d\b", "", sentence))]


def untold(sentence, numbers, settings):
    """The numerals of a sentence that are neither one of the numbers, rounded as it stands there, nor a setting."""
    known = [abs(n[k]) for n in numbers for k in ("value", "half_width", "n", "from", "to") if n.get(k) is not None]
    points = "percentage" in sentence  # then said once for all
    set_here = {n for text in settings for n, _ in numerals(text)}

    def is_told(numeral, percent):
        value = float(numeral.replace("−", "-"))
        if "e" in numeral:
            return any(float(f"{x:.0e}") == value for x in known)
        digits = len(numeral.partition(".")[2])
        shown = known + [x / 1000 for x in known if "thousand" in sentence]
        if percent or points:  # a share, what it leaves, and a difference of shares
            shown = shown + [100 * x for x in known] + [100 - 100 * x for x in known]
        return any(f"{x:.{digits}f}" == f"{value:.{digits}f}" for x in shown)

    return [n for n, percent in numerals(sentence) if n not in set_here and not is_told(n, percent)]


def test_a_typed_number_is_seen():
    numbers = [{"value": -.0814, "half_width": .0206, "n": 5}]
    assert untold("lower by 0.081 ± 0.021 (n = 5), T5, 2d² and 001-05; 8 %", numbers, []) == []
    assert untold("lower by 0.082, in 12 of 96", numbers, ["of 96 channels"]) == ["0.082", "12"]


def test_every_number_of_an_answer_was_found(quick):
    records = {c["id"]: c for c in json.loads(gnomon("claims", "--json", check=0).stdout)}
    typed = {}
    for claim in quick[1]["claims"]:
        settings = [claim["says"], records[claim["id"]]["method"], *(n["name"] for n in claim["numbers"])]
        if left := untold(claim["answer"], claim["numbers"], settings):
            typed[claim["id"]] = left
    assert typed == {}


def test_every_number_of_a_question_was_found(quick):
    found = {(c["id"], n["key"]): n for c in quick[1]["claims"] for n in c["numbers"]}
    for path in (ROOT / "gnomon" / "claims" / "evidence").glob("*.json"):
        record = json.loads(path.read_text())
        if "numbers" in record:
            found |= {(path.stem, n["key"]): n for n in record["numbers"]}
    records = json.loads(gnomon("claims", "--json", check=0).stdout)
    typed = {}
    for question in quick[1]["questions"]:
        settings = [question["title"]] + [c[k] for c in records if c["question"] == question["key"] for k in ("says", "method")]
        for sentence, taken in [(question["answer"], question["taken"])] + [(layer["sentences"], layer["taken"]) for layer in question["layers"]]:
            numbers = [found[tuple(t.split("|"))] for t in taken]
            if left := untold(sentence, numbers, settings + [n["name"] for n in numbers]):
                typed.setdefault(question["key"], []).extend(left)
    assert typed == {}


def test_every_question_has_its_layers(quick):
    missing = {}
    for question in quick[1]["questions"]:
        layers = {layer["title"]: layer for layer in question["layers"]}
        assert list(layers) == [title for title in LAYERS if title in layers], question["key"]
        lacks = [title for title in (LAYERS[3], LAYERS[4]) if title not in layers]
        if not {LAYERS[0], LAYERS[1]} & set(layers):
            lacks.append("algebra or models")
        if not any(c["figures"] for c in quick[1]["claims"] if c["question"] == question["key"]):
            lacks.append("a figure")
        if lacks:
            missing[question["key"]] = lacks
    assert missing == {}


def test_the_markdown_prints_every_number(quick):
    out, found, _ = quick
    document = (out / "claims.md").read_text()
    parts = re.split(r'<a id="c(00\d-\d\d)"></a>', document)
    told = dict(zip(parts[1::2], parts[2::2]))
    for claim in found["claims"]:
        for number in claim["numbers"]:
            assert f"\n- {number['name']}: " in "\n" + told[claim["id"]], (claim["id"], number["name"])
    assert "within what was asked for" not in document
    assert [line for line in document.splitlines() if line.startswith("#") and re.search(r"00\d-\d\d", line)] == [], "an id in a heading"
    for question in found["questions"]:
        assert f"\n## {question['title']}\n" in document
        for layer in question["layers"]:
            assert f"\n### {layer['title']}\n" in document


def test_axe_finds_nothing_in_the_page(quick):
    finds_nothing(quick[0] / "claims.html")


def test_finished_models_are_kept(quick, bible, tmp_path):
    """Measured again on the models that are there, numbers are the same to the bit."""
    out, found, _ = quick
    shutil.copytree(out, tmp_path / "out")
    some = ["000-04", "000-08", "001-05", "001-14", "002-05", "002-08", "002-09", "002-11", "003-03", "003-14", "004-07", "004-12"]
    arguments = ["claims", *some, "--quick", "--text", bible, "--out", tmp_path / "out"]
    assert "claims that this command would lose" in gnomon(*arguments).stderr
    done = gnomon(*arguments, "--replace", "--json", check=0)
    assert "minutes, 0 models trained" in (tmp_path / "out" / "claims.md").read_text()
    again = json.loads(done.stdout)["claims"]
    assert [claim["id"] for claim in again] == some
    for a, b in zip([claim for claim in found["claims"] if claim["id"] in some], again):
        # A step's time is taken anew.
        bits = lambda claim: [n for n in claim["numbers"] if not n["key"].startswith("time.")]
        assert bits(a) == bits(b), a["id"]


def test_an_interrupted_run_says_so_and_goes_on(bible, tmp_path):
    out = tmp_path / "out"
    started = subprocess.Popen([str(GNOMON), "claims", "002-09", "--text", str(bible), "--out", str(out)], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (out / "models").exists())  # it has begun to train: the full claim takes minutes
    started.send_signal(signal.SIGINT)
    _, told = started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGINT
    assert "the same command continues with them" in told

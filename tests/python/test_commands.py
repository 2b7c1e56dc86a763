"""The commands as a user types them: what they print, what they leave, and their exit codes."""

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess

import numpy
import pytest
from safetensors.numpy import load_file

from conftest import GNOMON, ROOT, gnomon, study_arguments


def fact(spec, name, *arguments):
    shown = json.loads(gnomon("show", spec, "--json", *arguments, check=0).stdout)
    facts = {f["name"]: f for f in shown["encodings"][0]["facts"]}
    return {row["name"]: row["values"] for row in facts[name]["rows"]}


def test_the_reference_page_is_that_of_the_registry():
    page = (ROOT / "docs" / "encodings.md").read_text()
    assert gnomon("encodings", "--markdown", check=0).stdout == page
    costs = (ROOT / "docs" / "costs.md").read_text()
    for entry in json.loads(gnomon("encodings", "--json", check=0).stdout):
        assert f"\n## {entry['name']}\n" in page
        assert entry["acts"] == "positions" or f"| {entry['name']} |" in costs, entry["name"]


@pytest.mark.parametrize("spec", ["rope", "alibi", "deberta", "fire", "window(size=4)", "randomised", "pope", "sinusoidal",
                                  "[rope+chunk(size=8), log_n(rule=llama4)]"])
def test_show_draws_every_kind(spec, tmp_path):
    page = tmp_path / "page.html"
    gnomon("show", spec, "--out", str(page), check=0)
    html = page.read_text()
    assert "<figure" in html
    if spec in ("rope", "sinusoidal", "pope"):
        assert "hands of the clock" in html and "against the context" in html


def test_encodings_lists_objects():
    listed = json.loads(gnomon("encodings", "--json", check=0).stdout)
    assert {e["name"] for e in listed} >= {"none", "index", "normalised", "sinusoidal", "learned", "rope", "alibi", "t5"}
    for e in listed:
        assert {"name", "title", "formula", "paper", "year", "acts", "pitfall", "options"} <= e.keys()
        assert e["paper"].startswith("https://") and 2017 <= e["year"] <= 2026 and e["formula"] and e["pitfall"]
    assert len(listed) >= 60
    one = json.loads(gnomon("encodings", "rope", "--json", check=0).stdout)
    assert [o["name"] for o in one["options"]] == ["theta", "pairing", "fraction", "channels", "rounding", "offset", "side", "direction"]
    assert "rope" in gnomon("encodings", check=0).stdout
    assert "adjacent | halves" in gnomon("encodings", "rope", check=0).stdout
    assert "concat" in gnomon("encodings", "concat", check=0).stdout


def test_show_prints_the_known_dot_products():
    printed = gnomon("show", "sinusoidal", "--dim", 16, check=0).stdout
    assert printed.count("7.485166") >= 2 and "6.137040" in printed
    other = gnomon("show", "sinusoidal(layout=halves, frequencies=tensor2tensor)", "--dim", 16, check=0).stdout
    assert "7.501744" in other and "6.442038" in other
    # Halves alone only permutes the channels: the products stay.
    assert "7.485166" in gnomon("show", "sinusoidal(layout=halves)", "--dim", 16, check=0).stdout


def test_show_prints_the_known_values_norms_wavelengths_kernel_and_distances():
    values = fact("sinusoidal", "values", "--dim", 512)
    last, sine, at_16, at_17 = (list(values["position 63"])[i] for i in (-1, -2, -3, -4))
    assert numpy.allclose([last, sine, at_16, at_17], [.99997867, .00653074, .00840109, .99996208], atol=1e-8, rtol=0)
    t2t = fact("sinusoidal(layout=halves, frequencies=tensor2tensor)", "values", "--dim", 512)
    # channels 0, 1, 255, 495, 496, 510, 511
    assert numpy.allclose(t2t["position 127"][2], .01269966, atol=1e-8)
    assert numpy.allclose(t2t["position 127"][-1], .99991936, atol=1e-8)
    assert numpy.allclose(t2t["position 64"][-3], .99993948, atol=1e-8)
    for dim, longest in ((16, 3162.28), (64, 7498.94), (512, 9646.62), (768, 9763.00)):
        norms = fact("sinusoidal", "norms", "--dim", dim)
        assert numpy.allclose([v[0] for v in norms.values()], (dim / 2) ** .5, atol=1e-9)
        waves = fact("sinusoidal", "wavelengths", "--dim", dim)
        assert abs(waves[f"pair {dim // 2 - 1}"][1] - longest) < .005
    waves = fact("sinusoidal(layout=halves, frequencies=tensor2tensor)", "wavelengths", "--dim", 512)
    assert abs(waves["pair 255"][1] - 10000) < 1e-6
    kernel = fact("sinusoidal", "kernel", "--dim", 512)
    assert numpy.allclose([kernel[f"k = {k}"][0] for k in range(1, 7)],
                          [.973055, .905209, .827146, .768313, .740612, .735344], atol=5e-7)
    for dim, least in ((16, 1.014725), (64, 1.471848), (512, 3.714270)):
        distances = fact("sinusoidal", "distances", "--dim", dim)
        assert numpy.allclose(distances["neighbour"], [least, 1], atol=5e-7)
        assert numpy.allclose(distances["least of 1..20000"], [least, 1], atol=5e-7)


def test_show_tells_the_two_slope_rules_apart():
    authors = fact("alibi", "bias", "--dim", 96, "--heads", 12)["distance 1"]
    geometric = fact("alibi(slopes=geometric)", "bias", "--dim", 96, "--heads", 12)["distance 1"]
    assert numpy.allclose(authors[8:], [-.70711, -.35355, -.17678, -.088388], atol=1e-5)
    assert not numpy.allclose(authors, geometric, atol=1e-3)


@pytest.mark.parametrize("arguments, part", [
    (["show", "rop"], "did you mean 'rope'?"),
    (["show", "rope(theta=0)"], "allowed is a number"),
    (["show", "rope(theta=nan)"], "allowed is a number"),
    (["show", "rope(fraction=0.1)", "--dim", 32], "even numbers"),
    (["show", "sinusoidal", "--heads", 0], "--heads"),
    (["show", "sinusoidal", "--dim", 64, "--heads", 3], "does not divide"),
    (["show", "concat(sinusoidal, width=64)"], "allowed are 1 to 63"),
    (["encodings", "alibye"], "did you mean 'alibi'?"),
    (["study"], "no text"),
    (["studdy"], ""),
    (["study", "--nonsense"], ""),
    ([], ""),
])
def test_wrong_usage_is_answered_and_exits_2(arguments, part):
    done = gnomon(*arguments, check=2)
    assert part in done.stderr + done.stdout
    assert "bug" not in done.stderr


def test_closed_stdout_is_quiet_and_full_stdout_is_not():
    done = subprocess.run(f"{GNOMON} encodings --json | head -n 1", shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    for command in (["encodings"], ["encodings", "--markdown"], ["encodings", "--json"], ["show", "rope"], ["claims"],
                    ["help"], ["-V"], ["completion", "bash"], ["manual"], ["lint", "--rules"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([GNOMON, *command], stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, ""), command
    with open("/dev/full", "w") as full:
        done = subprocess.run([GNOMON, "encodings"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 4 and "cannot write" in done.stderr


def test_help_fits_the_screen():
    for words in ([], *([name] for name in re.findall(r"^  (\w+)", gnomon("help", check=0).stdout.split("Subcommands:\n")[1], re.M)),
                  ["study", "status"], ["study", "work"], ["study", "export"], ["rank"]):
        page = gnomon("help", *words, check=0).stdout
        assert page == gnomon(*words, "--help", check=0).stdout
        assert f"Usage: {' '.join(['gnomon', *words])} " in page
        assert all(len(line) <= 80 for line in page.splitlines()), words
        assert not words or "Examples:\n" in page, words


def test_the_program_says_what_it_is():
    assert gnomon("-V", check=0).stdout == gnomon("--version", check=0).stdout
    assert gnomon("-V").stdout.startswith("gnomon 0.")
    bare = gnomon(check=2)
    assert bare.stderr == "" and bare.stdout == gnomon("help", check=0).stdout  # for `gnomon | less`
    assert gnomon("completion", check=2).stderr == "gnomon: completion: SHELL is missing; allowed are bash, zsh and fish\n"


EXAMPLES = ROOT / "docs/examples"


@pytest.mark.parametrize("command", [
    ["encodings"], ["encodings", "yarn"], ["encodings", "concat(learned)+rope"], ["encodings", "--search", "rotary"],
    ["show", "rope"], ["show", "alibi", "--heads", "12"], ["show", "multi_sinusoidal"], ["show", "rope+alibi", "--plan"],
    ["lint", "--rules"], ["lint", "gemma-3.json"], ["claims"], ["claims", "004-16"],
    ["explain", "llama-3.1.json", "--full"], ["explain", "gemma-3.json", "--readers"],
    ["extend", "llama-2.json", "--to", "32768", "--full"],
    ["study", "--preset", "length-generalisation", "--dry-run"],
], ids=str)
def test_what_is_printed_fits_the_screen(command):
    printed = gnomon(*command, cwd=EXAMPLES).stdout  # from here, so that no name is longer where the tree stands deeper
    long = [line for line in printed.splitlines() if len(line) > 80 and "https://" not in line]
    assert printed and not long  # but for an address, which stays whole


def test_a_table_uses_the_terminal_that_there_is():
    def on_terminal(columns):
        script = f"stty cols {columns}; {GNOMON} encodings --search yarn"
        return subprocess.run(["script", "-qec", script, "/dev/null"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout

    narrow, wide = on_terminal(80).splitlines(), on_terminal(200).splitlines()
    assert max(map(len, narrow)) <= 80 < max(map(len, wide)) and len(wide) < len(narrow)
    assert max(map(len, on_terminal(50).splitlines())) <= 50


@pytest.mark.parametrize("command", [["encodings", "--search", "rotary"], ["encodings", "yarn"], ["show", "rope"], ["claims"], ["claims", "--rules"],
                                     ["explain", "llama-3.1.json"], ["help", "study"], ["lint", "--rules"]], ids=str)
def test_what_is_piped_is_as_wide_as_asked(command):
    def longest(columns):
        said = os.environ | ({"COLUMNS": columns} if columns else {"COLUMNS": ""})
        lines = gnomon(*command, cwd=EXAMPLES, env=said, check=0).stdout.splitlines()
        # but for addresses, examples to copy, and words that no line holds
        return max(len(line) for line in lines if "https://" not in line and "--" not in line and " " in line.strip() and "Usage" not in line)

    assert longest("50") <= 50 < longest("") <= 80 < longest("130") <= 130
    for nonsense in ("-3", "x", "0"):
        assert longest(nonsense) == longest("")


def test_the_head_of_a_finding_is_broken_between_words(tmp_path):
    """Wherever its place ends: 0 to 60 letters of a name move the bracket over the edge of the screen."""
    broken = json.dumps({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096,
                         "rope_scaling": {"rope_type": "yarn", "factor": 4.0}})
    shapes = set()
    for letters in range(1, 60):
        (tmp_path / ("c" * letters)).write_text(broken)
        lines = gnomon("lint", "c" * letters, cwd=tmp_path).stdout.splitlines()
        assert lines and all(len(line) <= 80 or "https://" in line for line in lines), letters
        (head,) = [n for n, line in enumerate(lines) if "[original-length-missing]" in line]
        shapes.add((lines[head].startswith("  "), lines[head].endswith("]")))
    assert shapes == {(False, True), (True, False)}  # beside the place, and below it


@pytest.mark.parametrize("dim, heads", [(7, 1), (6, 3), (10, 1), (12, 3), (64, 4), (18, 3), (9, 3)])
def test_heads_that_nobody_asked_for_divide_the_width(dim, heads):
    assert json.loads(gnomon("show", "sinusoidal", "--dim", dim, "--length", 8, "--json", check=0).stdout)["heads"] == heads


def test_heads_that_do_not_divide_the_width_are_refused():
    assert "--heads: found 4, which does not divide --dim 7" in gnomon("show", "sinusoidal", "--dim", "7", "--heads", "4", check=2).stderr
    assert "1 head," in gnomon("show", "sinusoidal", "--dim", "7", check=0).stdout


@pytest.mark.parametrize("command, meant", [
    (["bogus"], ""),
    (["studdy"], "study"),
    (["ENCODINGS"], "encodings"),
    (["help", "stduy"], "study"),
    (["help", "study", "stauts"], "status"),
    (["study", "staus"], "status"),
    (["study", "--dryrun"], "--dry-run"),
    (["study", "export", "--slrum"], "--slurm"),
    (["show", "RoPE"], "rope"),
    (["show", "rope(pairing=interleaved)"], "adjacent"),
    (["encodings", "rotary"], "rope"),
    (["encodings", "--acts", "logit"], "logits"),
    (["claims", "04-16"], "004-16"),
    (["lint", "--rule", "theta-twicee"], "theta-twice"),
    (["study", "--preset", "Smoke"], "smoke"),
    (["study", "--set", "study.sedes=1"], "study.seeds"),
    (["study", "--set", "study.data=Copy"], "copy"),
    (["explain", EXAMPLES / "llama-2.json", "--reader", "v6"], "v5"),
    (["extend", EXAMPLES / "llama-2.json", "--to", "9", "--way", "yran"], "yarn"),
], ids=str)
def test_a_wrong_word_is_answered_with_the_right_one(command, meant):
    said = gnomon(*command, check=2).stderr
    assert (f"did you mean '{meant}'" in said) == bool(meant), said
    assert said.startswith("gnomon: ") and said.count("\n") == 1 and len(said) < 400


def test_encodings_are_searched():
    def names(*arguments):
        return [e["name"] for e in json.loads(gnomon("encodings", "--json", *arguments, check=0).stdout)]

    rotary = names("--search", "rotary", "--extrapolates")
    assert {"yarn", "xpos", "llama3", "rerope"} <= set(rotary) and not {"rope", "alibi"} & set(rotary)
    assert {"t5", "kerple_log"} <= set(names("--acts", "logits", "--learned", "--relative"))
    assert "self_extend" in names("--acts", "qk", "--acts", "rows")
    assert "cope" in names("--causal-only") and "rope" not in names("--causal-only")
    assert names("--search", "xyzzy") == []
    assert f"0 of {len(names())} encodings" in gnomon("encodings", "--search", "xyzzy", check=0).stdout
    assert "takes no NAME" in gnomon("encodings", "rope", "--learned", check=2).stderr
    both = gnomon("encodings", "concat(learned)+[rope, none]", check=0).stdout
    assert "concat: " in both and "learned: " in both and "\nrope: " in both


def test_a_study_takes_a_number_of_seeds(text, tmp_path):
    def planned(*arguments):
        done = gnomon(*study_arguments(text, tmp_path / "out"), "--dry-run", "--json", *arguments, check=0)
        return json.loads(done.stdout)

    assert planned()["seeds"] == 2 and planned("--set", "study.seeds=3")["seeds"] == 3
    plain = gnomon("study", "--text", text, "--out", tmp_path / "out", "--seeds", "4", "--dry-run", "--json", check=0)
    assert json.loads(plain.stdout)["seeds"] == 4
    assert "study.seeds: found 0" in gnomon("study", "--text", text, "--seeds", "0", check=2).stderr


def test_a_plan_is_printed_as_json_alone(text, tmp_path):
    done = gnomon(*study_arguments(text, tmp_path / "out"), "--dry-run", "--json", check=0)
    plan = json.loads(done.stdout)
    assert plan["runs"] == 54 and plan["folder"] == str(tmp_path / "out")
    assert {arm["arm"] for arm in plan["arms"]} == ARMS and all(arm["parameters"] > 0 for arm in plan["arms"])
    parts = json.loads(gnomon("study", "--preset", "length-generalisation", "--dry-run", "--json", check=0).stdout)["parts"]
    assert len(parts) > 3 and all(part["name"] and part["runs"] for part in parts)
    assert not (tmp_path / "out").exists()


def test_a_folder_alone_means_the_study_that_is_in_it(study, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(study[0], out)
    done = gnomon("study", "--out", out, check=0)
    assert "continuing the study in" in done.stderr and "already finished: " in done.stderr
    assert (out / "results.csv").read_bytes() == (study[0] / "results.csv").read_bytes()
    assert "no text" in gnomon("study", "--out", tmp_path / "nothing", check=2).stderr


ARMS = {"none", "sinusoidal", "concat(sinusoidal)", "project(sinusoidal)", "add(learned, scale=off)", "rope", "alibi", "t5",
        "rope+alibi"}
LEARNED = "arm = 'add(learned, scale=off)'"


def test_a_study_leaves_its_folder(study):
    out, done = study
    assert {p.name for p in out.iterdir()} >= {"study.toml", "study.sqlite", "runs", "report.html", "results.csv", "results.json"}
    assert str(out / "report.html") in done.stdout
    assert all(arm in done.stdout for arm in ARMS)
    found = json.loads((out / "results.json").read_text())
    runs = found["planned"]
    assert found["finished"] == runs and found["failed"] == 0 and runs >= 9 * (2 * 2 + 2)
    assert len((out / "results.csv").read_text().splitlines()) == 1 + runs
    database = sqlite3.connect(out / "study.sqlite")
    assert database.execute("SELECT count(*), count(DISTINCT arm) FROM runs").fetchone() == (runs, 9)
    # A learned table has no value beyond its length: not defined, never clamped.
    count = "SELECT count(*) FROM by_length JOIN runs USING (key) WHERE by_length.nats IS NULL AND "
    assert database.execute(count + LEARNED).fetchone() == (6,)
    assert database.execute(f"{count} NOT {LEARNED}").fetchone() == (0,)


def test_results_say_how_each_rate_was_chosen_and_what_each_budget_gave(study):
    found = json.loads((study[0] / "results.json").read_text())
    assert {arm["arm"] for arm in found["arms"]} == ARMS
    assert 0 < found["tuning_flops"] < found["flops"]
    for arm in found["arms"]:
        tried = {r["learning_rate"]: sum(r["nats_per_byte"]) / len(r["nats_per_byte"]) for r in arm["rates"]}
        assert {0.002, 0.004} <= tried.keys()
        assert arm["learning_rate"] == min(tried, key=tried.get)
        inside = min(tried) < arm["learning_rate"] < max(tried)
        assert inside != arm["rate_at_edge"]
        small, large = arm["budgets"]
        assert large["tokens"] == 4 * small["tokens"] and large["flops"] == pytest.approx(4 * small["flops"])
        assert large["n"] == small["n"] == 2 and large["half_width_95"] > 0
        assert large["nats_per_byte"] == arm["nats_per_byte"]["mean"] < small["nats_per_byte"]
        assert all(run["learning_rate"] == arm["learning_rate"] and run["seed"] < 1000 for run in arm["runs"])


def test_its_models_are_read_by_the_safetensors_package(study):
    out, _ = study
    files = list(out.glob("runs/*/model.safetensors"))
    assert len(files) == json.loads((out / "results.json").read_text())["planned"]
    tensors = load_file(files[0])
    assert tensors["layers.0.attention.qkv.weight"].shape == (72, 24)
    assert all(numpy.isfinite(t).all() for t in tensors.values())
    assert not list(out.glob("runs/*/checkpoint*"))


def test_repeating_a_study_skips_what_is_finished_and_changes_nothing(study, text):
    out, _ = study
    before = {p: p.read_bytes() for p in (out / "results.json", out / "results.csv", out / "report.html")}
    done = gnomon(*study_arguments(text, out), check=0)
    runs = json.loads(before[out / "results.json"])["planned"]
    assert f"already finished: {runs} of {runs} runs" in done.stderr
    for path, content in before.items():
        assert path.read_bytes() == content, path


def test_a_study_in_its_folder_is_asked_written_again_and_joined(study, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(study[0], out)
    status = gnomon("study", "status", out, check=0).stdout
    assert all(arm in status for arm in ARMS) and "2 of 2" in status and "runs finished, 0 failed" in status
    assert json.loads(gnomon("study", "status", out, "--json", check=0).stdout) == json.loads((out / "results.json").read_text())
    csv = (out / "results.csv").read_bytes()
    for name in ("study.sqlite", "results.csv", "results.json", "report.html"):
        (out / name).unlink()
    gnomon("study", "report", out, check=0)
    assert (out / "results.csv").read_bytes() == csv and (out / "report.html").exists()
    assert sqlite3.connect(out / "study.sqlite").execute("SELECT count(*) FROM runs").fetchone()[0] == len(csv.splitlines()) - 1
    # Two runs are taken away; one is done by who joins, the other by who goes on. Not of those that tune: who joins ends such a
    # search as well, beyond --most.
    lost = [run for run in sorted(out.glob("runs/*")) if json.loads((run / "result.json").read_text())["seed"] < 1000][:2]
    for run in lost:
        shutil.rmtree(run)
    joined = gnomon("study", "work", out, "--most", "1", check=0)
    assert "1 run done" in joined.stderr and sum(run.exists() for run in lost) == 1
    gnomon("study", "work", out, check=0)
    assert all((run / "result.json").exists() for run in lost)
    assert "no study" in gnomon("study", "work", tmp_path / "nowhere", check=2).stderr


def test_a_trained_model_writes(study):
    def wrote(*arguments, check=0):
        return gnomon("sample", "--study", study[0], "--arm", "rope", *arguments, check=check)

    first = wrote("--bytes", 40, "--prompt", "the cat ")
    assert first.stdout.startswith("the cat ") and "nats per byte" in first.stderr
    assert wrote("--bytes", 40, "--prompt", "the cat ").stdout == first.stdout
    assert wrote("--bytes", 40, "--prompt", "the cat ", "--seed", 2).stdout != first.stdout
    greedy = json.loads(wrote("--json", "--temperature", 0, "--bytes", 20).stdout)
    assert greedy["prompt"] == "In the beginning " and len(greedy["written"]) > 0
    assert "unknown arm 'cope': " in gnomon("sample", "--study", study[0], "--arm", "cope", check=2).stderr
    assert "no finished run with seed 99, finished are: " in wrote("--run-seed", 99, check=2).stderr
    assert "the length of the prompt is 0" in wrote("--prompt", "", check=2).stderr
    assert "temperature is -1" in wrote("--temperature", -1, check=2).stderr
    assert "not the folder of a study" in gnomon("sample", "--study", study[0] / "nowhere", check=3).stderr


def test_a_terminal_is_not_told_what_a_model_writes(study):
    wild = ["sample", "--study", study[0], "--arm", "rope", "--temperature", 1000, "--bytes", 4000, "--prompt", "a\tb\n"]  # any byte
    piped = gnomon(*wild, check=0, text=False).stdout
    assert b"\x1b" in piped and b"\x07" in piped
    command = " ".join(shlex.quote(str(part)) for part in (GNOMON, *wild))
    shown = subprocess.run(["script", "-qec", command + " 2>/dev/null", "/dev/null"], capture_output=True, stdin=subprocess.DEVNULL).stdout
    assert {byte for byte in shown if byte < 0x20 or byte == 0x7F} <= set(b"\r\n\t")
    assert not any(0x80 <= ord(c) < 0xA0 for c in shown.decode()) and "\\x1b" in shown.decode()
    assert shown.startswith(b"a\tb\r\n") and b"\r" not in shown.replace(b"\r\n", b"")


def test_a_model_of_symbols_writes_text_and_one_of_ids_says_that_it_cannot(text, tmp_path):
    settings = ["study.arms=rope", "study.baseline=rope", "study.seeds=1"]
    gnomon(*study_arguments(text, tmp_path / "s", *settings, "study.data=symbols", "model.vocabulary=270"), check=0)
    arguments = ["sample", "--study", tmp_path / "s", "--prompt", "the cat sat ", "--bytes", "40", "--json"]
    found = json.loads(gnomon(*arguments, check=0).stdout)
    assert len(found["written"].encode()) >= 40 and found == json.loads(gnomon(*arguments, check=0).stdout)
    ids = tmp_path / "ids.bin"
    ids.write_bytes(b"".join((i * i % 50).to_bytes(2, "little") for i in range(40000)))
    gnomon(*study_arguments(ids, tmp_path / "i", *settings, "study.data=ids16", "model.vocabulary=50"), check=0)
    assert "token ids" in gnomon("sample", "--study", tmp_path / "i", "--prompt", "x", check=2).stderr


def test_arms_of_every_kind_run_to_a_report(text, tmp_path):
    arms = "rope_learned, fox, [rope+window(size=4), fire], deberta, sinusoidal+shape, gate(learned), queries_keys(sinusoidal)"
    done = gnomon(*study_arguments(text, tmp_path / "out", f"study.arms={arms}", "study.baseline=fox", "study.seeds=1",
                                   "train.drop=0.9"), check=0)
    assert "[rope+window(size=4), fire]" in done.stdout and "nan" not in done.stdout.lower()
    html = (tmp_path / "out" / "report.html").read_text()
    assert "hands of the clock" in html and "Which keys a query sees" in html


def test_dry_run_prints_the_plan_and_runs_nothing(text, tmp_path):
    done = gnomon(*study_arguments(text, tmp_path / "out"), "--dry-run", check=0)
    for word in ("parameters", "TFLOP", "memory", "disk", "at least 54 runs", "project(sinusoidal)"):
        assert word in done.stdout
    assert not (tmp_path / "out").exists()


def test_one_seed_means_no_inference(text, tmp_path):
    done = gnomon(*study_arguments(text, tmp_path / "out", "study.seeds=1", "study.arms=none, sinusoidal"), check=0)
    assert "no inference" in done.stdout
    assert "no inference" in (tmp_path / "out" / "report.html").read_text()


def test_configuration_files_and_their_errors(text, tmp_path):
    config = tmp_path / "s.toml"
    config.write_text('[study]\narms = ["none", "rope"]\nbaseline = "none"\n[train]\nstep = 3\n')
    done = gnomon("study", config, "--text", text, check=2)
    assert "s.toml, line 5" in done.stderr and "did you mean 'train.steps'?" in done.stderr
    config.write_text('[study]\narms = ["none", "rope"]\nbaseline = "none"\n')
    gnomon("study", config, *study_arguments(text, tmp_path / "out")[1:], check=0)
    assert gnomon("study", tmp_path / "missing.toml", "--text", text).returncode == 4


@pytest.mark.parametrize("content, part, code", [
    (None, "cannot open", 4),
    (b"", "0 bytes", 3),
    (b"x", "1 bytes", 3),
    (b"x" * 600, "need at least 2010", 3),
    (b"good\nbad \xff text" * 100, "byte 9 (line 2, byte 5 of it): found 0xFF", 3),
    (b"a\0b" * 500, "NUL", 3),
])
def test_texts_that_cannot_be_are_refused(tmp_path, content, part, code):
    path = tmp_path / "t.txt"
    if content is not None:
        path.write_bytes(content)
    done = gnomon(*study_arguments(path, tmp_path / "out"), check=code)
    assert part in done.stderr and "t.txt" in done.stderr
    assert not (tmp_path / "out").exists()


def test_windows_line_ends_are_read_as_lf_and_told(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"one line\r\n" * 300)
    done = gnomon(*study_arguments(path, tmp_path / "out", "study.arms=none, sinusoidal"), check=0)
    assert "300 Windows line ends (CRLF) were read as LF" in done.stderr
    assert "CRLF" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("setting, part", [
    ("model.heads=-1", "model.heads: found -1"),
    ("model.heads=5", "not divisible"),
    ("model.length=0", "model.length: found 0"),
    ("model.length=1", "model.length: found 1"),
    ("study.seeds=0", "study.seeds: found 0"),
    ("train.learning_rate=nan", "learning_rate: found nan"),
    ("train.speed=1", "unknown key 'train.speed'"),
    ("study.arms=sinusoidal, rop", "did you mean 'rope'?"),
    ("study.arms=sinusoidal, rope(theta=-1)", "allowed is a number"),
    ("model.width", "expected key=value"),
])
def test_settings_that_cannot_be_are_refused(text, tmp_path, setting, part):
    done = gnomon(*study_arguments(text, tmp_path / "out", setting), check=2)
    assert part in done.stderr
    assert not (tmp_path / "out").exists()


def test_only_what_starts_workers_needs_proc(tmp_path, text):
    hidden = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces here")

    def run(*arguments):
        return subprocess.run([*hidden, GNOMON, *map(str, arguments)], capture_output=True, text=True, env=os.environ | {"LD_LIBRARY_PATH": str(GNOMON.parent)})

    assert run("show", "alibi", "--heads", 4).returncode == 0
    refused = run("study", "--text", text, "--preset", "smoke", "--out", tmp_path / "study", "--quiet")
    assert refused.returncode == 4 and "is /proc mounted?" in refused.stderr

"""`gnomon lint` as a gate before models are published: many files, levels, exceptions, SARIF, pre-commit and the action for GitHub."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import jsonschema
import pytest
import yaml

from conftest import GNOMON, ROOT, gnomon

GOOD = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096,
        "rope_theta": 10000}
WRONG = GOOD | {"rope_scaling": {"rope_type": "no-such", "factor": 2.0}}  # an error
DOUBTFUL = GOOD | {"rope_parameters": {"rope_type": "default", "rope_theta": 20000}}  # a warning
SARIF = json.loads((ROOT / "tests/golden/sarif/sarif-schema-2.1.0.json").read_text())
BIN = pathlib.Path(sys.executable).parent  # of pre-commit


def models(folder, **configs):
    for name, config in configs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text(config if isinstance(config, str) else json.dumps(config, indent=2))
    return folder


def linted(*arguments, **options):
    return json.loads(gnomon("lint", *arguments, "--json", **options).stdout)


def rules(found):
    return [(f["file"], f["rule"]) for f in found["findings"]]


def test_a_pattern_that_no_shell_has_read_is_read(tmp_path):
    models(tmp_path, m1=GOOD, m2=WRONG, other=WRONG)
    (tmp_path / "m[x]").mkdir()
    (tmp_path / "m[x]" / "config.json").write_text(json.dumps(WRONG))
    assert [f["file"] for f in linted("m?/config.json", cwd=tmp_path, check=1)["files"]] == ["m1/config.json", "m2/config.json"]
    assert [f["file"] for f in linted("m*", cwd=tmp_path, check=1)["files"]] == ["m1/config.json", "m2/config.json", "m[x]/config.json"]
    assert [f["file"] for f in linted("m[x]", cwd=tmp_path, check=1)["files"]] == ["m[x]/config.json"]  # a path that exists is itself
    assert "no file or folder has such a name" in gnomon("lint", "n*/config.json", cwd=tmp_path, check=4).stderr


def test_versions_choose_the_faults_that_are_told(tmp_path):
    sections = {"type": "mrope", "mrope_section": [16, 24, 24]}
    written = {"model_type": "qwen2_5_vl", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2, "max_position_embeddings": 32768,
               "rope_theta": 1000000.0, "rope_scaling": sections}
    models(tmp_path, unknown=written, old=written | {"transformers_version": "5.4.0"}, fixed=written | {"transformers_version": "5.5.4"})
    fault = "qwen-vl-images-as-videos"

    def told(*options):
        return [file.split("/")[0] for file, rule in rules(linted("unknown", "old", "fixed", *options, cwd=tmp_path)) if rule == fault]

    assert told() == ["old"]
    assert told("--transformers", "5.4.0") == ["unknown", "old", "fixed"]
    assert told("--transformers", "5.5.4") == []
    config = json.dumps(GOOD | {"model_type": "bailing_moe", "rope_theta": 600000, "partial_rotary_factor": 0.5})
    for version, says in (("0.22.1", True), ("0.23.0", False)):
        found = linted("-", "--vllm", version, input=config)
        assert ("bailing-turns-whole-heads" in [rule for _, rule in rules(found)]) == says
    for option in ("--transformers", "--vllm"):
        assert "found the version" in gnomon("lint", "old", option, "v5", cwd=tmp_path, check=2).stderr


def test_many_paths_are_one_answer(tmp_path):
    models(tmp_path, good=GOOD, wrong=WRONG, doubtful=DOUBTFUL)
    found = linted("good", "wrong/config.json", "doubtful", check=1, cwd=tmp_path)
    assert [f["file"] for f in found["files"]] == ["good/config.json", "wrong/config.json", "doubtful/config.json"]
    assert [f["family"] for f in found["files"]] == ["llama"] * 3
    assert ("wrong/config.json", "scaling-type-unknown") in rules(found) and ("doubtful/config.json", "theta-twice") in rules(found)
    assert not any(file.startswith("good") for file, _ in rules(found))
    assert found["errors"] == 1 and found["warnings"] >= 1 and not found["excepted"] and not found["stale_exceptions"]
    told = gnomon("lint", ".", check=1, cwd=tmp_path).stdout
    assert "3 files: 1 error, " in told and "[scaling-type-unknown]" in told and told.index("doubtful/") < told.index("wrong/")


@pytest.mark.parametrize("name, config, codes", [("good", GOOD, (0, 0, 0)), ("doubtful", DOUBTFUL, (0, 1, 1)), ("wrong", WRONG, (1, 1, 1))])
def test_the_level_that_fails(name, config, codes, tmp_path):
    models(tmp_path, **{name: config})
    for level, code in zip(("error", "warning", "note"), codes):
        gnomon("lint", tmp_path / name, "--fail-on", level, check=code)
    assert "did you mean 'warning'" in gnomon("lint", tmp_path / name, "--fail-on", "warnings", check=2).stderr


def test_a_malformed_file_is_a_finding_with_its_place(tmp_path):
    models(tmp_path, good=GOOD, broken='{\n  "model_type": "llama",\n  "hidden_size": 64,\n}\n')
    found = linted(".", check=1, cwd=tmp_path)
    (one,) = found["findings"]
    assert (one["file"], one["rule"], one["line"], one["column"]) == ("broken/config.json", "file-unreadable", 4, 1)
    assert "broken/config.json, line 4, column 1: " in gnomon("lint", ".", check=1, cwd=tmp_path).stdout


def test_standard_input_is_a_file(tmp_path):
    done = gnomon("lint", "-", input=json.dumps(WRONG), check=1, cwd=tmp_path)
    assert "[scaling-type-unknown]" in done.stdout and done.stdout.startswith("error: -, line 1:")
    assert "nothing found" in gnomon("lint", "-", input=json.dumps(GOOD), check=0, cwd=tmp_path).stdout
    assert linted("-", input="{", check=1, cwd=tmp_path)["findings"][0]["rule"] == "file-unreadable"


def test_paths_without_a_model(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "no config.json" in gnomon("lint", "empty", check=4, cwd=tmp_path).stderr
    assert "no such file" in gnomon("lint", "none", check=4, cwd=tmp_path).stderr
    (tmp_path / "tokenizer.json").write_text("{}")
    assert "0 files" in gnomon("lint", "tokenizer.json", check=0, cwd=tmp_path).stdout
    assert linted("tokenizer.json", check=0, cwd=tmp_path)["passed_over"] == ["tokenizer.json"]


def test_a_baseline_is_kept_until_a_finding_changes(tmp_path):
    models(tmp_path, wrong=WRONG, doubtful=DOUBTFUL)
    assert "entries added" in gnomon("lint", ".", "--write-baseline", check=0, cwd=tmp_path).stderr
    written = json.loads((tmp_path / ".gnomon-lint.json").read_text())
    assert all(e["reason"].startswith("baseline: ") and e["state"] and not pathlib.Path(e["path"]).is_absolute() for e in written["exceptions"])
    found = linted(".", "--fail-on", "note", check=0, cwd=tmp_path)
    assert not found["findings"] and len(found["excepted"]) == len(written["exceptions"]) and all(e["reason"] for e in found["excepted"])
    assert "are excepted" in gnomon("lint", ".", check=0, cwd=tmp_path).stdout
    models(tmp_path, new=WRONG)
    assert {file for file, _ in rules(linted(".", check=1, cwd=tmp_path))} == {"new/config.json"}
    (tmp_path / "wrong/config.json").write_text(json.dumps(WRONG | {"rope_scaling": {"rope_type": "neither", "factor": 2.0}}))
    found = linted("wrong", check=1, cwd=tmp_path)
    assert ("wrong/config.json", "scaling-type-unknown") in rules(found)
    assert ("scaling-type-unknown", "wrong/config.json") in [(e["rule"], e["path"]) for e in found["stale_exceptions"]]


def test_an_entry_needs_a_reason_and_a_stale_one_is_a_note(tmp_path):
    models(tmp_path, good=GOOD, wrong=WRONG)
    exceptions = tmp_path / ".gnomon-lint.json"
    entry = {"rule": "scaling-type-unknown", "path": "wrong", "reason": "our own class reads it"}
    exceptions.write_text(json.dumps({"exceptions": [entry]}))
    gnomon("lint", ".", check=0, cwd=tmp_path)
    assert linted("wrong", check=0, cwd=tmp_path)["excepted"][0]["reason"] == entry["reason"]
    exceptions.write_text(json.dumps({"exceptions": [entry, entry | {"rule": "theta-twice", "path": "good"}]}, indent=1))
    told = gnomon("lint", ".", check=0, cwd=tmp_path).stdout
    assert ".gnomon-lint.json, line 8: " in told.replace("\n  ", " ") and "excepts nothing any more" in " ".join(told.split())
    gnomon("lint", ".", "--fail-on", "note", check=1, cwd=tmp_path)
    del entry["reason"]
    exceptions.write_text(json.dumps({"exceptions": [entry]}))
    assert "reason is missing" in gnomon("lint", ".", check=3, cwd=tmp_path).stderr
    other = tmp_path / "accepted.json"
    other.write_text(json.dumps({"exceptions": [entry | {"reason": "named on the command line"}]}))
    gnomon("lint", "wrong", "--exceptions", other, check=0, cwd=tmp_path)


def test_sarif_is_valid_and_relative(tmp_path):
    models(tmp_path, good=GOOD, wrong=WRONG, broken="{")
    (tmp_path / ".gnomon-lint.json").write_text(json.dumps({"exceptions": [{"rule": "theta-twice", "path": "good", "reason": "gone"}]}))
    validator = jsonschema.Draft4Validator(SARIF)
    for where, paths in ((tmp_path, ["."]), (tmp_path, [tmp_path]), (tmp_path / "wrong", ["../broken/config.json", "config.json"])):
        log = json.loads(gnomon("lint", *paths, "--sarif", check=1, cwd=where).stdout)
        assert not list(validator.iter_errors(log))
        uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in log["runs"][0]["results"]}
        inside = {"wrong/config.json", "broken/config.json"} if where == tmp_path else {"config.json"}
        assert inside <= uris and all(uri in inside or uri.startswith("file:///") for uri in uris)
    broken = [r for r in log["runs"][0]["results"] if r["ruleId"] == "file-unreadable"]
    assert broken[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 2}
    del log["runs"][0]["tool"]["driver"]["name"]  # the control
    assert list(validator.iter_errors(log))


# --- pre-commit and GitHub

@pytest.fixture
def repository(tmp_path):
    """A repository with this project's hook, as a user has it who installed the package: `gnomon` is on the path."""
    folder = tmp_path / "repository"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{BIN}:{os.environ['PATH']}", "PRE_COMMIT_HOME": str(tmp_path / "cache"),
                                "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gnomon").symlink_to(GNOMON)

    def run(*command, check=True, cwd=folder):
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def commit(cwd):
        run("git", "init", "-q", cwd=cwd)
        run("git", "add", "-A", cwd=cwd)
        run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all", cwd=cwd)
    commit(hooks)
    folder.mkdir()
    revision = run("git", "rev-parse", "HEAD", cwd=hooks).stdout.strip()
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(
        {"repos": [{"repo": str(hooks), "rev": revision, "hooks": [{"id": "gnomon-lint"}]}]}))
    models(folder, **{"models/good": GOOD})
    (folder / "models/good/generation_config.json").write_text("{}")
    (folder / "package.json").write_text("{}")
    commit(folder)
    return folder, run


def test_the_hook_passes_good_models_and_stops_broken_ones(repository):
    folder, run = repository
    run("pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml")
    done = run("pre-commit", "run", "--all-files")
    assert "Passed" in done.stdout, done.stdout
    models(folder, **{"models/wrong": WRONG})
    run("git", "add", "-A")
    done = run("pre-commit", "run", check=False)
    assert done.returncode == 1 and "models/wrong/config.json" in done.stdout and "[scaling-type-unknown]" in done.stdout
    run("gnomon", "lint", ".", "--write-baseline")
    run("git", "add", "-A")
    assert "Passed" in run("pre-commit", "run", "--all-files").stdout
    (folder / "README.md").write_text("nothing about models")
    run("git", "add", "README.md")
    assert "no files to check" in run("pre-commit", "run").stdout or "Passed" in run("pre-commit", "run").stdout


def steps(inputs):
    """The steps of action.yml that a shell runs, with the environment that GitHub would make of these inputs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    given = {name: str(inputs.get(name, value.get("default", ""))) for name, value in action["inputs"].items()}
    assert inputs.keys() <= given.keys()
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        assert step["shell"] == "bash" and "${{" not in step["run"], "an input in a script can be a command"
        environment = step.get("env", {})
        for name, value in given.items():
            environment = {key: x.replace("${{ inputs." + name + " }}", value) for key, x in environment.items()}
        yield step, environment


def act(folder, run_environment, **inputs):
    """Runs the action as GitHub does: bash with -e and pipefail, until a step fails. What installs is left out here."""
    for step, environment in steps(inputs):
        if "pip install" in step["run"]:
            continue
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=folder, capture_output=True, text=True,
                              env=run_environment | environment)
        if done.returncode:
            return done
    return done


def test_the_action_fails_on_a_broken_model_and_writes_sarif(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gnomon").symlink_to(GNOMON)
    output = tmp_path / "output"
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(output)}
    folder = models(tmp_path / "repository", **{"a model": GOOD, "doubtful": DOUBTFUL})
    assert act(folder, environment).returncode == 0
    done = act(folder, environment, **{"fail-on": "warning", "paths": "doubtful\na model", "sarif": "lint.sarif"})
    assert done.returncode == 1 and "[theta-twice]" in done.stdout
    log = json.loads((folder / "lint.sarif").read_text())
    assert not list(jsonschema.Draft4Validator(SARIF).iter_errors(log)) and log["runs"][0]["results"]
    assert "sarif=lint.sarif" in output.read_text()
    assert act(folder, environment, paths="none").returncode == 4
    assert act(folder, environment, paths="$(touch stolen)").returncode == 4 and not (folder / "stolen").exists()


def test_the_action_is_what_github_takes():
    checked = subprocess.run([BIN / "check-jsonschema", "--builtin-schema", "vendor.github-actions", ROOT / "action.yml"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def blocks_of_docs(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", (ROOT / "docs/models.md").read_text(), re.M | re.S)


def test_docs_show_hooks_inputs_and_exceptions_that_there_are(tmp_path):
    hook, workflow = (yaml.safe_load(block) for block in blocks_of_docs("yaml"))
    known = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {h["id"] for repo in hook["repos"] for h in repo["hooks"]} <= known
    (ours,) = [step for step in workflow["steps"] if "gnomon@" in step["uses"]]
    (upload,) = [step for step in workflow["steps"] if "upload-sarif" in step["uses"]]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert ours["with"].keys() <= inputs.keys() and upload["with"]["sarif_file"] == inputs["sarif"]["default"]
    models(tmp_path, **{"models/gemma-3": GOOD, "models/old": DOUBTFUL})
    (exceptions,) = blocks_of_docs("json")
    (tmp_path / ".gnomon-lint.json").write_text(exceptions)
    assert "theta-twice" not in [rule for _, rule in rules(linted("models/old", check=0, cwd=tmp_path))]


def test_fix_shows_a_diff_that_git_applies_and_write_writes_it(tmp_path):
    smollm = {"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536}
    models(tmp_path, first=smollm, second=WRONG, third=GOOD | {"note": "\u202e"})
    before = {path: path.read_text() for path in tmp_path.rglob("config.json")}
    shown = gnomon("lint", ".", "--fix", cwd=tmp_path, check=1)  # `second` has an error that is told in words
    assert {path: path.read_text() for path in before} == before
    assert "would fix: " in shown.stderr and "--write" in shown.stderr
    assert subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=shown.stdout, text=True).returncode == 0
    applied = {path: path.read_text() for path in before}
    for path, text in before.items():
        path.write_text(text)
    written = gnomon("lint", ".", "--fix", "--write", cwd=tmp_path, check=1)
    assert written.stdout == shown.stdout and "fixed: " in written.stderr
    assert {path: path.read_text() for path in before} == applied
    assert json.loads((tmp_path / "first/config.json").read_text()) == smollm | {"rope_theta": 2000000}
    assert "theta-of-class" not in [rule for _, rule in rules(linted("first", cwd=tmp_path))]
    assert (tmp_path / "second/config.json").read_text() == before[tmp_path / "second/config.json"]
    assert gnomon("lint", "first", "--fix", cwd=tmp_path, check=0).stdout == ""
    assert "standard input" in gnomon("lint", "-", "--fix", "--write", input="{}", check=2).stderr
    assert gnomon("lint", "--write", check=2).stderr

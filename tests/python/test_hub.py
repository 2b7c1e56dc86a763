"""Models by their names: the cache of huggingface_hub, which that library itself wrote, read without a network."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

os.environ.update(HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_PROGRESS_BARS="1", HF_HUB_DISABLE_TELEMETRY="1")
import huggingface_hub  # noqa: E402
from conftest import ROOT, gnomon, tiny_bert
from hub_server import COMMITS, Hub
from huggingface_hub.utils import HFValidationError, validate_repo_id

CONFIG = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096, "vocab_size": 1000,
          "intermediate_size": 1024}
NAME = "some-org/Tiny_Llama-1.1"
REVISIONS = {"main": COMMITS[0], "v1.0": COMMITS[1], "refs/pr/7": COMMITS[2]}
OURS = [name for name in os.environ if name.startswith(("HF_", "HUGGING", "XDG_", "TRANSFORMERS_", "SSL_CERT", "CURL_CA"))]


def config(theta):
    return json.dumps(CONFIG | {"rope_theta": theta}).encode()


def bare(**variables):
    """The environment without what chooses a cache or certificates, and these variables."""
    return {name: value for name, value in os.environ.items() if name not in OURS} | {name: str(value) for name, value in variables.items()}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache with three revisions of one model, as huggingface_hub fetched them."""
    folder = tmp_path_factory.mktemp("cache")
    hub = Hub(NAME, {commit: {"config.json": config(10.0 ** (n + 3)), "sub/config.json": config(5.0)} for n, commit in enumerate(COMMITS)}, REVISIONS)
    for revision in REVISIONS:
        huggingface_hub.hf_hub_download(NAME, "config.json", revision=revision, cache_dir=folder, endpoint=hub.urls[0])
    huggingface_hub.hf_hub_download(NAME, "sub/config.json", cache_dir=folder, endpoint=hub.urls[0])
    hub.close()
    return folder


def explained(name, cache, **options):
    done = gnomon("explain", name, "--json", env=bare(HF_HUB_CACHE=cache), **options)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("revision", [None, *REVISIONS, *COMMITS])
def test_each_revision_is_found_where_the_client_finds_it(cache, revision):
    name = NAME if revision is None else f"{NAME}@{revision}"
    expected = huggingface_hub.try_to_load_from_cache(NAME, "config.json", cache_dir=cache, revision=revision)
    found = explained(name, cache)
    assert found["file"] == expected
    assert found["layers"][0]["spec"] == explained(expected, cache)["layers"][0]["spec"]


def test_a_file_of_the_repository_can_be_named(cache):
    for file in ("config.json", "sub/config.json"):
        assert explained(f"{NAME}/{file}", cache)["file"] == huggingface_hub.try_to_load_from_cache(NAME, file, cache_dir=cache)
    assert explained(f"{NAME}/config.json@v1.0", cache)["file"].endswith(f"{COMMITS[1]}/config.json")
    assert explained(f"{NAME}/sub", cache)["file"].endswith("sub/config.json")


@pytest.mark.parametrize("revision, lacks", [("v2", f"revision v2 of this model; it has {', '.join(sorted(COMMITS))}"), (COMMITS[0][:7], "does not have revision"),
                                             ("v1", "does not have revision"), (COMMITS[0].upper(), "does not have revision")])
def test_a_revision_that_the_client_does_not_find_is_not_found(cache, revision, lacks):
    assert huggingface_hub.try_to_load_from_cache(NAME, "config.json", cache_dir=cache, revision=revision) is None
    assert lacks in explained(f"{NAME}@{revision}", cache)


def test_every_model_that_the_client_lists_is_found(cache):
    listed = huggingface_hub.scan_cache_dir(cache)
    assert not listed.warnings
    for repo in listed.repos:
        for revision in repo.revisions:
            found = explained(f"{repo.repo_id}@{revision.commit_hash}", cache)
            assert found["file"] == str(pathlib.Path(str(revision.snapshot_path).replace(str(cache.resolve()), str(cache))) / "config.json")


def test_all_commands_take_a_name(cache, text):
    env = bare(HF_HUB_CACHE=cache)
    path = huggingface_hub.try_to_load_from_cache(NAME, "config.json", cache_dir=cache)
    for words in (["explain", NAME, NAME + "@v1.0", "--json"], ["lint", NAME, "--json"], ["extend", NAME, "--to", "4x", "--json"]):
        as_paths = [path if word == NAME else path.replace(COMMITS[0], COMMITS[1]) if word.startswith(NAME) else word for word in words]
        if words[0] == "lint":  # every model of the snapshot
            as_paths[1] = str(pathlib.Path(path).parent)
        code = 1 if words[0] == "explain" else 0  # the two revisions differ
        named, pathed = (gnomon(*w, env=env, check=code) for w in (words, as_paths))
        assert named.stdout == pathed.stdout
    done = gnomon("study", "--text", text, "--set", f"model.block={NAME}", "--dry-run", env=env, check=0)
    assert "has the block llama" in done.stderr


def test_a_whole_model_is_inspected_by_its_name(tmp_path, text):
    folder = tiny_bert(tmp_path / "bert")
    snapshot = tmp_path / "cache/models--org--bert/snapshots" / COMMITS[0]
    shutil.copytree(folder, snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs/main").write_text(COMMITS[0])
    env = bare(HF_HUB_CACHE=tmp_path / "cache")
    for words in (["inspect", "{}", "--text", text, "--quiet", "--json"], ["claims", "--model", "{}", "--text", text, "--quiet", "--json"]):
        named, pathed = (gnomon(*(str(w).format(model) for w in words), env=env, check=0).stdout for model in ("org/bert", folder))
        assert json.loads(named) == json.loads(pathed.replace(json.dumps(str(folder)), '"org/bert"'))


def test_a_path_comes_before_a_name(cache, tmp_path):
    folder = tmp_path / NAME
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(config(123.0))
    assert explained(NAME, cache, cwd=tmp_path)["file"] == f"{NAME}/config.json"


# What the client makes of its environment decides. HOME is always set; "~" and "$" are expanded, variables set to nothing count.
ENVIRONMENTS = [
    {}, {"XDG_CACHE_HOME": "/x"}, {"HF_HOME": "/h"}, {"HF_HOME": "/h", "XDG_CACHE_HOME": "/x"}, {"HUGGINGFACE_HUB_CACHE": "/old"},
    {"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/h"}, {"HF_HUB_CACHE": "/new", "HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/h", "XDG_CACHE_HOME": "/x"},
    {"HF_HUB_CACHE": "~/c"}, {"HF_HOME": "~"}, {"HF_HOME": "~nobody-here/c"}, {"HF_HOME": "~root/c"}, {"HF_HOME": "$HOME/a/${HOME}/b"},
    {"HF_HUB_CACHE": "$NOTHING/${NO THING}/$/${"}, {"XDG_CACHE_HOME": "$HOME/x"}, {"XDG_CACHE_HOME": "~/x"}, {"HF_HUB_CACHE": ""}, {"HF_HOME": ""},
    {"XDG_CACHE_HOME": ""}, {"HF_HUB_CACHE": "relative/c"}, {"TRANSFORMERS_CACHE": "/t"}, {"HOME": "/"}, {"HOME": "/h/", "HF_HOME": "~"},
]
ORACLE = """
import importlib, json, os, sys
import huggingface_hub.constants as constants
for variables in json.load(sys.stdin):
    os.environ.clear()
    os.environ.update(variables)
    importlib.reload(constants)
    print(json.dumps(constants.HF_HUB_CACHE))
"""


def test_the_cache_is_that_of_the_client():
    all_of_them = [{"HOME": "/home/somebody", **variables} for variables in ENVIRONMENTS]
    done = subprocess.run([sys.executable, "-c", ORACLE], input=json.dumps(all_of_them), capture_output=True, text=True, check=True)
    expected = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(expected) == len(all_of_them) and len(set(expected)) > 12
    for variables, cache in zip(all_of_them, expected):
        done = gnomon("explain", "no-org/no-model", env=bare(**variables), check=4)
        assert f"the cache {cache} does not have this model" in done.stderr, variables


def is_valid(name):
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


NAMES = ["a/b", "a", "A-b_c.d/e.F-g_h", "0/1", "a/" + "b" * 96, "a/" + "b" * 97, "b" * 97, "-a/b", "a-/b", ".a/b", "a./b", "a/-b", "a/b-", "a/.b", "a/b.", "_a/b_",
         "a--b/c", "a/b--c", "a..b/c", "a/b..c", "a/b.git", "a.git/b", "a//b", "/a", "a/", "", " a/b", "a /b", "a/b c", "ä/b", "a/文", "a\\b", "a/b:c", "a/b?c",
         "a/b#c", "a/%2e%2e", "../a", "a/..", "./a", "~/a", "a/b\n", "a~b/c", "a*/b"]


def test_a_name_is_what_the_client_allows():
    for name in NAMES:
        said = gnomon("explain", "--json", name, env=bare(HF_HUB_CACHE="/nowhere/c")).stderr
        named = "the cache /nowhere/c does not have this model" in said
        assert named == (is_valid(name) and not name.endswith("\n")), (name, said)


@pytest.mark.parametrize("name", ["a/b/../../c", "a/b/./c", "a/b//c", "a/b/c\\d", "a/b@../../x", "a/b@", "a/b@x//y", "a/b@/x", "a/b/" + "c" * 300, "a/b/c\x01", "a/b@" + "x/" * 600])
def test_nothing_outside_of_a_snapshot_can_be_named(name, tmp_path):
    said = gnomon("explain", name, env=bare(HF_HUB_CACHE=tmp_path)).stderr
    assert "cache" not in said and said.count("\n") == 1


def test_a_reference_leads_nowhere_else(tmp_path):
    repo = tmp_path / "models--a--b"
    (repo / "refs").mkdir(parents=True)
    (repo / "snapshots").mkdir()
    (tmp_path / "config.json").write_bytes(config(7.0))
    for commit in ("../..", "..", ".", "", "/" + str(tmp_path), "\0", COMMITS[0] + "\n", "x" * 5000):
        (repo / "refs/main").write_text(commit)
        assert "does not have revision main" in explained("a/b", tmp_path), commit


def test_gguf_files(tmp_path):
    snapshot = tmp_path / "models--org--gguf/snapshots" / COMMITS[0]
    (snapshot.parents[1] / "refs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs/main").write_text(COMMITS[0])
    model = ROOT / "tests/golden/opened/gguf_llama"
    (file,) = model.glob("*.gguf") if model.is_dir() else [model.with_suffix(".gguf")]
    assert "has neither a config.json nor a GGUF file" in explained("org/gguf", tmp_path)
    shutil.copy(file, snapshot / "one.gguf")
    assert explained("org/gguf", tmp_path)["file"] == str(snapshot / "one.gguf")
    shutil.copy(file, snapshot / "two.gguf")
    assert "has 2 GGUF files; name one, such as org/gguf/one.gguf" in explained("org/gguf", tmp_path)
    assert explained("org/gguf/two.gguf", tmp_path)["file"] == str(snapshot / "two.gguf")


def test_a_model_that_is_not_there(tmp_path):
    done = gnomon("explain", "org/absent", env=bare(HF_HUB_CACHE=tmp_path / "c"), check=4)
    assert done.stderr == (f"gnomon: org/absent: there is no such file or folder, and the cache {tmp_path}/c does not have this model. Fetch it with `gnomon explain "
                           "--download org/absent`, or with `hf download org/absent`. HF_HUB_CACHE or HF_HOME names another cache.\n")
    assert "cannot open" in gnomon("explain", "folder/config.json", check=4).stderr  # a mistyped path is told as one


def test_a_file_that_a_folder_here_lacks_is_no_name(tmp_path):
    (tmp_path / "models").mkdir()
    done = gnomon("explain", "models/missing", cwd=tmp_path, env=bare(HF_HUB_CACHE=tmp_path / "cache"))
    assert done.returncode == 4 and "cannot open" in done.stderr and "download" not in done.stderr

"""`--download`, against a server on this machine: what is fetched, where it goes, what is refused; and that nothing else asks a network."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import time

import numpy
import pytest
from conftest import ROOT, gnomon, tiny_bert
from hub_server import COMMITS, Hub, certificate, git_digest
from safetensors.numpy import save
from test_hub import bare

import huggingface_hub

NAME = "some-org/Tiny-1.1"
MAIN = COMMITS[0]
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
         "vocab_size": 65536, "intermediate_size": 128}
LARGE = numpy.zeros((65536, 64), numpy.float32)  # 16 MB that no header needs
FREQUENCIES = {"model.layers.0.self_attn.rotary_emb.inv_freq": (5000.0 ** (-numpy.arange(8) / 8)).astype(numpy.float32)}


def safetensors_model():
    return {"config.json": json.dumps(LLAMA).encode(), "README.md": b"words", "model.safetensors": save({"a": LARGE, **FREQUENCIES})}


def sharded_model():
    shards = {"model-00001-of-00002.safetensors": {"a": LARGE}, "model-00002-of-00002.safetensors": FREQUENCIES}
    index = {"metadata": {}, "weight_map": {tensor: shard for shard, tensors in shards.items() for tensor in tensors}}
    return {"config.json": json.dumps(LLAMA).encode(), "model.safetensors.index.json": json.dumps(index).encode(),
            **{shard: save(tensors) for shard, tensors in shards.items()}}


def gguf_model():
    """A GGUF file with a long vocabulary, so that its header comes in several ranges, and with factors of RoPE behind a large tensor."""
    def text(s):
        return struct.pack("<Q", len(s)) + s

    keys = {b"general.architecture": b"llama", b"llama.block_count": 2, b"llama.embedding_length": 64, b"llama.attention.head_count": 4,
            b"llama.context_length": 4096, b"llama.rope.freq_base": 10000.0, b"llama.feed_forward_length": 128}
    words = [b"word %06d" % n for n in range(40000)]
    out = b"GGUF" + struct.pack("<IQQ", 3, 2, len(keys) + 1)
    for key, value in keys.items():
        kind = {bytes: 8, int: 4, float: 6}[type(value)]
        out += text(key) + struct.pack("<I", kind) + (text(value) if kind == 8 else struct.pack("<I" if kind == 4 else "<f", value))
    out += text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(words)) + b"".join(map(text, words))
    factors = numpy.linspace(1, 8, 8, dtype=numpy.float32).tobytes()
    out += text(b"token_embd.weight") + struct.pack("<IQQIQ", 2, 64, 65536, 0, 0)
    out += text(b"rope_freqs.weight") + struct.pack("<IQIQ", 1, 8, 0, LARGE.nbytes)
    return out + b"\0" * (-len(out) % 32) + LARGE.tobytes() + factors


@pytest.fixture
def hub():
    """Serves one model, by default in one file; `hub.commits[MAIN]` can be replaced."""
    serving = Hub(NAME, {MAIN: safetensors_model()}, {"main": MAIN, "refs/pr/1": MAIN})
    yield serving
    serving.close()


@pytest.fixture
def env(hub, tmp_path):
    return bare(HOME=tmp_path / "home", HF_HUB_CACHE=tmp_path / "cache", XDG_CACHE_HOME=tmp_path / "own", HF_ENDPOINT=hub.urls[0])


def tree(folder):
    """What is in a cache: links with where they lead, files with their content; no locks, and not the list of files that the client keeps
    for itself. A folder that is not there has nothing."""
    found = {}
    for path in sorted(folder.rglob("*")) if folder.exists() else []:
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file() and not name.startswith(".locks/") and path.parent.name != "trees" and path.name != "CACHEDIR.TAG":
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def refused(words, env, *codes):
    """What is told of a download that fails."""
    done = gnomon(*words, env=env)
    assert done.returncode in (codes or (2, 3, 4)) and done.stdout == "", done.stderr
    return done.stderr


def kept(tmp_path):
    """All files and links in both caches."""
    return [name for folder in ("cache", "own") for name in tree(tmp_path / folder)]


# What is fetched, and how it is kept


@pytest.mark.parametrize("revision", ["main", "refs/pr/1", MAIN])
def test_the_cache_is_as_the_client_writes_it(hub, env, revision, tmp_path, text):
    bert = tiny_bert(tmp_path / "bert")
    hub.commits[MAIN] = {path.name: path.read_bytes() for path in bert.iterdir()} | {"README.md": b"words"}
    done = gnomon("inspect", f"{NAME}@{revision}", "--download", "--text", text, "--json", env=env, check=0)
    theirs = tmp_path / "theirs"
    wanted = [file for file in hub.commits[MAIN] if file in ("config.json", "model.safetensors", "tokenizer.json")]
    huggingface_hub.snapshot_download(NAME, revision=revision, cache_dir=theirs, endpoint=hub.urls[0], allow_patterns=wanted)
    assert tree(tmp_path / "cache") == tree(theirs) and len(wanted) == 3
    info = huggingface_hub.scan_cache_dir(tmp_path / "cache")
    assert not info.warnings and [repo.repo_id for repo in info.repos] == [NAME]
    # The client finds what gnomon fetched, and gnomon finds it again, without a network; both numbers are those of the folder.
    assert huggingface_hub.hf_hub_download(NAME, "model.safetensors", revision=revision, cache_dir=tmp_path / "cache", local_files_only=True)
    hub.close()
    for words in (["inspect", f"{NAME}@{revision}"], ["inspect", bert]):
        again = gnomon(*words, "--text", text, "--json", "--quiet", env=env, check=0).stdout
        assert json.loads(again) == json.loads(done.stdout) | {"model": str(words[1])}


def without_paths(document):
    if isinstance(document, list):
        return [without_paths(one) for one in document]
    return {key: without_paths(value) for key, value in document.items() if key != "file"} if isinstance(document, dict) else document


@pytest.mark.parametrize("model", [safetensors_model, sharded_model, lambda: {"tiny.gguf": gguf_model()}], ids=["one file", "shards", "gguf"])
def test_of_weights_only_headers_are_fetched(hub, env, model, tmp_path):
    files = hub.commits[MAIN] = model()
    folder = tmp_path / "whole"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    path = folder / "tiny.gguf" if "tiny.gguf" in files else folder
    for words in (["lint"], ["explain"]):
        whole = json.loads(gnomon(*words, path, "--json").stdout)
        fetched = gnomon(*words, NAME, "--download", "--json", env=env)
        assert without_paths(json.loads(fetched.stdout)) == without_paths(whole), fetched.stderr
    sent = sum(1 for at_home, _, _, headers in hub.log if not at_home and "Range" not in headers)
    assert sent == 0  # no large file was asked for as a whole
    ranges = [tuple(map(int, headers["Range"].removeprefix("bytes=").split("-"))) for _, _, _, headers in hub.log if "Range" in headers]
    assert ranges and sum(last - first + 1 for first, last in ranges) < 6e6
    # Nothing that another program could take for weights; what was fetched is enough without a network.
    assert not [name for name in tree(tmp_path / "cache") if name.endswith((".safetensors", ".gguf", ".index.json"))]
    parts = [path for path in (tmp_path / "own").rglob("*") if path.suffix in (".gguf", ".safetensors")]
    assert parts and all(path.read_bytes().startswith(b"gnomon: parts 1\n") for path in parts)
    if (tmp_path / "cache").exists():
        assert not huggingface_hub.scan_cache_dir(tmp_path / "cache").warnings
    hub.close()
    assert without_paths(json.loads(gnomon("explain", NAME, "--json", env=env).stdout)) == without_paths(whole)


def test_headers_are_no_weights(hub, env, tmp_path):
    hub.commits[MAIN]["model.safetensors"] = save({"table": LARGE})
    gnomon("lint", NAME, "--download", env=env)
    (headers,) = (tmp_path / "own").rglob("model.safetensors")
    done = gnomon("check", headers, env=env)  # it reads tensors
    assert done.returncode and "was not fetched; this file has only the header of the weights" in done.stderr
    (tmp_path / "ids.txt").write_text("1 2 3 " * 1000)
    done = gnomon("inspect", NAME, "--ids", tmp_path / "ids.txt", env=env)
    assert done.returncode and "model.safetensors" in done.stderr


def test_what_is_there_is_not_fetched_again(hub, env):
    for _ in range(2):
        gnomon("lint", NAME, "--download", env=env, check=1)
        seen = len(hub.log)
    hub.log.clear()
    gnomon("lint", NAME, "--download", env=env, check=1)
    assert seen > 4 and [entry[2] for entry in hub.log] == [f"/api/models/{NAME}/revision/main?blobs=true"]


def test_a_path_is_never_fetched(hub, env, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    gnomon("explain", tmp_path, "--download", env=env, check=0)
    assert hub.log == []


def test_one_of_several_gguf_files_is_named(hub, env):
    hub.commits[MAIN] = {"tiny-Q4.gguf": gguf_model(), "tiny-Q8.gguf": gguf_model()}
    assert f'name one, such as "{NAME}/tiny-Q4.gguf", "{NAME}/tiny-Q8.gguf"' in gnomon("explain", NAME, "--download", env=env, check=2).stderr
    found = json.loads(gnomon("explain", f"{NAME}/tiny-Q8.gguf", "--download", "--json", env=env, check=0).stdout)
    assert found["file"].endswith(f"snapshots/{MAIN}/tiny-Q8.gguf") and hub.asked("Q4") == []


# Who is sent the token


def test_the_token_goes_to_the_endpoint_alone(hub, env, tmp_path):
    gnomon("lint", NAME, "--download", env=env | {"HF_TOKEN": "hf_secret"}, check=1)
    assert {at_home for at_home, *_ in hub.log} == {True, False}
    for at_home, _, _, headers in hub.log:
        assert headers.get("Authorization") == ("Bearer hf_secret" if at_home else None)


@pytest.mark.parametrize("variables, token", [
    ({"HF_TOKEN": " a\n"}, "a"), ({"HUGGING_FACE_HUB_TOKEN": "b"}, "b"), ({"HF_TOKEN": "", "HUGGING_FACE_HUB_TOKEN": "b"}, "b"), ({}, "of-the-file"),
    ({"HF_TOKEN_PATH": "$HOME/other"}, "of-another-file"), ({"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "HF_TOKEN": "a"}, None), ({"HF_HOME": "/nowhere"}, None)])
def test_the_token_is_that_of_the_client(hub, env, variables, token, tmp_path):
    home = tmp_path / "home"
    (home / "huggingface").mkdir(parents=True)
    (home / "huggingface/token").write_text("of-the-file\r\n")
    (home / "other").write_text("of-another-file")
    gnomon("explain", NAME, "--download", env={**env, "XDG_CACHE_HOME": str(home), **variables}, check=0)
    sent = {headers.get("Authorization") for _, _, _, headers in hub.log}
    assert sent == {f"Bearer {token}" if token else None}


def test_a_redirect_to_another_origin_has_no_token(hub, env):
    hub.locations["config.json"] = f"{hub.urls[1]}/{git_digest(b'')}"
    hub.by_digest[git_digest(b"")] = hub.commits[MAIN]["config.json"]
    hub.digests["config.json"] = ""
    gnomon("explain", NAME, "--download", env=env | {"HF_TOKEN": "hf_secret"})
    strangers = [headers for at_home, _, _, headers in hub.log if not at_home]
    assert strangers and not any("Authorization" in headers for headers in strangers)


# What is refused


def wrong_digest(hub):
    hub.digests["config.json"] = git_digest(b"something else")


def no_digest(hub):
    hub.digests["config.json"] = "v1-etag"


def cut_short(hub):
    hub.cuts["config.json"] = 20


def cut_without_a_length(hub):
    hub.says_no_length, hub.cuts["config.json"] = True, 20


def too_large(hub):
    hub.commits[MAIN]["config.json"] = b" " * (16 << 20) + b"{}"


def too_large_without_a_length(hub):
    too_large(hub)
    hub.says_no_length = True


def endless_redirects(hub):
    hub.locations["config.json"] = f"/{NAME}/resolve/{MAIN}/config.json"


def to_http_elsewhere(hub):
    hub.locations["config.json"] = "http://example.org/config.json"


def to_a_file(hub):
    hub.locations["config.json"] = "file:///etc/passwd"


def to_a_user(hub):
    hub.locations["config.json"] = "http://localhost@example.org/"


def nowhere(hub):
    hub.locations["config.json"] = ""


def no_list(hub):
    hub.listing = b"<html>"


def no_commit(hub):
    hub.listing = json.dumps({"sha": "../../../x", "siblings": []}).encode()


def hostile_names(hub):
    names = ["../config.json", "/config.json", "a/../../config.json", "config.json/", "./config.json", "a\\..\\config.json"]
    hub.listing = json.dumps({"sha": MAIN, "siblings": [{"rfilename": name} for name in names]}).encode()


def answers(status, **headers):
    def twist(hub):
        hub.answers["config.json|/api/"] = status, {name.replace("_", "-"): value for name, value in headers.items()}
    twist.__name__ = f"answers_{status}"
    return twist


@pytest.mark.parametrize("twist, told", [
    (wrong_digest, "Nothing was kept"), (no_digest, "needed is a digest"), (cut_short, "localhost"), (cut_without_a_length, "size"),
    (too_large, "allowed are at most 16777216"), (too_large_without_a_length, "does not say its size"), (endless_redirects, "more than 5 times"),
    (to_http_elsewhere, "allowed is https"), (to_a_file, "allowed is https"), (to_a_user, "found a user"), (nowhere, "Tiny"), (no_list, "list of its files"),
    (no_commit, "a commit of 40"), (hostile_names, "neither a config.json nor a GGUF file"), (answers(401), "private and HF_TOKEN is not set"),
    (answers(403, X_Error_Code="GatedRepo"), "gated"), (answers(404, X_Error_Code="RevisionNotFound"), "no revision"), (answers(404), "no such model"),
    (answers(429), "too many requests"), (answers(503), "fault"), (answers(418), "not expected")], ids=lambda x: getattr(x, "__name__", ""))
def test_a_bad_answer_is_told_and_keeps_nothing(hub, env, twist, told, tmp_path):
    twist(hub)
    said = refused(["explain", NAME, "--download"], env)
    assert told in said and said.splitlines()[-1].startswith("gnomon: "), said
    assert kept(tmp_path) == []


def ignored_ranges(hub):
    hub.ignores_ranges = True


def another_size(hub):
    hub.claims_size = 1000


def cut_header(hub):
    hub.cuts[hashlib.sha256(hub.commits[MAIN]["model.safetensors"]).hexdigest()] = 100


def long_header(hub):
    hub.commits[MAIN]["model.safetensors"] = struct.pack("<Q", 1 << 40) + b"{" * 100000


def outside_shards(hub):
    del hub.commits[MAIN]["model.safetensors"]
    hub.commits[MAIN]["model.safetensors.index.json"] = json.dumps({"weight_map": {"a": "../../../x.safetensors"}}).encode()


@pytest.mark.parametrize("twist, told", [(ignored_ranges, "ignores ranges"), (another_size, "bytes"), (cut_header, "localhost"), (long_header, "found a header of"),
                                         (outside_shards, "the name of a file in the same folder")], ids=lambda x: getattr(x, "__name__", ""))
def test_a_bad_header_is_told_and_not_kept(hub, env, twist, told, tmp_path):
    twist(hub)
    said = refused(["lint", NAME, "--download"], env)
    assert told in said, said
    assert not [name for name in kept(tmp_path) if name.endswith((".safetensors", "refs/main", ".partial"))]


def test_weights_are_limited(hub, env, tmp_path):
    (tmp_path / "ids.txt").write_text("1 2 3")
    words = ["inspect", NAME, "--ids", tmp_path / "ids.txt", "--download", "--download-limit", "0.01"]
    assert "the weights have 16.8 MB; allowed are 10 MB" in refused(words, env, 2)
    assert not [entry for entry in hub.log if not entry[0]]
    hub.listing = json.dumps({"sha": MAIN, "siblings": [{"rfilename": name, "size": 5} for name in hub.commits[MAIN]]}).encode()  # a lie
    assert "allowed are at most 10000000" in refused(words, env, 3)
    assert not [name for name in tree(tmp_path / "cache") if "safetensors" in name]


def test_a_digest_of_weights_is_compared(hub, env, tmp_path):
    (tmp_path / "ids.txt").write_text("1 2 3")
    hub.digests["model.safetensors"] = "0" * 64
    assert "Nothing was kept" in refused(["inspect", NAME, "--ids", tmp_path / "ids.txt", "--download"], env, 3)
    assert not [name for name in kept(tmp_path) if "0" * 64 in name or name.endswith("safetensors")]


def test_a_slow_server_is_left(hub, env, tmp_path):
    hub.seconds_a_byte = 0.05
    begin = time.monotonic()
    said = refused(["explain", NAME, "--download"], env | {"HF_HUB_DOWNLOAD_TIMEOUT": "1"}, 4)
    assert "too slow" in said and time.monotonic() - begin < 30
    assert kept(tmp_path) == []


@pytest.mark.parametrize("endpoint, told", [("http://example.org", "allowed is https, or http on this machine"), ("ftp://localhost", "allowed is https"),
                                            ("https://user:pass@localhost", "found a user"), ("localhost", ""), ("https://localhost:1", "localhost")])
def test_an_endpoint_is_safe(env, hub, tmp_path, endpoint, told):
    assert told in refused(["explain", NAME, "--download"], env | {"HF_ENDPOINT": endpoint})


def test_offline_is_offline(hub, env, tmp_path):
    for variables in ({"HF_HUB_OFFLINE": "1"}, {"TRANSFORMERS_OFFLINE": "yes"}):
        assert "forbids requests" in refused(["explain", NAME, "--download"], env | variables, 2)
    assert hub.log == []


# TLS


def test_tls_needs_a_trusted_certificate(tmp_path):
    key, cert = certificate(tmp_path)
    hub = Hub(NAME, {MAIN: safetensors_model()}, {"main": MAIN}, (key, cert))
    try:
        env = bare(HOME=tmp_path, HF_HUB_CACHE=tmp_path / "cache", XDG_CACHE_HOME=tmp_path / "own", HF_ENDPOINT=hub.urls[0])
        done = gnomon("explain", NAME, "--download", env=env, check=4)
        assert "certificate" in done.stderr and hub.log == []
        for variable in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            gnomon("lint", NAME, "--download", env=env | {variable: str(cert)}, check=1)
        by_address = env | {"SSL_CERT_FILE": str(cert), "HF_ENDPOINT": hub.urls[0].replace("localhost", "127.0.0.1")}
        assert "127.0.0.1" in gnomon("explain", NAME + "@v2", "--download", env=by_address, check=4).stderr  # of another name
        hub.locations["config.json"] = hub.urls[0].replace("https", "http") + "/config.json"
        shutil.rmtree(tmp_path / "cache")
        assert "allowed is https" in gnomon("explain", NAME, "--download", env=env | {"SSL_CERT_FILE": str(cert)}, check=3).stderr
    finally:
        hub.close()


# Nothing else asks a network


@pytest.fixture(scope="module")
def refusal(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "refuse_network.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, ROOT / "tests/python/refuse_network.c"], check=True)
    return library


def test_no_command_asks_a_network_unless_told(refusal, hub, env, text, tmp_path):
    env = env | {"LD_PRELOAD": str(refusal), "NETWORK_LOG": str(tmp_path / "log")}
    assert gnomon("explain", NAME, "--download", env=env).returncode == 4 and (tmp_path / "log").exists()  # the control
    (tmp_path / "log").unlink()
    example = ROOT / "docs/examples/llama-3.1.json"
    commands = [
        ["encodings"], ["show", "rope"], ["check", ROOT / "tests/golden/dumps/llama.safetensors"], ["claims"], ["claims", "--rules"], ["help"], ["manual"],
        ["completion", "bash"], ["study", "--text", text, "--dry-run"], ["study", "status"], ["sample"], ["lint", "--rules"],
        ["claims", "--model", NAME, "--text", text], ["inspect", NAME, "--text", text], ["study", "--text", text, "--set", f"model.block={NAME}", "--dry-run"],
        *([word, *rest] for word in ("explain", "lint") for rest in ([NAME], [example], [f"{NAME}@v2"], ["gpt2"])), ["explain", example, NAME],
        ["extend", NAME, "--to", "4x"], ["extend", example, "--to", "4x"]]
    for words in commands:
        assert gnomon(*words, env=env).returncode in (0, 1, 2, 3, 4), words
    assert {words[0] for words in commands} >= {"encodings", "show", "check", "inspect", "lint", "explain", "extend", "study", "sample", "claims"}
    assert not (tmp_path / "log").exists() and hub.log == []

"""The JSON schema of RoPE's settings: check-jsonschema takes published files and refuses wrong ones; what it calls needed, the program
needs, too."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import ROOT, gnomon

CHECK = pathlib.Path(sys.executable).parent / "check-jsonschema"
PUBLISHED = sorted((ROOT / "tests/golden/configs").glob("*.json")) + sorted((ROOT / "docs/examples").glob("*.json"))
LLAMA = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
         "rope_theta": 10000.0}
PAIRS = [1.0] * 32
# What each type needs, and what it may have: transformers 5.23, modeling_rope_utils.py, _validate_*_rope_parameters, without the
# lengths and bases that it fills in itself.
TYPES = {
    "default": ({}, {"partial_rotary_factor": 0.5}),
    "linear": ({"factor": 2.0}, {}),
    "dynamic": ({}, {"factor": 2.0, "alpha": 1000.0}),
    "yarn": ({"factor": 4}, {"original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                             "truncate": False, "attention_factor": 1.1}),
    "longrope": ({"short_factor": PAIRS, "long_factor": PAIRS}, {"factor": 4.0, "original_max_position_embeddings": 4096}),
    "llama3": ({"factor": 4.0, "low_freq_factor": 1, "high_freq_factor": 4.0}, {"original_max_position_embeddings": 4096}),
    "proportional": ({}, {"partial_rotary_factor": 0.25, "factor": 2.0}),
    "axial": ({}, {}),
}


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "rope.schema.json"
    path.write_text(gnomon("lint", "--schema", check=0).stdout)
    return path


@pytest.fixture
def valid(schema, tmp_path):
    def check(*documents):
        """Which of the documents check-jsonschema takes."""
        paths = []
        for n, document in enumerate(documents):
            paths.append(tmp_path / f"{n}.json")
            paths[-1].write_text(json.dumps(document))
        done = subprocess.run([CHECK, "--schemafile", schema, "--output-format", "json", *paths], capture_output=True, text=True)
        found = json.loads(done.stdout)
        assert done.returncode == (found["status"] == "fail") and not found.get("parse_errors"), done.stdout
        wrong = {error["filename"] for error in found.get("errors", [])}
        return [str(path) not in wrong for path in paths]
    return check


def spellings(dictionary):
    """A dictionary of a type in the old spelling, the new, and one for each kind of layer; and as the language part's."""
    old = {"type" if key == "rope_type" else key: value for key, value in dictionary.items()}
    for config in ({"rope_scaling": old}, {"rope_scaling": dictionary}, {"rope_parameters": {"rope_theta": 10000.0} | dictionary},
                   {"rope_parameters": {"full_attention": dictionary, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}):
        yield LLAMA | config
        yield {"model_type": "llava", "text_config": LLAMA | config}


def test_it_is_a_schema(schema):
    done = subprocess.run([CHECK, "--check-metaschema", schema], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_published_files_are_valid(schema):
    assert len(PUBLISHED) >= 50 and sum("rope_" in path.read_text() for path in PUBLISHED) >= 25
    done = subprocess.run([CHECK, "--schemafile", schema, *PUBLISHED], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_what_it_needs(name, valid):
    needed, more = TYPES[name]
    for extra in ({}, more):
        assert all(valid(*spellings({"rope_type": name} | needed | extra)))
    for key in needed:
        without = {"rope_type": name} | {k: v for k, v in (needed | more).items() if k != key}
        null = {"rope_type": name} | needed | more | {key: None}
        assert not any(valid(*spellings(without), *spellings(null)))


@pytest.mark.parametrize("name", [name for name in TYPES if name != "axial"])
def test_what_is_needed_the_program_needs(name, tmp_path):
    """The schema's list against the code that reads a dictionary."""
    needed, _ = TYPES[name]

    def code(dictionary):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(LLAMA | {"rope_scaling": dictionary}))
        return gnomon("explain", path).returncode
    whole = {"rope_type": name} | needed | ({"factor": 2.0} if name == "dynamic" else {})
    assert code(whole) == 0
    for key in needed:
        if (name, key) != ("yarn", "factor"):  # gnomon computes it from the two lengths; transformers raises an error
            assert code({k: v for k, v in whole.items() if k != key}) == 3, key


@pytest.mark.parametrize("dictionary", [
    {"rope_type": "yam", "factor": 2.0}, {"type": "su-scaled", "factor": 2.0}, {"rope_type": 3}, {"rope_type": "linear", "factor": "2"},
    {"rope_type": "linear", "factor": 0.5}, {"rope_type": "default", "rope_theta": "10000"}, {"rope_type": "default", "rope_theta": 0},
    {"rope_type": "default", "partial_rotary_factor": 1.5}, {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096.5},
    {"rope_type": "yarn", "factor": 2.0, "truncate": "no"}, {"rope_type": "longrope", "short_factor": 1.0, "long_factor": PAIRS},
    {"rope_type": "default", "mrope_section": [16, "24", 24]}, {"rope_type": "yarn", "facter": 4.0}], ids=str)
def test_a_wrong_value_is_refused_in_every_spelling(dictionary, valid):
    assert not any(valid(*spellings(dictionary)))


@pytest.mark.parametrize("config", [{"rope_scaling": []}, {"rope_parameters": "yarn"}, {"rope_theta": "1e6"}, {"text_config": {"rope_theta": -1}}])
def test_a_wrong_place_is_refused(config, valid):
    assert valid(LLAMA | config, LLAMA | {"rope_scaling": None}, LLAMA, {}) == [False, True, True, True]


def test_only_some_classes_have_a_base_for_each_layer(valid, tmp_path):
    bases = {"num_hidden_layers": 2, "rope_theta": [5000000.0, 10000.0], "layer_types": ["full_attention", "sliding_attention"],
             "sliding_window": 512}
    step = LLAMA | bases | {"model_type": "step3p5"}
    assert all(valid(step, {"model_type": "llava", "text_config": step}, step | {"rope_theta": 10000.0}, step | {"rope_theta": None}))
    assert not any(valid(LLAMA | bases, step | {"rope_theta": []}, step | {"rope_theta": [5000000.0, "10000"]}, step | {"rope_theta": [0, 1e4]},
                         step | {"rope_theta": "1e4"}, LLAMA | {"rope_theta": "1e4"}, {"text_config": LLAMA | bases}))
    path = tmp_path / "config.json"
    path.write_text(json.dumps(step))
    explained = gnomon("explain", path, check=0).stdout
    assert re.findall(r"^ +theta +(\d+)$", explained, re.M) == ["5000000", "10000"]

"""Larger models, whose file keeps that of a language model in an object, by the classes of transformers: tests/golden/wrappers.json.

    python3 make_wrappers.py                  after make_classes.py, whose small language models they hold

transformers 5.23.0, torch 2.15.0. Each class of a larger model is given the small file of its language model (classes.json), and writes its
own file, as models are published: with towers, with keys of its own. `file` is what it wrote; `older` is the same, where the object says
neither model_type nor what the class has by itself; `flat` has the settings of the language model at the top level, in files of classes that
look there. All three are read again by the class: its language model is that of classes.json, or the field is null. `full` are files that
leave everything out, with the language model of full size that the class makes of them: without the object, with an empty one, and with one
that says something else.
"""

import copy
import json
import pathlib

from make_classes import CONFIG_MAPPING, bare_of, line_of, of_text, saved, told

HERE = pathlib.Path(__file__).parent


def beside(width):
    """What the class of a larger model asks of its other objects, if its language model has this width; and of a language model what
    classes.json leaves out."""
    return {
        "fun_asr_nano": {"adaptor_config": {"hidden_size": width}},
        "granite_docling": {"vision_config": {"out_hidden_size": width}},
        "inkling2": {"vision_config": {"text_hidden_size": width}, "audio_config": {"text_hidden_size": width}},
        "muse_spark": {"audio_config": {"out_hidden_size": width}, "vision_config": {"out_hidden_size": width}},
        "nemotron_h_omni": {"vision_config": {"model_type": "radio", "video_temporal_patch_size": 2}},
        "qwen4_exp": {"text_config": {"indexer_budget": 64, "indexer_compress_ratio": 2}},
        "tipsv2": {"vision_config": {"hidden_size": width}},
    }


def joined(a, b):
    """Both objects, and the second where they differ."""
    return {k: joined(a[k], v) if isinstance(v, dict) and isinstance(a.get(k), dict) else v for k, v in (a | b).items()}


def nested(key, inside):
    for part in reversed(key.split(".")):
        inside = {part: inside}
    return inside


def object_at(file, key):
    for part in key.split("."):
        file = file[part]
    return file


def trimmed(file):
    """Of the whole file, and of each object of a model in it, what may be about position."""
    models = {k: trimmed(v) for k, v in file.items() if isinstance(v, dict) and k.endswith("config")}
    return told({k: v for k, v in file.items() if k not in models}) | models


def read_by(cls, file):
    return cls(**{k: copy.deepcopy(v) for k, v in file.items() if k != "model_type"})


def kept(cls, file, small):
    """The file, if its language model is the small one. PaliGemma hands use_bidirectional_attention to a kernel, and makes its own mask."""
    try:
        own = {"use_bidirectional_attention": None} if small["model_type"] == "gemma" else {}
        return file if told(saved(read_by(cls, file).get_text_config(), whole=True)) | own == small | own else None
    except Exception:  # of any kind: the class does not read it
        return None


def written_by(cls, name, inside):
    try:
        return trimmed(saved(cls(**inside), whole=True))
    except Exception:  # of any kind: towers of full size do not fit the small model
        return {"model_type": name, **inside}


def full_of(cls, file, small):
    """The language model of full size in this file."""
    try:
        text = read_by(cls, file).get_text_config()
        sizes = bare_of(type(text), text, small["layers"], None)
        sizes["longest"] = getattr(text, "max_position_embeddings", None)
    except Exception as error:  # of any kind: the class of full size does not run
        print(file, "has no language model of full size:", str(error)[:90])
        return None
    try:
        kv_heads = getattr(text, "num_key_value_heads", None)
    except Exception:  # of any kind: its layers differ
        kv_heads = None
    return {"file": file, **sizes, "kv_heads": kv_heads}


def answer(name, key, small):
    cls = CONFIG_MAPPING[name]
    inside, defaults = small["config"], small["defaults"]
    more = beside(inside.get("hidden_size")).get(name, {})
    written = joined(written_by(cls, name, joined(nested(key, copy.deepcopy(inside)), more)), more)
    older = copy.deepcopy(written)
    for gone in ("model_type", *defaults):
        object_at(older, key).pop(gone, None)
    flat = {**inside, "model_type": name}
    without = ({"model_type": name, **objects} for objects in ({}, nested(key, {}), nested(key, {"vocab_size": 64})))
    return {"type": name, "inner": small["type"], "file": kept(cls, written, inside), "older": kept(cls, older, inside),
            "flat": kept(cls, flat, inside), "full": [full for file in without if (full := full_of(cls, file, small))]}


def main():
    classes = {c["type"]: c for c in json.loads((HERE / "classes.json").read_text())["classes"] if "file" not in c}
    _, wrappers, _ = of_text()
    found, without = [], []
    for name, (text, key) in sorted(wrappers.items()):
        if key and text.model_type in classes:
            found.append(answer(name, key, classes[text.model_type]))
        else:
            without.append(name)
    (HERE / "wrappers.json").write_text("[\n" + ",\n".join(map(line_of, found)) + "\n]\n")
    print(len(found), "larger models;", len(without), "without a language model that ran:", *without)
    for field in ("file", "older", "full"):
        print("no", field, *(f["type"] for f in found if not f[field]))


if __name__ == "__main__":
    main()

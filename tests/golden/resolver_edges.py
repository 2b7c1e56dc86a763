"""Configurations at the edges, for make_resolver.py: what files say by mistake, or what transformers 5.23 makes of them that one would
not expect. `of()` gives (configuration, lengths, more): with `run` the model is made and run on two tokens, for what fails no sooner.
`difference()` names the rule of `gnomon lint` by which gnomon's answer is another than that of transformers: it refuses what
transformers computes, or has an answer where transformers raises an error.
"""

import itertools

SIZES = {"hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 16384}
LENGTHS = {"dynamic": (16384, 65536), "longrope": (4096, 4097)}


def base(family, **more):
    return {"model_type": family, **SIZES, **more}


def scaling(kind, dims=64, **more):
    lists = {"short_factor": [1 + i / 64 for i in range(dims // 2)], "long_factor": [1 + i / 4 for i in range(dims // 2)]}
    ramp = {"factor": 8.0, "original_max_position_embeddings": 4096}
    return {"rope_type": kind, **{"default": {}, "linear": {"factor": 8.0}, "dynamic": {"factor": 8.0}, "yarn": ramp,
                                  "llama3": {**ramp, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
                                  "longrope": {**lists, "original_max_position_embeddings": 4096},
                                  "proportional": {"partial_rotary_factor": 0.5}}[kind], **more}


KINDS = ("default", "linear", "llama3", "dynamic", "yarn", "longrope")
SMALL = {"vocab_size": 16, "intermediate_size": 32, "pad_token_id": 0}  # of a model that is run
ROTARY = ("llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "phi", "phi3", "stablelm", "glm4", "gemma", "gemma2", "gemma3_text", "smollm3",
          "gpt_oss", "olmo", "olmo2", "olmo3", "exaone4", "granite", "granite_swa", "granitemoe_swa", "modernbert", "nomic_bert", "hunyuan_v1_dense",
          "hunyuan_v1_moe", "gpt_neox", "ministral3", "qwen2_vl_text", "qwen3_vl_text", "llama4_text")


def heads():
    """No head_dim, null, a width that the heads do not divide, and odd heads."""
    for family, kind in itertools.product(ROTARY, KINDS):
        if kind in ("default", "dynamic", "yarn") or (family, kind) == ("phi3", "longrope"):
            yield base(family, head_dim=None, rope_theta=1e6, rope_scaling=scaling(kind)), LENGTHS.get(kind, ()), {}
    for family, kind in itertools.product(("mixtral", "hunyuan_v1_dense", "hunyuan_v1_moe"), KINDS):
        yield base(family, rope_theta=1e6, rope_scaling=scaling(kind)), LENGTHS.get(kind, ()), {}
    for family in ROTARY:
        for more in ({}, {"head_dim": 32}):
            yield base(family, **more) | {"hidden_size": 516}, (), {}
    for dim, part in ((63, None), (3, None), (64, 0.3), (64, 0.02), (63, 0.5), (64, 0), (64, 1.5), (64, -0.5)):
        for family in ("llama", "phi", "gpt_neox", "glm4"):
            config = base(family, head_dim=dim) | {"hidden_size": 8 * dim}
            if part is not None:
                config["rotary_pct" if family == "gpt_neox" else "partial_rotary_factor"] = part
            yield config, (), {}
            whole = family == "llama" and part is not None  # its attention fails where a part has been computed
            yield {**config, **(SMALL if whole else {}), "rope_scaling": scaling("linear")}, (), {"run": whole}


def values():
    """Numbers that cannot be, or that only look so."""
    for kind, key, value in (
            *itertools.product(("linear", "dynamic", "yarn", "llama3", "longrope", "proportional"), ("factor",), (0.5, 0, -2.0, "4", None)),
            *itertools.product(("linear", "yarn"), ("rope_theta",), (0, 1, 0.5, -1.0, None, "10000")),
            *itertools.product(("yarn", "longrope"), ("attention_factor",), (0, 0.0, -1.0, 1, None, "1")),
            *itertools.product(("yarn", "llama3", "longrope"), ("original_max_position_embeddings",), (0, 1, -4, 4096.5, 4096.0, 32768, None)),
            *itertools.product(("yarn",), ("beta_fast",), (0, 1, 0.5, -1, None)), *itertools.product(("yarn",), ("beta_slow",), (0, 32, 64, -1, None)),
            *itertools.product(("yarn",), ("mscale", "mscale_all_dim"), (0, 1.0, -1.0)), *itertools.product(("yarn",), ("truncate",), (None, 0, True)),
            *itertools.product(("llama3",), ("low_freq_factor",), (0, 4.0, 5.0, -1.0)), *itertools.product(("llama3",), ("high_freq_factor",), (0, 1.0)),
            *itertools.product(("longrope",), ("short_factor",), ([2.0], [1.0] * 31, [0.0] * 32)),
            *itertools.product(("proportional",), ("partial_rotary_factor",), (0, 0.3, 1.5, None)),
            ("linear", "beta_fast", 16), ("dynamic", "original_max_position_embeddings", 4096), ("default", "factor", 4.0), ("linear", "type", "yarn")):
        yield base("llama", rope_theta=1e6, rope_scaling=scaling(kind, **{key: value})), LENGTHS.get(kind, ()), {}
    for theta in (0, 1, 0.5, -1.0, None):
        yield base("llama", rope_theta=theta), (), {}
    for original in (0, 2048, 4096.5, 32768):
        yield base("llama", original_max_position_embeddings=original, rope_scaling=scaling("yarn")), (), {}


def classes():
    """What single classes refuse, forget, or read elsewhere."""
    for kind in ("default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional"):
        yield base("phi3", rope_scaling=scaling(kind)), LENGTHS.get(kind, ()), {}
        for family in ("olmo", "olmo2", "llama4_text"):
            yield base(family, rope_scaling=scaling(kind)), LENGTHS.get(kind, ()), {}
    for kind, own, top in itertools.product(("su", "yarn", "longrope"), (None, 2048, 8192), (None, 4096)):
        dictionary = {"type": kind, **{k: v for k, v in scaling("longrope").items() if "factor" in k}}
        config = base("phi3", rope_scaling=dictionary)
        if own:
            dictionary["original_max_position_embeddings"] = own
        if top:
            config["original_max_position_embeddings"] = top
        yield config, (2048, 2049, 4096, 4097, 8193), {}
    yield base("llama", rope_scaling=scaling("longrope") | {"rope_type": "su"}), (4096, 4097), {}
    yield base("qwen3", rope_parameters={"rope_type": "default", "rope_theta": 1e6}, rope_scaling=scaling("yarn")), (), {}
    yield base("qwen3", rope_theta=1e6, rope_parameters={"rope_type": "default", "rope_theta": 1e6}, rope_scaling=scaling("yarn")), (), {}
    for sections in ([16, 24, 24], [8, 12, 12], [8, 12, 10], [16, 16, 16]):
        for family, kind in itertools.product(("qwen2_vl_text", "qwen3_vl_text"), ("default", "yarn", "linear", "llama3", "longrope")):
            yield base(family, head_dim=64, rope_scaling=scaling(kind, mrope_section=sections)), LENGTHS.get(kind, ()), {}
    full = {"rope_type": "default", "rope_theta": 1e6}
    for family in ("gemma3_text", "olmo3", "modernbert", "gemma4_text"):
        sizes = base(family, head_dim=64, num_hidden_layers=6)
        yield {**sizes, "rope_parameters": {"full_attention": full}}, (), {}
        yield {**sizes, "rope_parameters": {"sliding_attention": full}}, (), {}
        yield {**sizes, "rope_parameters": {"full_attention": scaling("yarn", rope_theta=1e6), "sliding_attention": full}, "original_max_position_embeddings": 2048}, (), {}
        yield {**sizes, "rope_parameters": {"full_attention": full, "sliding_attention": full}, "rope_scaling": scaling("linear")}, (), {}
        if family != "gemma4_text":
            yield {**sizes, "rope_parameters": {"full_attention": full, "sliding_attention": None}}, (), {}
        yield {**sizes, "rope_scaling": scaling("linear")}, (), {}
        yield {**sizes, "rope_parameters": {"rope_theta": 5e5, "full_attention": full, "sliding_attention": full}}, (), {}
    for family in ("llama", "qwen3"):
        types = ["sliding_attention", "full_attention"]
        for rope in ({"full_attention": full}, {"full_attention": full, "sliding_attention": full}):
            yield base(family, rope_parameters=rope), (), {}
            yield base(family, rope_parameters=rope, layer_types=types, sliding_window=512, use_sliding_window=True), (), {}
    for family in ("smollm3", "llama4_text"):
        for listed in ([1], [1, 0, 1], [1, 0], [], [0, 0]):
            yield base(family, no_rope_layers=listed), (), {}
    for family in ("qwen3", "smollm3", "gemma2", "exaone4"):
        yield base(family, layer_types=["full_attention"] * 3), (), {}
    for alpha, factor in ((1000.0, 1.0), (0, 1.0), (0.5, 1.0), (-1.0, 1.0), (1000.0, 0.5)):
        yield base("hunyuan_v1_dense", head_dim=64, rope_scaling={"type": "dynamic", "factor": factor, "alpha": alpha}), (16384, 40000), {}


def forward():
    """What is seen no sooner than when the model runs."""
    for family in ("llama", "qwen3", "mistral", "gemma", "olmo", "phi", "stablelm", "granite", "smollm3"):
        for kind, top in itertools.product(("default", "linear", "llama3"), (True, False)):
            part = {"partial_rotary_factor": 0.5}
            yield base(family, **SMALL, head_dim=64, **(part if top else {}),
                       rope_scaling=scaling(kind, rope_theta=1e6, **({} if top else part))), (), {"run": True}


def layers_apart():
    """Values of single layers, and heads that are not shared evenly."""
    sizes = base("gemma4_text", head_dim=64, sliding_window=512) | {"num_hidden_layers": 6}
    small = SMALL | {"vocab_size_per_layer_input": 16, "hidden_size_per_layer_input": 8}
    for own in ({"05": {"head_dim": 96}}, {"5": {"head_dim": 96, "num_key_value_heads": 2}}, {" 5 ": {"head_dim": 96}}, {}, None, {"5": {"head_dim": 64}},
                {"5": {"skip": ["mlp"], "head_dim": 96}}, {f"{i:03}": {"head_dim": 96} for i in range(5)}, {"05": {"head_dim": 32}, "5": {"head_dim": 96}}):
        yield {**sizes, "per_layer_config": own, "global_head_dim": 80}, (), {}
    for own in ({"5": {"sliding_window": 256}}, {"5": {"num_attention_heads": 4}}, {"1": {"head_dim": 96}}, {"5": {"num_attention_heads": 8}},
                {"6": {"head_dim": 96}}, {"five": {"head_dim": 96}}, {"5": {"head_dim": None}}, {"5": None}, {"5": {"intermediate_size": 64}}):
        yield {**sizes, **small, "per_layer_config": own}, (), {"run": True}
    for family, own in (("llama", {"num_key_value_heads": 2}), ("llama", {"num_key_value_heads": 4}), ("qwen3", {"head_dim": 32}), ("gemma3_text", {"sliding_window": 16})):
        yield base(family, **SMALL, per_layer_config={"1": own}), (), {"run": True}
    for family, kv in (("llama", 3), ("llama", 16), ("gemma2", 3), ("qwen2", 2)):
        yield base(family, **SMALL, num_key_value_heads=kv), (), {"run": True}


def older_words():
    """Kinds of layers begin with rope_type, over which the older type says nothing."""
    full = {"rope_type": "default", "rope_theta": 1e6}
    for family, kind in itertools.product(("gemma3_text", "olmo3", "modernbert"), ("linear", "yarn", "llama3", "dynamic")):
        config = base(family, num_hidden_layers=6)
        older = {"type": kind, **{k: v for k, v in scaling(kind).items() if k != "rope_type"}}
        yield {**config, "rope_scaling": older}, LENGTHS.get(kind, ()), {}
        yield {**config, "rope_scaling": older, "rope_parameters": {"full_attention": full, "sliding_attention": full}}, (), {}
        yield {**config, "rope_scaling": older, "rope_parameters": {"full_attention": {"rope_theta": 5e5}, "sliding_attention": full}}, LENGTHS.get(kind, ()), {}
        yield {**config, "rope_scaling": older, "rope_parameters": {"rope_theta": 5e5}}, (), {}
        yield {**config, "rope_scaling": older, "rope_parameters": {"full_attention": None, "sliding_attention": full}}, (), {}


def blocks():
    """DeepSeek-V4: one dictionary, or two by their own labels."""
    sizes = {"model_type": "deepseek_v4", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "max_position_embeddings": 65536,
             "head_dim": 128, "qk_rope_head_dim": 32, "compress_ratios": [0, 4, 128, 4]}
    yarn = scaling("yarn", beta_fast=32, beta_slow=1)
    main = {"rope_type": "default", "rope_theta": 10000.0}
    part = {"partial_rotary_factor": 0.25}
    for rope in ({}, yarn, yarn | part, yarn | {"partial_rotary_factor": 0.5}, yarn | {"attention_factor": 1.2}, yarn | {"truncate": False}, yarn | {"rope_theta": 5e4},
                 {"main": main, "compress": yarn | {"rope_theta": 160000.0}},
                 {"main": main | part, "compress": yarn | part | {"rope_theta": 160000.0}},
                 {"main": main | part, "compress": yarn | part | {"rope_theta": 160000.0, "attention_factor": 1.0}},
                 {"main": main | part, "compress": yarn | part | {"rope_theta": 160000.0, "truncate": False}},
                 {"main": main | part}, {"compress": yarn | part}, main, scaling("linear")):
        for key in ("rope_scaling", "rope_parameters"):
            yield {**sizes, key: rope}, (), {}


def others():
    """Not rotary, or of no class."""
    for count, new in itertools.product((4, 8, 12, 16, 71), (False, True)):
        yield {"model_type": "falcon", "hidden_size": 64 * count, "num_attention_heads": count, "num_hidden_layers": 2, "alibi": True,
               "new_decoder_architecture": new}, (), {}
    for count in (8, 12, 16):
        yield {"model_type": "bloom", "hidden_size": 64 * count, "n_head": count, "n_layer": 2}, (), {}
    for more in ({}, {"position_embedding_type": "alibi"}, {"position_embedding_type": "relative_key"}):
        yield {"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512, **more}, (), {}
    for family in ("baichuan", "RefinedWeb", "RefinedWebModel", "jina_bert", "code_llama"):
        yield base(family), (), {}


def of():
    for part in (heads, values, classes, forward, layers_apart, older_words, blocks, others):
        yield from part()


SHARES = {"phi": 0.5, "gpt_neox": 0.25, "glm4": 0.5, "glm": 0.5, "stablelm": 0.25}  # of the class
OWN_CODE = ("baichuan", "RefinedWeb", "RefinedWebModel", "jina_bert", "code_llama")


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def refused_part(config, kind):
    """Of a share that transformers rounds, or of one that is none."""
    family = config["model_type"]
    if family not in (*SHARES, "llama") or (family == "llama" and kind in ("default", "proportional")):
        share = (config.get("rope_scaling") or {}).get("partial_rotary_factor", 1) if kind == "proportional" else 1
        dim = config.get("head_dim") or 64
        return "partial-rotation-impossible" if share > 1 else "rotated-width-odd" if dim % 2 else None
    share = config.get("rotary_pct" if family == "gpt_neox" else "partial_rotary_factor", SHARES.get(family, 1))
    width = int((config.get("head_dim") or 64) * share)
    return "partial-rotation-impossible" if not 0 < share <= 1 else "rotated-width-odd" if width % 2 or width < 2 else None


def refused_number(config, rope, kind):
    original = config.get("original_max_position_embeddings", rope.get("original_max_position_embeddings"))
    if kind in ("linear", "dynamic", "yarn", "llama3", "proportional") and is_number(rope.get("factor")) and rope["factor"] < 1 and not rope.get("alpha"):
        return "factor-below-one"
    if config["model_type"].startswith("hunyuan") and 0 < rope.get("alpha", 0) < 1:
        return "factor-below-one"
    if kind in ("yarn", "longrope") and is_number(rope.get("attention_factor")) and rope["attention_factor"] <= 0:
        return "attention-factor-impossible"
    if kind in ("yarn", "llama3", "longrope") and is_number(original) and (original < 1 or original % 1):
        return "original-length-impossible"
    if kind == "llama3" and not 0 < rope["low_freq_factor"] <= rope["high_freq_factor"]:
        return "llama3-factors-exchanged"
    if kind == "longrope" and len(rope["short_factor"]) == 1:
        return "longrope-list-length"
    if kind == "yarn" and rope.get("truncate") == 0 and rope["truncate"] is not False:
        return "file-refused"
    return None


def streams(config, rope, kind, refused, sections):
    head = config.get("head_dim") or (128 if config["model_type"] == "qwen3_vl_text" else config["hidden_size"] // config["num_attention_heads"])
    right = 2 * sum(rope.get("mrope_section", sections or [])) == head
    rest = config["model_type"] == "qwen3_vl_text"  # all pairs but those of height and width follow time
    if kind == "default":
        return None if right or refused or rest else "sections-do-not-add-up"
    return "sections-do-not-add-up" if refused else "sections-with-scaling"


def answered(config, rope, kind, refused):
    """Where transformers raises an error."""
    family = config["model_type"]
    null = config.get("head_dim", 0) is None or (family in ("mixtral", "hunyuan_v1_dense", "hunyuan_v1_moe") and "head_dim" not in config)
    if refused == "AmbiguousGlobalPerLayerAttributeError" or (refused == "ValueError" and "1" in (config.get("per_layer_config") or {})):
        return "layer-override-refused"
    if refused == "RuntimeError" and config["num_attention_heads"] % config.get("num_key_value_heads", 1):
        return "key-heads-not-shared"
    if refused == "TypeError" and null:
        return "head-dim-null"
    if refused == "RuntimeError" and "partial_rotary_factor" in {**config, **rope} and config.get("vocab_size"):
        width = config["head_dim"] * rope.get("partial_rotary_factor", config.get("partial_rotary_factor"))
        return "partial-rotation-with-scaling" if 1 < width < config["head_dim"] and int(width) % 2 == 0 else None
    if config.get("rope_theta", 0) is None:
        return "theta-null"
    if rope.get("rope_theta") == 1 and kind == "yarn":
        return "theta-impossible"
    if family == "phi3" and kind == "su":
        return "longrope-named-su"
    if family == "modernbert" and refused == "TypeError" and not config.get("rope_scaling"):
        return "layer-labels-mixed" if "rope_theta" in rope else "no-position-spelling"
    return "layer-list-length" if config.get("no_rope_layers") == [] else None


def difference(config, refused, layers):
    family = config["model_type"]
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if family in OWN_CODE or config.get("position_embedding_type") == "alibi":
        return "family-has-its-own-code"
    if family == "falcon":
        return "alibi-slopes-rounded" if config.get("alibi") and config["num_attention_heads"] > 8 else None
    if family.endswith("vl_text") and refused != "TypeError" and not (refused and config.get("hidden_size") == 516):
        return streams(config, rope, kind, refused, layers and layers[0].get("sections"))
    if refused:
        return answered(config, rope, kind, refused)
    listed = config.get("no_rope_layers")
    if listed and len(listed) != config["num_hidden_layers"] and family == "smollm3":
        return "layer-list-length"
    if family == "deepseek_v4" or "full_attention" in rope:
        return None
    return refused_part(config, kind) or refused_number(config, rope, kind)

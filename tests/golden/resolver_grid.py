"""Configurations drawn at random, for make_resolver_grid.py: tiny sizes, and every setting of position that a family's class reads, in the
spellings of version 4 and 5 by hand. `draw(rng, family)` gives what a config.json would hold.
"""

THETAS = (1e4, 5e5, 1e6, 31415.0, 250000.0)
PLAIN = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")
QWEN = {"use_sliding_window": (True, False), "max_window_layers": (0, 1, 2, 3)}
MOE = {"num_local_experts": 2, "num_experts_per_tok": 1}


def maybe(rng, share, config, **settings):
    """Each of the settings, where the die says so; a tuple of values is a choice."""
    for key, value in settings.items():
        if rng.random() < share:
            config[key] = rng.choice(value) if isinstance(value, tuple) else value
    return config


def sizes(rng, family):
    heads = rng.choice((2, 3, 4, 6))
    dim = rng.choice((8, 12, 16, 20, 24, 32))
    kv = rng.choice([n for n in (1, 2, 3, 4, 6) if heads % n == 0])
    config = {"model_type": family, "hidden_size": heads * dim, "num_hidden_layers": rng.choice((2, 3, 4, 5, 6, 7)), "num_attention_heads": heads,
              "num_key_value_heads": kv, "max_position_embeddings": rng.choice((48, 64, 96, 160)), "vocab_size": 19, "intermediate_size": 20,
              "pad_token_id": 0}
    return config, dim


def own_heads(rng, config, dim, share=0.5):
    """A head that is not the width divided by the heads."""
    if rng.random() < share:
        config["head_dim"] = dim if rng.random() < 0.5 else rng.choice((8, 12, 16, 24, 40))
    return config.get("head_dim", dim)


def of_type(rng, kind, dims, longest, named):
    """A dictionary of this type for so many turning channels."""
    d = {named: kind}
    original = rng.choice((longest // 4, longest // 2, 24))
    if kind in ("linear", "dynamic", "yarn", "llama3"):
        d["factor"] = rng.choice((1.5, 2.0, 4, 8.0, 16.0))
    if kind == "yarn":
        maybe(rng, 0.3, d, beta_fast=(8, 16.0), beta_slow=(0.5, 2), truncate=(True, False), attention_factor=(1.25, 0.8),
              mscale=(1.0, 0.7), mscale_all_dim=(1.0, 0.5))
        maybe(rng, 0.7, d, original_max_position_embeddings=original)
    if kind == "llama3":
        d |= {"original_max_position_embeddings": original, "low_freq_factor": rng.choice((1.0, 0.5)), "high_freq_factor": rng.choice((4.0, 2))}
    if kind == "longrope":
        d |= {"short_factor": [round(1 + rng.random(), 3) for _ in range(dims // 2)],
              "long_factor": [round(1 + 9 * rng.random(), 3) for _ in range(dims // 2)], "original_max_position_embeddings": original}
        maybe(rng, 0.3, d, factor=(4.0, 2.0), attention_factor=(1.1, 1.3))
    return d


def spelt(rng, config, kinds, dims, theta_key="rope_theta"):
    """The base and the scaling, in one of the four spellings."""
    longest = config["max_position_embeddings"]
    kind, theta = rng.choice(kinds), rng.choice((None, *THETAS))
    named = rng.choice(("type", "rope_type"))
    rope = of_type(rng, kind, dims, longest, named)
    if rng.random() < 0.5:
        if theta is not None:
            config[theta_key] = theta
        if kind != "default" or rng.random() < 0.2:
            config["rope_scaling"] = rope
    elif kind != "default" or theta is not None:
        config["rope_parameters"] = {**({"rope_theta": theta} if theta is not None else {}), **rope}
    if kind in ("yarn", "longrope", "llama3") and rng.random() < 0.15:
        config["original_max_position_embeddings"] = longest // 2
    return config


def kinds_of_layers(rng, config, words, share=0.4):
    if rng.random() < share:
        config["layer_types"] = [rng.choice(words) for _ in range(config["num_hidden_layers"])]
    return config


BOTH = ("sliding_attention", "full_attention")
WINDOWS = (3, 4, 5, 6, 7, 9)


def rotary(kinds=PLAIN, head=True, part=None, more=None, fixed=None, theta_key="rope_theta"):
    """A family with one dictionary: `part` is the key of the share that turns, `more` draws what else it has."""
    def make(rng, family):
        config, dim = sizes(rng, family)
        dim = own_heads(rng, config, dim, 0.5 if head is True else 1) if head else dim
        config |= fixed or {}
        turning = dim
        if part:
            maybe(rng, 0.6, config, **{part: (0.25, 0.5, 0.75, 1.0)})
            turning = int(dim * config.get(part, SHARE.get(family, 1)))
        spelt(rng, config, kinds, turning, theta_key)
        heads_of_keys(rng, config)
        return more(rng, config) if more else config
    return make


SHARE = {"phi": 0.5, "stablelm": 0.25, "glm": 0.5, "glm4": 0.5, "gpt_neox": 0.25}


def qwen(rng, config):
    return kinds_of_layers(rng, maybe(rng, 0.5, config, sliding_window=WINDOWS, **QWEN), BOTH, 0.25)


def alternating(**more):
    def add(rng, config):
        return kinds_of_layers(rng, maybe(rng, 0.6, config, sliding_window=WINDOWS, **more), BOTH)
    return add


def smollm3(rng, config):
    n = config["num_hidden_layers"]
    maybe(rng, 0.7, config, sliding_window=WINDOWS, use_sliding_window=(True, True, False), no_rope_layer_interval=(2, 3, 4, 5))
    if rng.random() < 0.3:
        config["no_rope_layers"] = [rng.choice((0, 1)) for _ in range(n)]
    return kinds_of_layers(rng, config, BOTH, 0.3) if "sliding_window" in config else config


def llama4(rng, config):
    n = config["num_hidden_layers"]
    maybe(rng, 0.5, config, attention_chunk_size=(3, 4, 5, 7), no_rope_layer_interval=(2, 3, 4), floor_scale=(2, 3, 5), attn_scale=(0.1, 0.3),
          attn_temperature_tuning=(True, False))
    if rng.random() < 0.3:
        config["no_rope_layers"] = [rng.choice((0, 1)) for _ in range(n)]
    return kinds_of_layers(rng, config, ("chunked_attention", "full_attention"), 0.3)


def granite_swa(rng, config):
    maybe(rng, 0.6, config, sliding_window=WINDOWS, attention_multiplier=(0.2, 0.0625, 1.0))
    if rng.random() < 0.5:
        config["layer_rope_theta"] = [rng.choice((0, 1e4, 5e5)) for _ in range(config["num_hidden_layers"])]
    return kinds_of_layers(rng, config, BOTH)


def granite(rng, config):
    return maybe(rng, 0.7, config, attention_multiplier=(0.2, 0.0625, 1.0))


def gemma_scale(rng, config):
    maybe(rng, 0.6, config, query_pre_attn_scalar=(16, 100, 168), use_bidirectional_attention=(True, False))
    return alternating()(rng, config)


def windowed(rng, config):
    config["sliding_window"] = rng.choice((None, *WINDOWS))
    return config


def ministral(rng, config):
    """Mistral as AutoConfig reads it where there are layer_types."""
    maybe(rng, 0.8, config, sliding_window=WINDOWS)
    config["layer_types"] = [rng.choice(BOTH) for _ in range(config["num_hidden_layers"])]
    return config


def heads_of_keys(rng, config):
    """A null, or no such key: as many as heads, or the class's own number."""
    if "num_key_value_heads" in config and rng.random() < 0.15:
        config["num_key_value_heads"] = None
    elif "num_key_value_heads" in config and rng.random() < 0.1:
        del config["num_key_value_heads"]
    return config


def ministral3(rng, config):
    """Its class reads the temperature of every dictionary, and fails where there is none."""
    for name in ("rope_parameters", "rope_scaling"):
        if name in config:
            config[name]["llama_4_scaling_beta"] = rng.choice((0.1, 0.3))
    return windowed(rng, config)


def by_kind(theta_key, sliding_key, more):
    """A dictionary for each kind of layer, or what older files had."""
    def make(rng, family):
        config, dim = sizes(rng, family)
        if family == "gemma3_text":
            dim = own_heads(rng, config, dim, 1)
        more(rng, config)
        longest = config["max_position_embeddings"]
        kind = rng.choice(("default", "linear", "yarn", "llama3", "dynamic"))
        rope = of_type(rng, kind, dim, longest, rng.choice(("type", "rope_type")))
        if rng.random() < 0.5:
            maybe(rng, 0.6, config, **{theta_key: THETAS, **({sliding_key: (1e4, 20000.0)} if sliding_key else {})})
            if kind != "default":
                config["rope_scaling"] = rope
        else:
            other = of_type(rng, rng.choice(("default", "default", "linear")), dim, longest, "rope_type")
            config["rope_parameters"] = {"full_attention": maybe(rng, 0.7, rope, rope_theta=THETAS),
                                         "sliding_attention": maybe(rng, 0.7, other, rope_theta=THETAS)}
        return config
    return make


def gemma3(rng, config):
    maybe(rng, 0.5, config, query_pre_attn_scalar=(16, 100), use_bidirectional_attention=(True, False), sliding_window_pattern=(2, 3, 6))
    return alternating()(rng, config)


def modernbert(rng, config):
    del config["num_key_value_heads"]
    maybe(rng, 0.5, config, local_attention=(4, 6, 8, 10), global_attn_every_n_layers=(1, 2, 3, 4))
    return kinds_of_layers(rng, config, BOTH, 0.3)


def gemma4(rng, family):
    config, dim = sizes(rng, family)
    n = config["num_hidden_layers"]
    config |= {"head_dim": dim, "vocab_size_per_layer_input": 19, "hidden_size_per_layer_input": 4}
    maybe(rng, 0.5, config, sliding_window=WINDOWS, use_bidirectional_attention=("all", "vision"), attention_k_eq_v=(True, False))
    kinds_of_layers(rng, config, BOTH, 0.5)
    maybe(rng, 0.5, config, global_head_dim=(16, 32, 40), num_global_key_value_heads=1)
    types = config.get("layer_types", ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention" for i in range(n)])
    if rng.random() < 0.3:
        own = maybe(rng, 0.7, {"head_dim": 24}, num_key_value_heads=1)
        width = rng.choice((1, 2, 3))
        config["per_layer_config"] = {str(i).zfill(width): dict(own) for i in range(n) if types[i] == "full_attention" or i == n - 1}
    if rng.random() < 0.6:
        full = rng.choice(({"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 5e5},
                           {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6, "factor": 4.0},
                           {"rope_type": "default", "rope_theta": 31415.0}, {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6}))
        config["rope_parameters"] = {"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": rng.choice(THETAS)}}
    return config


def latent(rng, family):
    config, _ = sizes(rng, family)
    rope = rng.choice((4, 8, 12, 16))
    config |= {"qk_nope_head_dim": rng.choice((4, 8, 16)), "qk_rope_head_dim": rope, "v_head_dim": 8, "kv_lora_rank": 12, "q_lora_rank": 12,
               "n_routed_experts": 2, "num_experts_per_tok": 1, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 99, "moe_intermediate_size": 8,
               "num_key_value_heads": config["num_attention_heads"]}
    if family == "deepseek_v3":
        maybe(rng, 0.5, config, rope_interleave=(True, False))
    if family == "deepseek_v32":
        config |= {"index_n_heads": 2, "index_head_dim": max(8, rope), "index_topk": 64}
    if family != "deepseek_v32":
        maybe(rng, 0.15, config, num_key_value_heads=(None, None))
    return spelt(rng, config, ("default", "linear", "dynamic", "yarn", "yarn", "llama3"), rope)


def streams(rng, config):
    dim = config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])
    first = rng.choice((1, 2))
    sections = [first, 1, dim // 2 - first - 1]
    for name in ("rope_parameters", "rope_scaling"):
        if name in config:
            config[name]["mrope_section"] = sections
    if "rope_parameters" not in config and "rope_scaling" not in config:
        config["rope_scaling"] = {rng.choice(("type", "rope_type")): "default", "mrope_section": sections}
    return qwen(rng, config) if config["model_type"].startswith("qwen2") else config


def blocks(rng, family):
    heads, dim, n = rng.choice((2, 4)), rng.choice((16, 32)), rng.choice((3, 4, 5))
    config = {"model_type": family, "hidden_size": 32, "num_hidden_layers": n, "num_attention_heads": heads, "head_dim": dim, "vocab_size": 19,
              "pad_token_id": 0, "max_position_embeddings": 64, "moe_intermediate_size": 8, "q_lora_rank": 8, "o_lora_rank": 8, "o_groups": 2,
              "index_n_heads": 2, "index_head_dim": dim, "index_topk": 4, "n_routed_experts": 2, "num_experts_per_tok": 1}
    maybe(rng, 0.6, config, sliding_window=(4, 5, 6), qk_rope_head_dim=(4, 8), rope_theta=THETAS, compress_rope_theta=THETAS,
          compress_rates={"compressed_sparse_attention": rng.choice((2, 3, 4)), "heavily_compressed_attention": rng.choice((5, 8))})
    if rng.random() < 0.5:
        config["compress_ratios"] = [rng.choice((0, 4, 128)) for _ in range(n)]
    else:
        kinds_of_layers(rng, config, ("sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"), 0.6)
    if rng.random() < 0.5:
        rope = of_type(rng, rng.choice(("yarn", "linear", "default")), 8, 64, rng.choice(("type", "rope_type")))
        config[rng.choice(("rope_parameters", "rope_scaling"))] = rope
    return config


def inkling(rng, family):
    config, dim = sizes(rng, family)
    n = config["num_hidden_layers"]
    config |= {"head_dim": dim, "swa_num_attention_heads": 4, "swa_num_key_value_heads": rng.choice((1, 2, 4)), "swa_head_dim": rng.choice((8, 16)),
               "d_rel": rng.choice((2, 4)), "mlp_layer_types": ["dense"] * n}
    maybe(rng, 0.6, config, sliding_window_size=WINDOWS, rel_extent=(4, 8, 20), log_scaling_n_floor=(4, 64), log_scaling_alpha=(0.1, 0.3))
    if rng.random() < 0.4:
        config["local_layer_ids"] = [i for i in range(n) if rng.random() < 0.5]
    return kinds_of_layers(rng, config, ("hybrid", "hybrid_sliding"), 0.3)


def named(rng, family, width, layers, heads, longest, **more):
    """A family with words of its own for the sizes."""
    h, dim = rng.choice((2, 3, 4, 6, 8)), rng.choice((8, 12, 16, 20))
    config = {"model_type": family, width: h * dim, layers: rng.choice((2, 3, 4)), heads: h, "vocab_size": 19, "pad_token_id": 0, **more}
    if longest:
        config[longest] = rng.choice((16, 24, 40))
    return config


def gptj(rng, family):
    config = named(rng, family, "n_embd", "n_layer", "n_head", "n_positions")
    if family == "codegen":  # its projections are cut in four
        config |= {"n_head": 4, "n_embd": 4 * rng.choice((8, 16))}
    return maybe(rng, 0.9, config, rotary_dim=(2, 4, 6, 8, None))


def gpt2(rng, family):
    config = named(rng, family, "n_embd", "n_layer", "n_head", "n_positions")
    return maybe(rng, 0.5, config, scale_attn_weights=(True, False), scale_attn_by_inverse_layer_idx=(True, False))


def table(rng, family):
    config = named(rng, family, "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings", intermediate_size=20)
    if family == "opt":
        config |= {"ffn_dim": 20, "word_embed_proj_dim": config["hidden_size"]}
    elif family == "electra":
        config["embedding_size"] = rng.choice((8, config["hidden_size"]))
    elif family != "bert":
        config["pad_token_id"] = rng.choice((0, 1, 2, 3))
    return config


def distilbert(rng, family):
    return named(rng, family, "dim", "n_layers", "n_heads", "max_position_embeddings", hidden_dim=20)


def mpnet(rng, family):
    return maybe(rng, 0.4, table(rng, family), relative_attention_num_buckets=(16, 32, 64))


def bloom(rng, family):
    return named(rng, family, "hidden_size", "n_layer", "n_head", None)


def mpt(rng, family):
    config = named(rng, family, "d_model", "n_layers", "n_heads", "max_seq_len", expansion_ratio=2)
    settings = maybe(rng, 0.5, {}, softmax_scale=(0.5, 0.11, 1.0), alibi_bias_max=(8, 16), alibi=(True, False))
    return {**config, "attn_config": settings} if settings else config


def falcon(rng, family):
    config = named(rng, family, "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")
    maybe(rng, 0.5, config, alibi=(True, False), new_decoder_architecture=(True, False), multi_query=(True, False))
    if config.get("new_decoder_architecture"):
        config["num_kv_heads"] = rng.choice([n for n in (1, 2, 4) if config["num_attention_heads"] % n == 0])
    if not config.get("alibi"):
        spelt(rng, config, ("default", "linear", "dynamic", "yarn"), config["hidden_size"] // config["num_attention_heads"])
    return config


def t5(rng, family):
    config = named(rng, family, "d_model", "num_layers", "num_heads", None, d_ff=20)
    config["d_kv"] = rng.choice((8, 12, config["d_model"] // config["num_heads"]))
    return maybe(rng, 0.5, config, relative_attention_num_buckets=(8, 16, 32), relative_attention_max_distance=(20, 64, 128),
                 num_decoder_layers=(2, 3))


def deberta(rng, family):
    config = table(rng, family) | {"pad_token_id": 0, "type_vocab_size": 0}
    maybe(rng, 0.8, config, relative_attention=(True, True, False), pos_att_type=("c2p|p2c", "c2p", "p2c", ["c2p", "p2c"]),
          max_relative_positions=(-1, 12, 40), position_biased_input=(True, False))
    if rng.random() < 0.15:
        config.pop("pos_att_type", None)
    if family == "deberta-v2":
        maybe(rng, 0.6, config, position_buckets=(4, 8, -1), share_att_key=(True, False), norm_rel_ebd=("layer_norm", "none"))
    return config


FAMILIES = {
    **{f: rotary() for f in ("llama",)},
    "gemma": rotary(head="own"), "olmo": rotary(("default", "linear", "dynamic"), head=False), "olmo2": rotary(head=False),
    "mistral": rotary(more=windowed), "ministral": rotary(head="own", more=ministral), "mixtral": rotary(more=windowed, head="own", fixed=MOE), "qwen2": rotary(head=False, more=qwen),
    "qwen3": rotary(head="own", more=qwen), "qwen3_moe": rotary(head="own", fixed={"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8}),
    "qwen2_vl_text": rotary(("default", "mrope", "yarn", "linear"), head=False, more=streams),
    "qwen2_5_vl_text": rotary(("default", "mrope", "yarn"), head=False, more=streams),
    "qwen3_vl_text": rotary(("default", "yarn", "linear"), head="own", more=streams),
    "phi": rotary(head=False, part="partial_rotary_factor"), "stablelm": rotary(head=False, part="partial_rotary_factor"),
    "phi3": rotary(("default", "longrope"), head=False, part="partial_rotary_factor", more=windowed),
    "glm": rotary(head="own", part="partial_rotary_factor"), "glm4": rotary(head="own", part="partial_rotary_factor"),
    "gpt_neox": rotary(head=False, part="rotary_pct", theta_key="rotary_emb_base"),
    "gemma2": rotary(head="own", more=gemma_scale), "smollm3": rotary(head=False, more=smollm3),
    "llama4_text": rotary(("default", "llama3", "linear"), head="own", more=llama4, fixed=MOE | {"interleave_moe_layer_step": 99, "intermediate_size_mlp": 20}),
    "gpt_oss": rotary(head="own", more=alternating(), fixed=MOE), "exaone4": rotary(head=False, more=alternating(sliding_window_pattern=(2, 3, 4))),
    "granite": rotary(head=False, more=granite), "granite_swa": rotary(head=False, more=granite_swa),
    "granitemoe_swa": rotary(head=False, more=granite_swa, fixed=MOE), "nomic_bert": rotary(head=False),
    "ministral3": rotary(("yarn",), head="own", more=ministral3), "hunyuan_v1_dense": rotary(head="own"),
    "hunyuan_v1_moe": rotary(head="own", fixed={"num_experts": 2, "moe_topk": 1}),
    "gemma3_text": by_kind("rope_theta", "rope_local_base_freq", gemma3), "olmo3": by_kind("rope_theta", None, alternating()),
    "modernbert": by_kind("global_rope_theta", "local_rope_theta", modernbert), "gemma4_text": gemma4,
    **{f: latent for f in ("deepseek_v2", "deepseek_v3", "deepseek_v32")}, "deepseek_v4": blocks,
    **{f: gptj for f in ("gptj", "codegen")}, "gpt2": gpt2, **{f: table for f in ("bert", "roberta", "xlm-roberta", "camembert", "opt", "electra")}, "distilbert": distilbert,
    "mpnet": mpnet, "bloom": bloom, "mpt": mpt, "falcon": falcon, **{f: t5 for f in ("t5", "mt5", "umt5")},
    **{f: deberta for f in ("deberta", "deberta-v2")}, "inkling_text": inkling,
}


def listed_bases(rng, config):
    """Granite's and Muse's: which layers turn."""
    if rng.random() < 0.5:
        config["layer_rope_theta"] = [rng.choice((0, 1e4)) for _ in range(config["num_hidden_layers"])]
    return alternating()(rng, config)


def whole_width(more):
    """A class whose attention writes as many channels as the model has."""
    def add(rng, config):
        config["hidden_size"] = config["num_attention_heads"] * config["head_dim"]
        return more(rng, config)
    return add


def phimoe(rng, config):
    for name in ("rope_parameters", "rope_scaling"):
        if name in config:
            config[name] |= {"short_mscale": 1.2, "long_mscale": 1.2}
    return windowed(rng, config)


def per_kind(words, more=lambda rng, config: config, part=False):
    """A dictionary for each kind of layer, and no other way to say it."""
    def make(rng, family):
        config, dim = sizes(rng, family)
        config["head_dim"] = dim
        kinds_of_layers(rng, maybe(rng, 0.6, config, sliding_window=WINDOWS), words, 0.7)
        if rng.random() < 0.7:
            kinds = {w: {"rope_theta": rng.choice(THETAS), **of_type(rng, rng.choice(("default", "linear", "yarn", "llama3")), dim, 64, "rope_type")} for w in words}
            for d in kinds.values() if part else ():
                maybe(rng, 0.5, d, partial_rotary_factor=(0.5, 1.0))
            config["rope_parameters"] = kinds
        return more(rng, config)
    return make


def hrm(rng, config):
    del config["num_key_value_heads"]
    config["num_hidden_layers"] = rng.choice((1, 2))
    return maybe(rng, 0.5, config, H_cycles=(1, 2), L_cycles=(1, 2))


def molmo2(rng, config):
    return maybe(rng, 0.5, config, rope_scaling_layers=([0], [1, 2], []))


def cohere2_moe(rng, config):
    n = config["num_hidden_layers"]
    maybe(rng, 0.5, config, first_k_dense_replace=(0, 1, 2), prefix_dense_sliding_window_pattern=(1, 2), sliding_window_pattern=(2, 3, 4))
    if rng.random() < 0.3:
        config["mlp_layer_types"] = [rng.choice(("dense", "sparse")) for _ in range(n)]
    return alternating()(rng, config | {"prefix_dense_intermediate_size": 20})


def crossed(rng, config):
    n = config["num_hidden_layers"]
    return maybe(rng, 0.5, config, cross_attention_layers=([0], [n - 1], []))


DENSE = {"num_experts": 2, "num_local_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8, "n_routed_experts": 2, "n_shared_experts": 1, "n_group": 1,
         "topk_group": 1, "shared_expert_intermediate_size": 8, "first_k_dense_replace": 99}
# Families of which classes.json has one configuration each. They are drawn when they are named.
MORE = {
    **{f: rotary(fixed=DENSE) for f in ("cohere", "ernie4_5_moe", "granitemoe", "granitemoeshared", "apertus", "flex_olmo", "emu3_text_model",
                                        "granite_docling_text")},
    **{f: rotary(head=False, fixed=DENSE) for f in ("bitnet", "olmoe")},
    **{f: rotary(head="own", fixed=DENSE) for f in ("ernie4_5", "minimax_m2", "seed_oss", "hy_v3")},
    **{f: rotary() for f in ("aria_text", "arcee", "jais2", "moshi", "hyperclovax")},
    "helium": rotary(head="own", more=whole_width(lambda rng, config: config)), "higgs_audio_v2": rotary(head="own"),
    "glm4_moe": rotary(head="own", part="partial_rotary_factor", fixed=DENSE), "solar_open": rotary(head="own", part="partial_rotary_factor", fixed=DENSE),
    "nemotron": rotary(head="own", part="partial_rotary_factor"), "persimmon": rotary(head=False, part="partial_rotary_factor"),
    "hrm_text": rotary(head="own", more=hrm), "molmo2_text": rotary(head="own", more=molmo2), "mllama_text_model": rotary(head=False, more=crossed),
    "starcoder2": rotary(head=False, more=windowed), "qwen2_moe": rotary(head=False, more=qwen, fixed=DENSE), "phimoe": rotary(("default", "longrope"), head=False, more=phimoe, fixed=DENSE),
    "phi4_multimodal": rotary(("default", "longrope"), head=False, part="partial_rotary_factor", more=windowed),
    "cohere2": rotary(head=False, more=alternating(sliding_window_pattern=(2, 3, 4))), "cohere2_moe": rotary(head="own", more=cohere2_moe, fixed=DENSE),
    "gemma3n_text": by_kind("rope_theta", "rope_local_base_freq", alternating()), "vaultgemma": rotary(head="own", more=gemma_scale),
    "exaone_moe": rotary(head=False, more=alternating(sliding_window_pattern=(2, 3, 4)), fixed=DENSE),
    "afmoe": rotary(head="own", more=alternating(global_attn_every_n_layers=(2, 3, 4)), fixed=DENSE | {"num_dense_layers": 99}), "cwm": rotary(head="own", more=alternating()),
    "dots1": rotary(head=False, more=alternating(max_window_layers=(0, 1, 2, 3)), fixed=DENSE),
    "flint": rotary(head="own", more=alternating(), fixed=DENSE), "kolibri1": rotary(head="own", more=alternating(), fixed=DENSE),
    "muse_glimmer_text": rotary(head="own", more=listed_bases), "muse_spark_text": rotary(head="own", more=listed_bases, fixed=DENSE | {"moe_hidden_size": 8}),
    "laguna": per_kind(BOTH, part=True), "mellum": per_kind(BOTH, part=True), "beam": per_kind(BOTH), "zaya": per_kind(("hybrid", "hybrid_sliding"), part=True),
    "minimax_m3_vl_text": rotary(head="own", fixed=DENSE),
}
COMPOSITE = {"gemma3": "gemma3_text", "gemma4": "gemma4_text", "llama4": "llama4_text", "qwen2_vl": "qwen2_vl_text", "qwen2_5_vl": "qwen2_5_vl_text",
             "qwen3_vl": "qwen3_vl_text", "mistral3": "mistral", "inkling_mm_model": "inkling_text"}


def draw(rng, family):
    if family in MORE:
        return MORE[family](rng, family)
    if family == "ministral" and rng.random() < 0.5:
        return FAMILIES[family](rng, "mistral")
    if family in COMPOSITE:
        return {"model_type": family, "text_config": FAMILIES[COMPOSITE[family]](rng, COMPOSITE[family])}
    return FAMILIES[family](rng, family)


def families():
    return [*FAMILIES, *COMPOSITE]

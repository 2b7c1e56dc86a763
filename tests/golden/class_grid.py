"""Settings of position drawn at random for any class of classes.json, for make_class_grid.py. What is drawn follows from the file that the
class saves: each key of position that it has gets other values, and the rotation one of the types of scaling, in the spelling of version 5
(rope_parameters) or of version 4 (rope_theta and rope_scaling). No class is named here.
"""

from resolver_grid import THETAS, WINDOWS, of_type

TYPES = ("default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional")
LENGTHS = (48, 64, 96, 160)
SHARES = (0.25, 0.5, 0.75, 1.0)
FLAGS = ("rope", "window", "sliding", "bidirectional", "nope")
LONGEST = ("max_position_embeddings", "model_max_length", "max_seq_len", "n_positions")
SCALING = ("rope_type", "type", "rope_theta", "factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate", "attention_factor",
           "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor", "short_factor", "long_factor")


def by_kind(rope):
    return any(isinstance(v, dict) for v in rope.values())


def longest_of(config):
    return next((config[name] for name in LONGEST if isinstance(config.get(name), int)), LENGTHS[0])


def heads(rng, config, file):
    """Other heads of keys and another width of a head, where the file says them as numbers of its own."""
    own = file.get("num_key_value_heads")
    if isinstance(own, int) and own not in (1, file.get("num_attention_heads")):
        config["num_key_value_heads"] = rng.choice([n for n in (1, 2, 4) if file["num_attention_heads"] % n == 0])
    streams = "mrope_section" in str(file.get("rope_parameters"))
    if isinstance(file.get("head_dim"), int) and "qk_rope_head_dim" not in file and not streams and rng.random() < 0.5:
        config["head_dim"] = rng.choice((16, 24, 32, 40))


def seen(rng, config, file):
    """Windows, and which layers have one: the class's own kinds in another order."""
    if isinstance(file.get("sliding_window"), int) and rng.random() < 0.7:
        config["sliding_window"] = rng.choice(WINDOWS)
    types = file.get("layer_types")
    if isinstance(types, list) and "per_layer_config" not in file and rng.random() < 0.5:
        config["layer_types"] = rng.sample(types, len(types))
    for key, value in file.items():
        if isinstance(value, bool) and any(word in key for word in FLAGS) and rng.random() < 0.3:
            config[key] = not value


def part_of(rng, rope):
    return {"partial_rotary_factor": rng.choice(SHARES)} if "partial_rotary_factor" in rope and rng.random() < 0.6 else {}


def dictionary(rng, own, pairs, longest, named="rope_type"):
    """A dictionary in place of the class's own: a type, a base, and whatever its own has beside its scaling."""
    kept, part = {k: v for k, v in own.items() if k not in SCALING}, part_of(rng, own)
    turning = int(2 * pairs * part.get("partial_rotary_factor", 1) / own.get("partial_rotary_factor", 1))
    return {**kept, **part, **of_type(rng, rng.choice(TYPES), turning, longest, named), "rope_theta": rng.choice(THETAS)}


def in_version_5(rng, config, own, pairs):
    longest = longest_of(config)
    if by_kind(own):
        config["rope_parameters"] = {k: dictionary(rng, v, pairs[k], longest) if isinstance(v, dict) else v for k, v in own.items()}
    else:
        config["rope_parameters"] = dictionary(rng, own, pairs[""], longest)


def in_version_4(rng, config, own, pairs):
    """The base and the share at the top level, the scaling in a dictionary of its own."""
    named = rng.choice(("type", "rope_type"))
    first = own if not by_kind(own) else next(v for v in own.values() if isinstance(v, dict))
    rope = dictionary(rng, first, max(pairs.values()), longest_of(config), named)
    config.pop("rope_parameters", None)
    theta, share = rope.pop("rope_theta"), rope.pop("partial_rotary_factor", None)
    if rng.random() < 0.7:
        config["rope_theta"] = theta
    if share is not None:
        config["partial_rotary_factor"] = share
    if len(rope) > 1 or rope[named] != "default":
        config["rope_scaling"] = rope


def draw(rng, file, defaults, pairs_of):
    """A file of the class that saves `file`; pairs_of: the turning pairs of each kind of layer ("": of all) in such a file."""
    config = dict(file)
    for key in LONGEST:
        if isinstance(file.get(key), int):
            config[key] = rng.choice(LENGTHS)
    heads(rng, config, file)
    seen(rng, config, file)
    if rng.random() < 0.5:  # older files leave out what the class has by itself
        for key in defaults:
            if key != "rope_parameters" and config.get(key) == file[key] and rng.random() < 0.5:
                del config[key]
    own = file.get("rope_parameters") or {}
    if rng.random() < 0.85:
        (in_version_5 if rng.random() < 0.5 else in_version_4)(rng, config, own, pairs_of(config))
    elif "rope_parameters" in defaults and rng.random() < 0.5:
        del config["rope_parameters"]
    if rng.random() < 0.1:  # embedding models made from decoders say it
        config["is_causal"] = False
    return config

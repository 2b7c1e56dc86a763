"""Towers for images and sound by the classes of transformers, and what they do with position: tests/golden/towers.json.

    python3 make_towers.py

transformers 5.23.0, torch 2.15.0. Each class is made small and runs on an image of a few patches, of which the place is known, or on a short
sound. What turns is seen around the class's own function of rotation: `pairs` has, for each two channels that turn together, their angle for
one row and for one column of patches, the angle at the first patch, and that for one frame where the class turns by frames, too. `still` counts
tokens that do not turn, `learned` those that turn by a weight; `kv_heads` is there if it is not the number of heads. `turns` says it of each
layer, if not all do, and `windows` into how many parts each divides 32 x 16 patches. What is added is the difference between a run with the
class's table and one with zeros: `table` has its rows, and the row of each token. `other` says what the class does with an image of another
size, and by which interpolation of torch its rows come about. `bare`: the class of full size of a file that says nothing. `within`: the towers
of larger models; `unknown`: those that no class here is run for. gnomon is not used.
"""

import json
import pathlib
import warnings

import torch
import transformers
from torch.nn import functional
from tower_classes import COLUMNS, HEADS, ROWS, TOWERS, WIDTH, heard, in_chunks, pixels, placed, sound
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
HERE = pathlib.Path(__file__).parent
torch.set_num_threads(1)
ABOUT = ("hidden_size", "image_size", "patch", "head", "_layers", "depth", "_dim", "model_type", "position", "rope", "d_model", "register", "window",
         "fullatt", "spatial", "pos_emb_", "posemb", "layer_types")


def by(**how):
    return lambda grid, size: functional.interpolate(grid, size=size, **how)


def zeros_outside(grid, size):
    at = functional.affine_grid(torch.eye(2, 3)[None], (1, grid.shape[1], *size), align_corners=False)
    return functional.grid_sample(grid, at, mode="bilinear", padding_mode="zeros", align_corners=False)


MODES = {"bicubic": by(mode="bicubic"), "bilinear": by(mode="bilinear"), "bicubic, antialiased": by(mode="bicubic", antialias=True),
         "bilinear, antialiased": by(mode="bilinear", antialias=True), "bilinear, corner on corner": by(mode="bilinear", align_corners=True),
         "bilinear, zeros outside": zeros_outside, "nearest": by(mode="nearest")}
TURNS = ("apply_multidimensional_rope", "apply_rotary_pos_emb_vision", "vision_apply_rotary_emb", "apply_rotary_pos_emb")


def made(tower, config=None):
    torch.manual_seed(0)
    model = tower.model_class(config or tower.config_class(**tower.shape)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if (p.dim() > 1 or "cls_pos" in name) and "embed_positions" not in name:
                p.copy_(torch.randn(p.shape) / p.shape[-1] ** 0.5)
    return model


class Turning:
    """The first q before and after the class's own function of rotation, and how many heads its k has."""

    def __init__(self, module):
        self.module, self.inside, self.calls, self.seen = module, 0, 0, None

    def __enter__(self):
        self.own = {name: getattr(self.module, name) for name in TURNS if hasattr(self.module, name)}
        for name, function in self.own.items():
            setattr(self.module, name, self.around(function))
        return self

    def __exit__(self, *_):
        for name, function in self.own.items():
            setattr(self.module, name, function)

    def around(self, function):
        def turn(x, *given, **named):
            self.inside += 1
            out = function(x, *given, **named)
            self.inside -= 1
            self.calls += not self.inside
            if not self.inside and self.seen is None:
                self.seen = x.detach().clone(), (out[0] if isinstance(out, tuple) else out).detach().clone()
                self.key = out[1].shape if isinstance(out, tuple) and isinstance(out[1], torch.Tensor) else x.shape
            return out
        return turn


def by_token(x, tokens):
    """(tokens, heads, channels)."""
    x = x.reshape(x.shape[-3:])
    return x if x.shape[0] == tokens else x.transpose(0, 1)


def places(tower, rows, columns, tokens):
    """The row and the column of each token; None: it is no patch."""
    if tower.order == "blocks":
        found = [(r + i, c + j) for r in range(0, rows, 2) for c in range(0, columns, 2) for i in range(2) for j in range(2)]
    else:
        found = [(r, c) for r in range(rows) for c in range(columns)]
    more = [None] * (tokens - len(found))
    return found + more if tower.model_class.__name__ == "Llama4VisionModel" else more + found


def channels(kind, n):
    return {"halves": [(c, c + n // 2) for c in range(n // 2)], "adjacent": [(c, c + 1) for c in range(0, n, 2)],
            "blocks": [(b + c, b + c + n // 4) for b in (0, n // 2) for c in range(n // 4)],
            "thirds": [(c, c + n // 6 * 3) for c in range(n // 6 * 3)]}[kind]


def turned(tower, model):
    rows, columns = (8, 8) if "image_size" in tower.shape else (ROWS, COLUMNS)
    if tower.model_class.__name__ in ("PixtralVisionModel", "DINOv3ViTModel", "MLCDVisionModel"):
        rows, columns = ROWS, COLUMNS
    with Turning(tower.module) as turning, torch.no_grad():
        tower.call(model, rows, columns, **({"frames": 2} if tower.frames == 2 else {}))
    if turning.seen is None:
        return {}
    patches = rows * columns + {"Llama4VisionModel": 1, "DINOv3ViTModel": 4, "MLCDVisionModel": 1, "Inkling2VisionModel": 1}.get(tower.model_class.__name__, 0)
    x, y = (by_token(v.double(), patches * tower.frames) for v in turning.seen)
    for kind in ("halves", "adjacent", "blocks", "thirds"):
        pairs = channels(kind, x.shape[-1])
        turn = torch.stack([torch.complex(y[..., a], y[..., b]) / torch.complex(x[..., a], x[..., b]) for a, b in pairs], -1)
        rest = [c for c in range(x.shape[-1]) if not any(c in pair for pair in pairs)]
        if float((turn - turn.mean(1, keepdim=True)).abs().max()) < 1e-3 and torch.equal(x[..., rest], y[..., rest]):
            found = rotation(turn.mean(1)[:patches], pairs, places(tower, rows, columns, patches), rows, columns)
            if tower.frames == 2:
                by_frame(turn.mean(1), found)
            kv = [n for n in turning.key[-3:-1] if n != patches * tower.frames]
            found |= {} if tower.call in (pixels, placed) else by_layer(tower, model)
            return found | {"channels": x.shape[-1]} | ({"kv_heads": kv[0]} if kv != [HEADS] else {})
    raise ValueError("no pairs")


def turned_by_frames(tower, model):
    """The angle of each pair for one frame is the last of its numbers, as for images."""
    if tower.at:
        return {}
    with Turning(tower.module) as turning, torch.no_grad():
        tower.call(model, 12, 1)
    x, y = (by_token(v.double(), 12) for v in turning.seen)
    n = x.shape[-1]
    pairs, rest = [(c, c + n // 4) for c in range(n // 4)], list(range(n // 2, n))
    turn = torch.stack([torch.complex(y[..., a], y[..., b]) / torch.complex(x[..., a], x[..., b]) for a, b in pairs], -1)
    assert float((turn - turn.mean(1, keepdim=True)).abs().max()) < 1e-3 and torch.equal(x[..., rest], y[..., rest])
    turn = turn.mean(1)
    origin, frame = turn[0].angle(), (turn[1] / turn[0]).angle()
    assert max(float((turn[t] - torch.exp(1j * (origin + t * frame))).abs().max()) for t in range(12)) < 1e-4
    angles = torch.stack([origin, frame], -1).tolist()
    kv = [h for h in turning.key[-3:-1] if h != 12]
    return {"grid": [12, 1], "still": 0, "channels": n, **({"kv_heads": kv[0]} if kv != [HEADS] else {}),
            "pairs": [[a, b, 0.0, 0.0, *(round(v, 8) + 0.0 for v in angles[i])] for i, (a, b) in enumerate(pairs)]}


def by_layer(tower, model):
    """Whether each layer turns, if not all do, and into how many windows each divides 32 x 16 patches, if any does."""
    calls, windows = [0], []
    layers = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == model.config.num_hidden_layers)

    def note(_, given, named, out):
        calls.append(turning.calls)
        windows.append(len(named["cu_seqlens"]) - 1 if "cu_seqlens" in named else 1)

    hooks = [layer.register_forward_hook(note, with_kwargs=True) for layer in layers]
    with Turning(tower.module) as turning, torch.no_grad():
        tower.call(model, 32, 16)
    for hook in hooks:
        hook.remove()
    turns = [after > before for before, after in zip(calls, calls[1:])]
    return ({} if all(turns) else {"turns": turns}) | ({"windows": windows} if max(windows) > 1 else {})


def by_frame(turn, found):
    """The angle of each pair for one frame, behind its others."""
    first, second = turn.chunk(2)
    time = (second[0] / first[0]).angle()
    assert float((second - first * torch.exp(1j * time)).abs().max()) < 1e-4
    for pair, angle in zip(found["pairs"], time.tolist()):
        pair.append(round(angle, 8) + 0.0)


def rotation(turn, pairs, where, rows, columns):
    others = [t for t, place in enumerate(where) if place is None]
    still = [t for t in others if float((turn[t] - 1).abs().max()) < 1e-5]
    at = {place: turn[t] for t, place in enumerate(where) if place}
    origin = at[0, 0].angle()
    row, column = ((at[step] / at[0, 0]).angle() for step in ((1, 0), (0, 1)))
    worst = max(float((at[r, c] - torch.exp(1j * (origin + r * row + c * column))).abs().max()) for r, c in at)
    assert worst < 1e-4, worst
    angles = torch.stack([row, column, origin], -1).tolist()
    return {"grid": [rows, columns], "still": len(still), **({"learned": len(others) - len(still)} if len(others) > len(still) else {}),
            "pairs": [[a, b, *(round(x, 8) + 0.0 for x in angles[n])] for n, (a, b) in enumerate(pairs)]}


def tables_of(model, width=WIDTH):
    """Of several tables, the rows of one before those of the next: those of the class token are first."""
    return [(n, p) for n, p in model.named_parameters() if "pos" in n.replace("post", "") and p.shape[-1] == width]


def rows_of(model):
    return torch.cat([p.detach().reshape(-1, WIDTH) for _, p in tables_of(model)])


def added(tower, model, rows, columns, **named):
    """What the table adds to each token."""
    module, side = model.get_submodule(tower.at[0]) if not hasattr(model, "vision_model") else model.vision_model.get_submodule(tower.at[0]), tower.at[1]
    caught, own = [], rows_of(model)
    hook = module.register_forward_hook(lambda _, given, kwargs, out: caught.append(
        (out if side == "out" else given[0] if given else kwargs["hidden_states"]).detach().clone()), with_kwargs=True)
    kept = [(p, p.detach().clone()) for _, p in tables_of(model)]
    with torch.no_grad():
        tower.call(model, rows, columns, **named)
        for p, _ in kept:
            p.zero_()
        tower.call(model, rows, columns, **named)
        for p, values in kept:
            p.copy_(values)
    hook.remove()
    return (caught[0] - caught[1]).reshape(-1, WIDTH), own


def row_of(x, rows):
    if float(x.abs().max()) < 1e-6:
        return None
    distance = (rows - x).abs().amax(-1)
    return int(distance.argmin()) if float(distance.min()) < 1e-5 else -1


def resampled(tower, rows, side, found):
    """The interpolation of torch by which these rows come about."""
    first = len(rows) - side * side if tower.model_class.__name__ != "Llama4VisionModel" else 0
    grid = rows[first:first + side * side].reshape(1, side, side, WIDTH).permute(0, 3, 1, 2)
    order = [r * COLUMNS + c for r, c in places(tower, ROWS + 2, COLUMNS, (ROWS + 2) * COLUMNS)]
    for name, how in MODES.items():
        want = how(grid, (ROWS + 2, COLUMNS)).permute(0, 2, 3, 1).reshape(-1, WIDTH)[order]
        if float((found[-len(order):] - want).abs().max()) < 1e-5:
            return name
    raise ValueError("resampled in no way that is known")


def other_size(tower, model, side):
    found = {}
    for words, named in {"plain": {}, "asked": {"interpolate_pos_encoding": True}}.items():
        if words == "asked" and not tower.asks:
            continue
        try:
            rows, table = added(tower, model, ROWS + 2, COLUMNS, **named)
        except (ValueError, RuntimeError) as error:
            found[words] = "refused"
            print("   ", words, str(error)[:90])
            continue
        found[words] = resampled(tower, table, side, rows)
    return found


def tabled(tower, model):
    if tower.at is None:
        return {}
    rows, columns = (12, 1) if tower.call in (sound, heard) else (ROWS, ROWS)
    if tower.call is placed:
        columns = COLUMNS
    found, table = added(tower, model, rows, columns)
    if tower.call is placed:  # a row for the column plus one for the row
        both = table.reshape(2, -1, WIDTH)
        want = torch.stack([both[0, c] + both[1, r] for r, c in places(tower, rows, columns, rows * columns)])
        assert float((found - want).abs().max()) < 1e-5
        return {"table": {"rows": both.shape[1], "sum": "column, row"}}
    entry = {"rows": len(table), "of": [row_of(x, table) for x in found]}
    if tower.call in (sound, heard):
        torch.manual_seed(1)
        again = rows_of(tower.model_class(tower.config_class(**tower.shape)))
        if torch.equal(again, table):  # the class computes it, and does not draw it
            entry["sines"] = [[t, c, float(f"{found[t, c]:.7g}")] for t in (0, 1, 5, 11) for c in (0, 1, 31, 32, 33, 63)]
        try:
            tower.call(model, 14, 1)
        except (ValueError, RuntimeError):
            entry["other"] = {"plain": "refused"}
        return {"table": entry}
    return {"table": entry | {"other": other_size(tower, model, ROWS)}}


def decoder_of_whisper():
    """The rows of the decoder's table that its tokens read; the encoder is the tower."""
    tower = TOWERS["whisper"]
    config = tower.config_class(**tower.shape)
    model = tower.module.WhisperDecoder(config).eval()
    table, caught, tokens = model.embed_positions.weight, [], torch.arange(7)[None] + 3
    model.layers[0].register_forward_hook(lambda _, given, kwargs, out: caught.append(given[0].detach().clone()), with_kwargs=True)
    own = table.detach().clone()
    with torch.no_grad():
        model(input_ids=tokens, encoder_hidden_states=torch.rand(1, 12, WIDTH))
        table.zero_()
        model(input_ids=tokens, encoder_hidden_states=torch.rand(1, 12, WIDTH))
    return {"layers": len(model.layers), "heads": [model.layers[0].self_attn.num_heads, model.layers[0].self_attn.head_dim], "rows": len(own),
            "of": [row_of(x, own) for x in (caught[0] - caught[1])[0]]}


def told(config):
    file = json.loads(config.to_json_string(use_diff=False))
    return {k: v for k, v in file.items() if any(word in k for word in ABOUT) and "token_id" not in k and v is not None}


def bare(tower):
    """Sizes of the class of full size; its tensors are not made."""
    config = tower.config_class()
    with torch.device("meta"):
        model = tower.model_class(config)
    width = getattr(config, "embed_dim", None) or config.hidden_size
    rows = sum(p.numel() // width for _, p in tables_of(model, width)) // (2 if tower.call is placed else 1) if tower.at else None
    return {"width": width, "layers": config.num_hidden_layers,
            "heads": config.num_attention_heads, "rows": rows}


def answer(name, tower):
    print(name)
    config = tower.config_class(**tower.shape)
    model = made(tower, config)
    turns = turned(tower, model) if tower.call not in (sound, heard, in_chunks) else turned_by_frames(tower, model)
    more = {"decoder": decoder_of_whisper()} if name == "whisper" else {}
    return {"type": name, **more, "config": {"model_type": name} | told(config), "heads": [HEADS, turns.pop("channels", None) or WIDTH // HEADS], **turns,
            **tabled(tower, model), "bare": bare(tower)}


def takes_another(cls, part):
    """Whether an object that names another tower is of that one; None: the class makes no file of it."""
    other = "deit" if part == "vision_config" else "wav2vec2"
    try:
        return isinstance(getattr(cls(**{part: {"model_type": other}}), part), CONFIG_MAPPING[other])
    except Exception:  # of any kind: nobody knows
        return None


def parts_of(name):
    """The objects for images and sound of the file of a larger model that says nothing, or whose objects are empty."""
    config = CONFIG_MAPPING[name]()
    empty = {part: {} for part in ("vision_config", "audio_config") if getattr(config, part, 0) is None}
    config = CONFIG_MAPPING[name](**empty) if empty else config
    for outside in ("", "thinker_config", "vlm_config"):
        around = getattr(config, outside, None) if outside else config
        for part in ("vision_config", "audio_config"):
            own = getattr(around, part, None)
            if getattr(own, "model_type", ""):
                yield f"{outside}.{part}" if outside else part, own.model_type, takes_another(type(around), part)


def larger():
    """The towers of larger models, by those objects, and whether another may be named; and those that no class is run for."""
    found, unknown = {}, {}
    for name in CONFIG_MAPPING:
        try:
            for where, kind, takes in parts_of(name):
                if kind in TOWERS:
                    found.setdefault(name, {})[where] = [kind, takes]
                else:
                    unknown.setdefault(kind, []).append(name)
        except Exception:  # of any kind: such a class has no file of its own
            continue
    return dict(sorted(found.items())), dict(sorted(unknown.items()))


def main():
    lines = [json.dumps(answer(name, tower), separators=(",", ":")) for name, tower in TOWERS.items()]
    around, unknown = (json.dumps(one, separators=(",", ":")) for one in larger())
    (HERE / "towers.json").write_text('{"within":' + around + ',\n"unknown":' + unknown + ',\n"towers":[\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()

"""Models with numbers of a seed, and what transformers computes from them (make_opened.py says what is written)."""

import json

import torch
import transformers
from make_architectures import size_of
from opened_shapes import HALVES, LAST, MORE, MORE_GGUFS, NARROW, NEW, OF_LAYERS, PACKED_GGUFS, PAD, PAIR_GGUFS, PAIRS, PROMPT, B, T, V


def made(name, kind, config, seed):
    model_class = getattr(transformers, kind)
    torch.manual_seed(seed)
    model = model_class(model_class.config_class(**config)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            mean, deviation = size_of(key, parameter, model.config)
            if name in PAIRS | PAIR_GGUFS and parameter.ndim == 2 and "relative_attention_bias" not in key:
                deviation *= 0.6  # rows between the layers of order one, although nothing scales T5's logits
            parameter.copy_((mean + deviation * torch.randn(parameter.shape)).to(HALVES))
        for key, buffer in model.named_buffers():
            if key.endswith("layer_scalar"):
                buffer.copy_(0.4 + 0.5 * torch.rand(1))
    return model


def drawn_inputs(model, seed):
    torch.manual_seed(seed)
    inputs = torch.randint(2, V, (B, T))  # PAD is none of them
    if (pad := model.config.pad_token_id) is not None and pad > PAD:
        inputs[inputs == pad] = pad + 1
    return inputs


def digits(tensor, count):
    return [float(f"{x:.{count}g}") for x in tensor.flatten().tolist()]


def generated(model, tokens):
    """(B, NEW) by the largest logit, each step from the beginning; None if a step is nearly a tie."""
    for _ in range(NEW):
        best = model(input_ids=tokens, use_cache=False).logits[:, -1].topk(2)
        if (best.values[:, 0] - best.values[:, 1]).min() < 1e-3:
            return None
        tokens = torch.cat([tokens, best.indices[:, :1]], 1)
    return tokens[:, -NEW:].tolist()


@torch.no_grad()
def write_layers(folder, model, seed):
    decodes = "CausalLM" in type(model).__name__
    for draw in range(1000, 1100):
        inputs = drawn_inputs(model, seed + 100 * draw)
        written = generated(model, inputs[:, :PROMPT]) if decodes else None
        if written or not decodes:
            break
    last = []
    if back := getattr(getattr(getattr(model, "model", None), "decoder", None), "project_out", None):
        back.register_forward_pre_hook(lambda _, rows: last.append(rows[0]))  # OPT's last rows are wider than what it returns
    result = model(input_ids=inputs, output_hidden_states=True, return_dict=True)
    head = "logits" in result
    outputs = result.logits if head else result.last_hidden_state
    assert outputs.abs().max() > 0.5
    expected = {"inputs": inputs.tolist(), "head": head, "outputs": digits(outputs, 8),
                "layers": [digits(rows, 8) for rows in [*result.hidden_states[:-1], (last or result.hidden_states)[-1]]]}
    if decodes:
        expected["generated"] = written
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    return float(outputs.abs().max())


@torch.no_grad()
def write_pair(folder, model, seed):
    model = model.double()
    start = model.config.decoder_start_token_id
    for draw in range(1000, 1100):
        source, inputs = drawn_inputs(model, seed + 100 * draw), drawn_inputs(model, seed + 100 * draw + 1)
        source[1, -3:], inputs[:, 0] = PAD, start
        seen = {"input_ids": source, "attention_mask": (source != PAD).long()}
        # Without a cache: that of 5.23 has as many layers as the encoder.
        found = model.generate(**seen, do_sample=False, num_beams=1, max_new_tokens=NEW, output_logits=True, use_cache=False,
                               return_dict_in_generate=True, decoder_start_token_id=start)
        best, written = torch.stack(found.logits).topk(2).values, found.sequences[:, 1:].tolist()
        differs = len({tuple(row) for row in written}) > 1
        if (best[..., 0] - best[..., 1]).min() > 1e-3 and differs and all(len(row) == NEW and PAD not in row for row in written):
            break
    result = model(**seen, decoder_input_ids=inputs, output_hidden_states=True, return_dict=True)
    assert result.logits.abs().max() > 0.5
    expected = {"inputs": inputs.tolist(), "head": True, "outputs": digits(result.logits, 8),
                "layers": [digits(rows, 8) for rows in result.decoder_hidden_states], "source": source.tolist(),
                "encoder_layers": [digits(rows, 8) for rows in result.encoder_hidden_states], "prompt": 1, "generated": written}
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    return float(result.logits.abs().max())


@torch.no_grad()
def write_expected(folder, model, seed):
    model = model.float().eval()
    if "mxfp4" in folder.name:  # in float32 its rows round by up to 2.5e-5; grouped products have no float64
        model = model.double()
        model.set_experts_implementation("eager")
    if hasattr(model, "encoder") and hasattr(model, "decoder"):
        return write_pair(folder, model, seed)
    if folder.name in MORE | MORE_GGUFS | LAST | NARROW | OF_LAYERS | PAIR_GGUFS | PACKED_GGUFS:
        return write_layers(folder, model, seed)
    inputs = drawn_inputs(model, seed + 1000)
    result = model(input_ids=inputs)
    head = "logits" in result
    outputs = result.logits if head else result.last_hidden_state
    assert outputs.abs().max() > 0.5
    expected = {"inputs": inputs.tolist(), "head": head, "outputs": digits(outputs, 6)}
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    return float(outputs.abs().max())

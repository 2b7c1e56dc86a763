"""The two stacks of a class with an encoder and a decoder, each run as a model of its own: for make_classes.py."""

import copy

import torch
from transformers.modeling_outputs import MoEModelOutput
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

BESIDE_OTHERS = ("vision-encoder-decoder", "speech-encoder-decoder")  # the encoder reads no text
READ = 14  # tokens that the encoder has read, where the decoder runs: another number than the text's, so that cross attention is told apart


def stacks_of(config):
    """The stacks of text of a class with both; none: it is one stack, or speaks as well (Seamless M4T)."""
    if config.model_type in BESIDE_OTHERS:
        return ("decoder",)
    both = config.is_encoder_decoder and not hasattr(config, "vocoder_offset") and config.model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
    return ("encoder", "decoder") if both else ()


def objects_of(config):
    """The settings of each stack, where the class keeps them in objects."""
    return {part: getattr(config, part) for part in stacks_of(config) if hasattr(getattr(config, part, None), "to_dict")}


def config_of(config, part):
    """As that of a model with this stack alone."""
    objects = objects_of(config)
    own = copy.deepcopy(objects[part].get_text_config() if objects else config)
    if part == "decoder":
        for count, heads in (("decoder_layers", "decoder_attention_heads"), ("num_decoder_layers", "num_decoder_attention_heads")):
            if hasattr(own, count):
                own.num_hidden_layers = getattr(own, count)
            if hasattr(own, heads):
                own.num_attention_heads = getattr(own, heads)
    return own


def own_calls(calls, tokens):
    """Those of a text of so many tokens that sees itself. T5Gemma 2 looks at what the encoder has read in the same call, after its own keys."""
    return [{**call, "k": call["k"][:, :, :tokens]} for call in calls if call["k"].shape[-2] in (tokens, tokens + READ)]


class Stack(torch.nn.Module):
    """One of them, which takes a text as a language model does."""

    def __init__(self, whole, config, part):
        super().__init__()
        self.kept, self.config, self.part = [whole], config, part
        self.stack = getattr(whole, part)
        self._supports_sdpa = whole._supports_sdpa

    def get_input_embeddings(self):
        return self.stack.get_input_embeddings() if hasattr(self.stack, "get_input_embeddings") else self.stack.embed_tokens

    def forward(self, input_ids, attention_mask=None, **more):
        if self.part == "encoder":
            return self.stack(input_ids=input_ids, attention_mask=attention_mask, **more)
        width = self.config.hidden_size
        read = torch.randn(1, READ, width, generator=torch.Generator().manual_seed(2)).to(torch.get_default_dtype())
        ids = input_ids[:, :1].expand(1, READ)
        given = {} if self.kept[0].config.model_type in BESIDE_OTHERS else {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        return self.kept[0](**given, decoder_input_ids=input_ids, decoder_attention_mask=attention_mask,
                            encoder_outputs=MoEModelOutput(last_hidden_state=read), use_cache=True)

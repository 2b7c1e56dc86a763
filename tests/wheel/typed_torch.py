"""A user's file of PyTorch and transformers, which mypy reads against the package's types (test_types.py)."""

import torch
import transformers

import gnomon as gn
import gnomon.torch as gnt
import gnomon.transformers as gnh

module: gnt.PositionEncoding = gnt.make("rope_learned+alibi", heads=8, kv_heads=2, head_dim=16)
same: gnt.PositionEncoding = gnt.make(gn.make("t5", heads=8))
q, k = torch.zeros(1, 8, 4, 16), torch.zeros(1, 2, 4, 16)
y: torch.Tensor = gnt.attend(q, k, k, pe=module, positions=[0, 1, 2, 3], mask=torch.ones(4, 4, dtype=torch.bool))
turned: tuple[torch.Tensor, torch.Tensor] = module.rotate(q, k, torch.arange(4))
flat: torch.Tensor = module.flat("input")
table: torch.Tensor = gnt.make("learned", heads=8).vectors(torch.arange(4))
file = gn.onnx.save(gn.make("rope", heads=8), "attention.onnx", length=16)
score = module.score_mod(4)
one: torch.Tensor = score(q, q, q, q, q)


def swap(model: transformers.PreTrainedModel) -> list[gnt.PositionEncoding]:
    with gnh.patch(model, "yarn(factor=4)", length=4096) as patched:
        print(type(patched))
    done: gnh.Patched = gnh.patch(model, gn.explain(model.config).model_spec)
    done.undo()
    return done.positions

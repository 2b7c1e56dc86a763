"""Means of the positions that the authors of arXiv 2305.16843 draw, for make_authors.py.

    python3 authors_randomised.py POSITIONAL_ENCODINGS.py RANDOMISED.json

POSITIONAL_ENCODINGS.py is models/positional_encodings.py of google-deepmind/randomized_positional_encodings at e8c64749; jax 0.10
installed, and neither torch nor haiku.
"""

import ast
import json
import pathlib
import sys

import jax
import jax.numpy as jnp

tree = ast.parse(pathlib.Path(sys.argv[1]).read_text())
scope = {"jrandom": jax.random, "jnp": jnp, "hk": None}
for node in tree.body:
    if isinstance(node, ast.FunctionDef) and node.name == "noisy_fixed_positional_encodings":
        for argument in node.args.args:
            argument.annotation = None
        node.returns = None
        exec(compile(ast.Module([node], []), sys.argv[1], "exec"), scope)
drawn = scope["noisy_fixed_positional_encodings"]
found = []
for tokens, most, training in ((5, 64, True), (9, 30, False)):
    table = jnp.arange(most, dtype=jnp.float32)[:, None]  # the encoding of a position is its number
    positions = jax.vmap(lambda key: drawn(table, tokens, rng=key)[:, 0])(jax.random.split(jax.random.PRNGKey(3), 20000))
    found.append([tokens, most, training, [float(f"{x:.6g}") for x in positions.mean(0)]])
pathlib.Path(sys.argv[2]).write_text(json.dumps(found))
print(found)

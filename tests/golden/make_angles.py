"""cos and sin of position·frequency with 50 digits, both taken as the doubles that they are: angles.json.

    python3 make_angles.py        (mpmath 1.3)

The control is in the test: one product of doubles must miss them.
"""

import json
import math
import pathlib

import mpmath

mpmath.mp.dps = 60
cases = []
for position in (1, 1000, 2**24 - 1, 2**24, 2**31 + 1, 2**40 + 1, 2**52 - 1, 2**52, 2**53 - 1, -(2**53) + 1, 2**51 + 0.5):
    for frequency in (1.0, 0.1, 10000.0 ** -0.75, math.pi, 1e-9):
        angle = mpmath.mpf(position) * mpmath.mpf(frequency)
        cases.append([float(position), frequency, float(mpmath.cos(angle)), float(mpmath.sin(angle))])
content = {"source": "mpmath 1.3, 60 digits", "made_by": "tests/golden/make_angles.py",
           "columns": ["position", "frequency", "cos", "sin"], "cases": cases}
path = pathlib.Path(__file__).parent / "angles.json"
path.write_text(json.dumps(content, separators=(",", ":")) + "\n")

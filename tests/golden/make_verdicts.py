"""p values of verdicts and their correction by scipy and statsmodels, which share no code with gnomon.

    python3 tests/golden/make_verdicts.py > tests/golden/verdicts.json

Needs scipy and statsmodels; the file names the versions that made it. `wrong` is the usual mistake, which must not agree:
the one-sided p value, and Bonferroni's correction.
"""

import json

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW


def checks():
    random, out = np.random.default_rng(5), []
    for n in (3, 5, 9):
        for shift in (-2.0, -0.3, 0.0, 0.4, 3.0):
            x = np.round(shift + 0.5 * random.standard_normal(n), 4)
            half = float(stats.t.isf(0.025, n - 1) * stats.sem(x))
            for kind, bound in (("above", 0.1), ("below", -0.2), ("apart", 0.3), ("equal", 1.0)):
                two = float(stats.ttest_1samp(x, bound if kind != "apart" else bound * np.sign(x.mean())).pvalue)
                if kind == "equal":  # both one-sided tests at half the level
                    two = 2 * float(DescrStatsW(x).ttost_mean(-bound, bound)[0])
                    on_its_side = abs(x.mean()) < bound
                else:
                    on_its_side = {"above": x.mean() > bound, "below": x.mean() < bound, "apart": abs(x.mean()) > bound}[kind]
                passes = bool(on_its_side and two < 0.05)
                out.append({"kind": kind, "bound": bound, "mean": float(x.mean()), "half_width": half, "n": n, "passes": passes,
                            "p": two if passes else 1.0, "wrong": two / 2})
    return out


def corrections():
    families = [[0.01, 0.04, 0.03, 0.005], [0.5], [1.0, 1.0, 0.2], [0.02, 0.02, 0.02], [0.001, 0.9, 0.0, 0.049, 0.012, 1.0, 0.0004],
                [round(float(p), 5) for p in np.random.default_rng(7).uniform(0, 0.2, 40) ** 2]]
    return [{"p": p, "holm": [float(x) for x in multipletests(p, method="holm")[1]],
             "wrong": [float(x) for x in multipletests(p, method="bonferroni")[1]]} for p in families]


print(json.dumps({"source": f"scipy {scipy.__version__}, statsmodels {statsmodels.__version__}, make_verdicts.py",
                  "checks": checks(), "corrections": corrections()}, indent=1))

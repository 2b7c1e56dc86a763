"""Statistics by scipy and statsmodels, which share no code with gnomon.

    python3 tests/golden/make_statistics.py > tests/golden/statistics.json

Needs scipy and statsmodels (with numpy and pandas); the file names the versions that made it. Each group has a control,
`wrong`: the usual mistake, which must not agree.
"""

import json
import math

import numpy as np
import pandas as pd
import scipy
import statsmodels
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import integrate, optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired


def draw(*shape, seed):
    """Normal numbers with few digits, which JSON holds exactly."""
    return np.round(np.random.default_rng(seed).standard_normal(shape), 4)


def distributions():
    degrees = (1, 2, 2.5, 4, 7, 30, 441.5, 1e4, 1e6)
    t = [{"t": x, "freedom": v, "tail": float(stats.t.sf(x, v)), "wrong": float(stats.norm.sf(x))}
         for v in degrees for x in (0.01, 0.7, 2.0, 5.5, 40.0, -1.5) if stats.t.sf(x, v) > 1e-250]
    quantile = [{"tail": p, "freedom": v, "t": float(stats.t.isf(p, v)), "wrong": float(stats.norm.isf(p))}
                for v in degrees for p in (0.4, 0.1, 0.025, 0.005, 1e-4, 0.975)]
    normal = [{"z": z, "tail": float(stats.norm.sf(z))} for z in (-3.0, 0.0, 0.3, 1.96, 6.0, 12.0)]
    normal_quantile = [{"tail": p, "z": float(stats.norm.isf(p))} for p in (0.9, 0.3, 0.025, 1e-6, 1e-12)]
    noncentral = [{"t": x, "freedom": v, "shift": d, "tail": float(stats.nct.sf(x, v, d)), "wrong": float(stats.t.sf(x - d, v))}
                  for v in (1, 2, 4, 9, 40) for d in (0.8, 2.8, 6.0) for x in (1.9, 4.3)]
    return {"t": t, "t_quantile": quantile, "normal": normal, "normal_quantile": normal_quantile, "noncentral_t": noncentral}


def paired():
    cases = []
    for n, effect, margin in ((2, 0.0, 0.5), (3, 0.3, 0.2), (5, 1.0, 2.0), (8, -0.4, 1.5), (10, 0.02, 0.3)):
        common = draw(n, seed=n)
        a, b = common + effect + 0.5 * draw(n, seed=50 + n), common + 0.5 * draw(n, seed=90 + n)
        a, b = np.round(a, 4), np.round(b, 4)
        test = stats.ttest_rel(a, b)
        interval, wider = test.confidence_interval(0.95), test.confidence_interval(0.99)
        unpaired = stats.ttest_ind(a, b)
        correlation = float(stats.pearsonr(a, b).statistic) if n > 2 else None
        sums = a + b
        cases.append({
            "a": a.tolist(), "b": b.tolist(), "mean": float(np.mean(a - b)), "p": float(test.pvalue),
            "half_width": float(interval.high - interval.low) / 2, "half_width_99": float(wider.high - wider.low) / 2,
            "margin": margin, "p_equivalent": float(ttost_paired(a, b, -margin, margin)[0]), "correlation": correlation,
            "wrong": {  # unpaired; z for t; one test for two one-sided ones; Spearman
                "p": float(unpaired.pvalue),
                "half_width": float(stats.norm.isf(0.025) * np.std(a - b, ddof=1) / math.sqrt(n)),
                "p_equivalent": float(1 - test.pvalue),
                "correlation": float(stats.spearmanr(a, sums).statistic) if n > 2 else None,
            },
        })
    return cases


def unpaired():
    cases = []
    for n, m, spread in ((2, 2, 1.0), (3, 5, 0.1), (5, 3, 4.0), (8, 8, 1.0)):
        a, b = np.round(1 + draw(n, seed=200 + n), 4), np.round(spread * draw(m, seed=300 + m), 4)
        test, pooled = stats.ttest_ind(a, b, equal_var=False), stats.ttest_ind(a, b).confidence_interval(0.95)
        interval = test.confidence_interval(0.95)
        cases.append({"a": a.tolist(), "b": b.tolist(), "mean": float(a.mean() - b.mean()), "p": float(test.pvalue),
                      "half_width": float(interval.high - interval.low) / 2,
                      "wrong": float(pooled.high - pooled.low) / 2})  # as if both varied alike
    return cases


def crossed():
    """Mean squares from statsmodels' table of variance for y ~ seed + block."""
    cases, widest = [], set()
    for n, blocks, of_seeds, of_blocks, of_rest in ((3, 4, 1, 0.1, 0.1), (3, 16, 0.1, 1, 0.3), (5, 16, 0.2, 0.8, 1), (8, 6, 0, 0, 1), (2, 2, 1, 1, 1), (8, 16, 1, 1, 0.5)):
        seed = 100 * n + blocks
        y = (3 + of_seeds * draw(n, 1, seed=seed) + of_blocks * draw(1, blocks, seed=seed + 1) + of_rest * draw(n, blocks, seed=seed + 2))
        y = np.round(y, 4)
        s, b = np.meshgrid(np.arange(n), np.arange(blocks), indexing="ij")
        frame = pd.DataFrame({"y": y.ravel(), "seed": s.ravel(), "block": b.ravel()})
        table = sm.stats.anova_lm(smf.ols("y ~ C(seed) + C(block)", frame).fit())
        squares = table["sum_sq"] / table["df"]
        of = {"seeds": (squares["C(seed)"], n - 1), "blocks": (squares["C(block)"], blocks - 1)}
        both = max(squares["C(seed)"], squares["C(block)"], squares["C(seed)"] + squares["C(block)"] - squares["Residual"])
        satterthwaite = both**2 / (squares["C(seed)"]**2 / (n - 1) + squares["C(block)"]**2 / (blocks - 1))
        of["both"] = (both, max(satterthwaite, min(n, blocks) - 1))
        errors = {k: (math.sqrt(v / (n * blocks)), f) for k, (v, f) in of.items()}
        widest.add(max(errors, key=lambda k: errors[k][0] * stats.t.isf(0.025, errors[k][1])))
        naive = stats.t.isf(0.025, n * blocks - 1) * np.std(y, ddof=1) / math.sqrt(n * blocks)
        cases.append({
            "values": y.ravel().tolist(), "seeds": n, "mean": float(y.mean()),
            "half_width": float(max(e * stats.t.isf(0.025, f) for e, f in errors.values())),
            "p": float(max(2 * stats.t.sf(abs(y.mean()) / e, f) for e, f in errors.values() if e > 0)),
            "wrong": float(naive),  # every value as a sample of its own
        })
    assert widest == {"seeds", "blocks", "both"}
    return cases


def families():
    return [{"p": p, "holm": multipletests(p, method="holm")[1].tolist(), "wrong": multipletests(p, method="bonferroni")[1].tolist()}
            for p in ([0.01, 0.04, 0.03], [0.004, 0.2, 0.011, 0.011, 0.9], [0.03, 0.0001, 0.5, 0.026, 0.8, 0.012])]


def effects():
    """The smallest shift with that power, by the non-central t on both sides (scipy has no number for the far one, which is
    integrated here); statsmodels agrees."""
    cases = []
    for n in (2, 3, 5, 8, 10, 30):
        for power in (0.8, 0.95):
            limit = stats.t.isf(0.025, n - 1)

            def lacking(d):
                shift = d * math.sqrt(n)
                far = integrate.quad(lambda s: stats.norm.cdf(-limit * s / math.sqrt(n - 1) - shift) * stats.chi.pdf(s, n - 1), 0, 40, epsabs=1e-14)[0]
                return stats.nct.sf(limit, n - 1, shift) + far - power

            d = optimize.brentq(lacking, 1e-6, 100, xtol=1e-14, rtol=1e-14)
            assert abs(TTestPower().power(d, n, 0.05) - power) < 1e-6
            z = (stats.norm.isf(0.025) + stats.norm.ppf(power)) / math.sqrt(n)
            cases.append({"n": n, "power": power, "deviation": 0.37, "effect": 0.37 * d, "wrong": float(0.37 * z)})
    return cases


def shares():
    wilson = []
    for k, n in ((0, 10), (1, 10), (5, 10), (9, 10), (97, 100), (20, 20), (333, 1000)):
        low, high = proportion_confint(k, n, method="wilson")
        wald = proportion_confint(k, n, method="normal")
        wilson.append({"k": k, "n": n, "low": float(low), "high": float(high), "wrong": [float(x) for x in wald]})
    logit = []
    for k, n in (([12, 15, 9], 20), ([100, 98, 97, 100, 91], 100), ([0, 0, 1, 2], 50)):
        logits = np.log((np.array(k) + 0.5) / (n - np.array(k) + 0.5))
        low, high = stats.ttest_1samp(logits, 0).confidence_interval(0.95)
        plain = stats.ttest_1samp(np.array(k) / n, 0).confidence_interval(0.95)
        back = lambda x: float(1 / (1 + np.exp(-x)))
        logit.append({"k": k, "n": n, "share": back(logits.mean()), "low": back(low), "high": back(high), "wrong": [float(x) for x in plain]})
    return {"wilson": wilson, "logit": logit}


def budgets():
    def law(c, floor, scale, exponent):
        return floor + scale * c**-exponent

    fits = []
    for compute, loss in (([1.0, 3.0, 10.0], [2.5, 2.1, 1.9]), ([2e15, 4e15, 3e16], [1.93, 1.81, 1.52]),
                          ([1.0, 2.0, 4.0, 8.0, 16.0], [2.51, 2.2, 2.05, 1.93, 1.90])):
        unit = math.sqrt(compute[0] * compute[-1])
        c = np.array(compute) / unit
        found = optimize.least_squares(lambda p: law(c, *p) - np.array(loss), (1.5, 0.5, 0.5), xtol=1e-15, ftol=1e-15, gtol=1e-15, method="lm").x
        straight = np.polyfit(np.log(c), np.log(loss), 1)
        fits.append({"compute": compute, "loss": loss, "floor": float(found[0]), "scale_in_unit": float(found[1]), "unit": unit,
                     "exponent": float(found[2]), "wrong": {"exponent": float(-straight[0])}})  # without a floor

    compute, loss = np.array([1e15, 4e15, 1e16, 1e17]), np.array([2.4, 2.1, 1.9, 1.6])
    speeds = []
    for c, l in ((4e15, 2.0), (1e15, 2.25), (1e16, 1.61), (2e16, 2.1)):
        needed = math.exp(np.interp(-l, -loss, np.log(compute)))
        speeds.append({"arm": [c, l], "factor": needed / c, "wrong": float(np.interp(-l, -loss, compute)) / c})  # linear in compute
    other_compute, other_loss = np.array([2e15, 8e15, 6e16]), np.array([2.35, 1.82, 1.7])

    def gap(u):
        return np.interp(u, np.log(compute), loss) - np.interp(u, np.log(other_compute), other_loss)

    knots = sorted({*np.log(compute), *np.log(other_compute)})
    knots = [u for u in knots if math.log(2e15) <= u <= math.log(6e16)]
    crossed_at = [math.exp(optimize.brentq(gap, a, b, xtol=1e-15, rtol=1e-15)) for a, b in zip(knots, knots[1:]) if gap(a) * gap(b) < 0]
    return {"fits": fits, "curve": [compute.tolist(), loss.tolist()], "speed_ups": speeds,
            "other": [other_compute.tolist(), other_loss.tolist()], "crossings": crossed_at}


source = f"scipy {scipy.__version__}, statsmodels {statsmodels.__version__}, numpy {np.__version__}, make_statistics.py"
print(json.dumps({"source": source, "distributions": distributions(), "paired": paired(), "unpaired": unpaired(), "crossed": crossed(), "families": families(),
                  "effects": effects(), "shares": shares(), "budgets": budgets()}, indent=1))

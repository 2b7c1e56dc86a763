"""What the cases of make_vision.py are called in gnomon: the spec, and specs of other conventions that must not reproduce them. The
script knows its encodings by words alone. A case whose encoding gnomon does not have is left out of the JSON.

`places` gives the coordinates that gnomon takes, where they are not those of the case: a token that stands nowhere has the row −1,
and the box of a word is its anchor with the place in reading order before it."""

import golden


def prefixed(case):
    return [[-1, -1]] * case.get("prefix", 0) + case["positions"]


def centres(case):
    """Fractions of rows and columns, from coordinates that training has disturbed."""
    c, sizes = case["coordinates"], (3, 4)
    return prefixed(case | {"positions": [[((c[2 * n + a] + 1) * sizes[a] - 1) / 2 for a in (0, 1)] for n in range(len(c) // 2)]})


def lower_left(case):
    return [[order, box[0], box[3]] for order, box in zip(case["order"], case["positions"])]


def centre(case):
    return [[order, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2] for order, box in zip(case["order"], case["positions"])]


def case(spec, *wrong, places=prefixed):
    return {"spec": spec, "wrong": list(wrong), "places": places}


def boxes(words, *, places, right, wrong):
    own = f"box_buckets({words}{right})"
    return case(own, *(f"box_buckets({words}{other})" for other in wrong), "none", places=places)


def axial(sections, theta, index="reset", pairing="adjacent", more=""):
    return f"rope_axial(sections={sections}, theta={theta}, index={index}, pairing={pairing}{more})"


def three(sections, theta, other):
    return case(axial(sections, theta), axial(sections, other), axial(sections, theta, pairing="halves"), axial(sections, theta, "continued"))


def riflex(sections, k, lengths, theta):
    spec = f"riflex(sections={sections}, theta={theta}, pairing=adjacent, {lengths}, always="
    return case(f"{spec}on, k={k})", f"{spec}off, k={k})", f"{spec}on, k={k}, turn=1)", f"{spec}on, k={k - 1})", axial(sections, theta))


def dino(words, right, *wrong, places=prefixed):
    return case(f"rope_dino({words}{right})", *(f"rope_dino({words}{other})" for other in wrong), f"rope_dino({words}{right}, pairing=adjacent)", places=places)


WIDE = "buckets=8, distance=6, plane_buckets=32, plane_distance=700, "
CENTRED = "rope_axial(coordinates=centred, "
COSMOS = "sections=4/2/2, index=reset, pairing=halves"
SPECS = {
    "window_mlp(rows=3, columns=4, pretrained=0/0)": case("window_mlp(rows=3, columns=4)", "window_mlp(rows=3, columns=4, trained=8)", "window_mlp(rows=3, columns=4, most=1)"),
    "window_mlp(rows=5, columns=2, pretrained=8/6, hidden=6)": case("window_mlp(rows=5, columns=2, trained=8/6, hidden=6)", "window_mlp(rows=5, columns=2, hidden=6)",
                                                                    "window_mlp(rows=5, columns=2, trained=6/8, hidden=6)"),
    "window_mlp(rows=1, columns=6, pretrained=0/0, hidden=4)": case("window_mlp(rows=1, columns=6, hidden=4)", "window_mlp(rows=1, columns=6, trained=1/9, hidden=4)"),
    "window_mlp(rows=3, columns=3, pretrained=0/0, hidden=5)": case("window_mlp(rows=3, columns=3, hidden=5)", "window_mlp(rows=3, columns=3, trained=7, hidden=5)"),
    "window_mlp(rows=2, columns=4, pretrained=6/12, hidden=7)": case("window_mlp(rows=2, columns=4, trained=6/12, hidden=7)", "window_mlp(rows=2, columns=4, hidden=7)",
                                                                     "window_mlp(rows=2, columns=4, trained=12/6, hidden=7)"),
    "window_mlp(rows=4, columns=3, pretrained=0/0, hidden=8)": case("window_mlp(rows=4, columns=3, hidden=8)", "window_mlp(rows=4, columns=3, trained=3/4, hidden=8)"),
    "window_table of absolute offsets (rows=3, columns=4)": case("window_table(rows=3, columns=4, distances=absolute)", "none"),
    "window_table of absolute offsets (rows=5, columns=2)": case("window_table(rows=5, columns=2, distances=absolute)", "none"),
    "window_table of absolute offsets (rows=4, columns=4)": case("window_table(rows=4, columns=4, distances=absolute)", "none"),
    "conv_grid(kernel=3, rows=3, columns=4)": case("peg", "multi_sinusoidal(axes=2)"),
    "conv_grid(kernel=3, rows=5, columns=2)": case("peg", "multi_sinusoidal(axes=2)"),
    "window_table(rows=3, columns=4)": case("window_table(rows=3, columns=4)", "none"),
    "window_table(rows=5, columns=2)": case("window_table(rows=5, columns=2)", "none"),
    "window_table(rows=3, columns=3)": case("window_table(rows=3, columns=3)", "none"),
    "window_table(rows=2, columns=4, class=on)": case("window_table(rows=2, columns=4, class=on)", "window_table(rows=3, columns=5)", "none"),
    "window_table(rows=3, columns=3, class=on)": case("window_table(rows=3, columns=3, class=on)", "window_table(rows=4, columns=4)", "none"),
    "box_buckets(buckets=32, furthest=128, plane_buckets=64, plane_furthest=256, anchor=lower_left)":
        boxes("", places=lower_left, right="rule=layoutlmv3", wrong=["rule=layoutlmv2", "rule=layoutlmv3, scale=off", "rule=layoutlmv3, plane_distance=128"]),
    "box_buckets(buckets=8, furthest=6, plane_buckets=32, plane_furthest=700, anchor=lower_left)":
        boxes(WIDE, places=lower_left, right="rule=layoutlmv3", wrong=["rule=layoutlmv2", "rule=layoutlmv3, scale=off", "rule=layoutlmv3, steps=2"]),
    "box_buckets(buckets=32, furthest=128, plane_furthest=100/100, steps=100/100, anchor=centre)":
        boxes("", places=centre, right="rule=udop, scale=off", wrong=["rule=udop", "rule=udop, scale=off, steps=1000", "rule=udop, scale=off, plane_distance=256"]),
    "box_buckets(buckets=32, furthest=12, plane_furthest=45/100, steps=40/100, anchor=centre)":
        boxes("distance=12, ", places=centre, right="rule=udop, scale=off, plane_distance=45/100, steps=40/100",
              wrong=["rule=udop, scale=off", "rule=udop, scale=off, plane_distance=100/45, steps=100/40",
                     "rule=udop, scale=off, plane_distance=45/100, steps=100"]),
    CENTRED + "base=100, rows=2, columns=5, pairing=halves)": dino(
        "", "rows=2, columns=5", "rows=5, columns=2", "rows=2, columns=5, theta=10000", "rows=2, columns=5, norm=max"),
    CENTRED + "base=30, rows=4, columns=2, pairing=halves)": dino(
        "theta=30, ", "rows=4, columns=2", "rows=2, columns=4", "rows=4, columns=2, norm=min"),
    CENTRED + "norm=max, rows=3, columns=4, pairing=halves, base=100)": dino("rows=3, columns=4, ", "norm=max", "norm=min", "norm=separate"),
    CENTRED + "norm=min, rows=3, columns=4, pairing=halves, base=100)": dino("rows=3, columns=4, ", "norm=min", "norm=max", "norm=separate"),
    CENTRED + "norm=separate, rows=3, columns=4, pairing=halves, periods=0.5/6)": dino(
        "rows=3, columns=4, ", "min_period=0.5, max_period=6", "min_period=0.5, max_period=7", "min_period=0.6, max_period=6", "theta=100"),
    CENTRED + "norm=separate, rows=3, columns=4, pairing=halves, base=100)": dino(
        "rows=3, columns=4, ", "theta=100", "theta=100, norm=max", "theta=30", places=centres),
    "rope_axial(widths=8/4/4, base=10000, pairing=adjacent)": three("4/2/2", 10000, 256),
    "rope_axial(widths=8/6/6, base=10000, pairing=adjacent)": three("4/3/3", 10000, 256),
    "rope_axial(widths=4/6/6, base=256, pairing=adjacent)": three("2/3/3", 256, 10000),
    "rope_axial(widths=4/2/2, base=256, pairing=adjacent)": three("2/1/1", 256, 10000),
    "rope_axial(widths=8/4/4, a base for each axis, pairing=halves)": case(
        f"rope_axial({COSMOS}, bases=25198.420997897463/90000/22500)", f"rope_axial({COSMOS})", f"rope_axial({COSMOS}, bases=22500/90000/25198.420997897463)"),
    "rope_axial(widths=4/4/4, base=10000, pairing=adjacent, table=tiled)": case(
        "vjepa2", "rope_axial(sections=2/2/2, index=reset, pairing=adjacent, channels=12)", "none"),
    "rope_axial(widths=8/8/8, base=10000, pairing=adjacent, table=tiled)": case(
        "vjepa2", "rope_axial(sections=4/4/4, index=reset, pairing=adjacent, channels=24)", "none"),
    "rope_axial(widths=8/4/4, base=256, pairing=adjacent, riflex=3, frames=66)": riflex("4/2/2", 3, "original=33, factor=2", 256),
    "rope_axial(widths=4/6/6, base=10000, pairing=adjacent, riflex=2, frames=97)": riflex("2/3/3", 2, "original=97, factor=1", 10000),
}


def write():
    """Writes the cases of encodings that gnomon has, under its names."""
    for file, cases in golden._cases.items():
        known = [case for case in cases if case["spec"] in SPECS]
        for case in known:
            named = SPECS[case["spec"]]
            case["differs"] = dict(zip(case["wrong"], case["differs"]))
            case |= {"words": case["spec"], "spec": named["spec"], "wrong": named["wrong"], "positions": named["places"](case)}
        golden._cases[file] = known
    golden.write()

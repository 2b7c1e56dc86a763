"""Small drawings in SVG that follow the colours of the page: curves and heat maps."""

import html

import numpy as np

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 320, 210, 52, 26, 34
LEVELS = 12  # of a heat map


def _ticks(least, most):
    return sorted({least, most, *([0.0] if least < 0 < most else [])})


def _number(x):
    x = 0.0 if abs(x) < 1e-6 else x
    return f"{x:.3g}".replace("e+0", "e").replace("-", "−")


def text(x, y, words, anchor="middle", kind="label"):
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _frame(title, below):
    return text(LEFT, 14, title, "start", "title") + text((LEFT + WIDTH) / 2, HEIGHT - 4, below)


def _curve(xs, ys, kind):
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))
    return f'<polyline class="curve {kind}" points="{points}"/>'


def _decades(least, most):
    """Ends of a logarithmic axis, and the powers of ten that have room between them."""
    room = (most - least) / 8
    return [least, *(float(n) for n in range(int(np.ceil(least)), int(np.floor(most)) + 1) if n - least > room and most - n > room), most]


def curves(title, below, lines, *, start=0, log=False):
    """lines: (name or "", kind of stroke, numbers by 0, 1, 2 ...); names stand under the title. log: the axis upwards is
    logarithmic, which its title has to say."""
    scaled = [(name, kind, np.log10(y) if log else np.asarray(y, float)) for name, kind, y in lines]
    every = np.concatenate([y[np.isfinite(y)] for _, _, y in scaled])
    least, most = float(every.min()), float(every.max())
    if most - least < 1e-9:
        least, most = least - 0.5, most + 0.5
    span, right, foot = most - least, WIDTH - 8, HEIGHT - BOTTOM
    up = lambda y: foot - (y - least) / span * (foot - TOP - 14)
    across = lambda n, count: LEFT + (right - LEFT) * np.arange(n) / max(count - 1, 1)
    count = max(len(y) for _, _, y in scaled)
    parts = [_frame(title, below), f'<path class="axis" d="M{LEFT} {TOP + 8}V{foot}H{right}"/>']
    for tick in _decades(least, most) if log else _ticks(least, most):
        parts.append(text(LEFT - 5, up(tick) + 4, _number(10**tick if log else tick), "end"))
    parts += [text(LEFT, foot + 14, str(start)), text(right, foot + 14, str(start + count - 1), "end")]
    for name, kind, y in scaled:
        known = np.isfinite(y)
        parts.append(_curve(across(len(y), count)[known], up(y[known]), kind))
    parts += _names([(name, kind) for name, kind, _ in scaled if name])
    return "".join(parts)


def _names(named):
    parts, x = [], LEFT + 8.0
    for name, kind in named:
        parts.append(f'<path class="curve {kind}" d="M{x:g} 24h14"/>' + text(x + 18, 28, name, "start"))
        x += 32 + 6.2 * len(name)
    return parts


def heat(title, below, beside, numbers):
    """A matrix: rows downwards; above 0 in one colour, below it in the other."""
    rows, columns = numbers.shape
    most = float(np.abs(numbers).max()) or 1.0
    level = np.rint(numbers / most * LEVELS).astype(int)
    wide, high = (WIDTH - 8 - LEFT) / columns, (HEIGHT - BOTTOM - TOP) / rows
    cells = []
    for n in sorted(set(level.ravel()) - {0}):
        marks = "".join(f"M{c} {r}h1v1h-1z" for r, c in zip(*np.nonzero(level == n)))
        cells.append(f'<path class="{"above" if n > 0 else "below"}" fill-opacity="{abs(n) / LEVELS:.2f}" d="{marks}"/>')
    foot = HEIGHT - BOTTOM
    return (_frame(title, below) + f'<g transform="translate({LEFT} {TOP}) scale({wide:.4f} {high:.4f})">{"".join(cells)}</g>'
            f'<path class="axis" d="M{LEFT} {TOP}V{foot}H{WIDTH - 8}"/>'
            + text(LEFT, foot + 14, "0") + text(WIDTH - 8, foot + 14, str(columns - 1), "end")
            + text(LEFT - 5, TOP + 8, "0", "end") + text(LEFT - 5, foot, str(rows - 1), "end")
            + f'<text class="label" text-anchor="middle" transform="translate(14 {(TOP + foot) / 2:g}) rotate(-90)">{html.escape(beside)}</text>')


def differences(rows, unit):
    """Estimates with their intervals against a line at 0: rows of (name, value, half width or None), the first at the top."""
    row, left, right, top = 22, 150, WIDTH - 8, 8
    low = min(0.0, *(value - (half or 0) for _, value, half in rows))
    high = max(0.0, *(value + (half or 0) for _, value, half in rows))
    across = lambda x: left + (x - low) / (high - low) * (right - left)
    foot = top + row * len(rows)
    parts = [f'<path class="axis" d="M{left} {foot}H{right}M{across(0):.1f} {top}V{foot}"/>']
    for n, (name, value, half) in enumerate(rows):
        y = top + row * (n + 0.5)
        parts.append(text(left - 10, y + 4, name, "end", "name"))
        if half:
            parts.append(f'<path class="curve own" d="M{across(value - half):.1f} {y:g}H{across(value + half):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{across(value):.1f}" cy="{y:g}" r="4"/>')
    parts += [text(min(across(x), WIDTH - 16), foot + 14, _number(x)) for x in (low, 0.0, high) if x == 0 or abs(across(x) - across(0)) > 30]
    return "".join(parts) + text(WIDTH - 8, foot + 30, unit, "end"), foot + 36


def figure(panels, caption, name, height=HEIGHT):
    """Panels side by side, one below the other on a narrow screen."""
    drawn = "".join(f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(name)}">{p}</svg>' for p in panels)
    return f'<figure class="gnomon">{drawn}<figcaption>{html.escape(caption)}</figcaption></figure>'

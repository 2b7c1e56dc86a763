// Six screens on a sum of a word and a position. Vectors of positions come from the module; sums and dot products are made here.
const byId = id => document.getElementById(id);
const dot = (a, b) => a.reduce((sum, value, n) => sum + value * b[n], 0);
const plus = (a, b, loudness = 1) => a.map((value, n) => value + loudness * b[n]);
const lengthOf = a => Math.sqrt(dot(a, a));

// Rows of the sinusoid of a width, asked once.
const asked = new Map();
function sinusoid(dim, length) {
  const key = `${dim} ${length}`;
  if (!asked.has(key)) asked.set(key, ask(gnomon => JSON.parse(gnomon.vectors('sinusoidal', {dim, heads: 1, length}))));
  return asked.get(key);
}

// Chance numbers that are the same in every browser: mulberry32 by T. Ettinger, and pairs of normal numbers by Box and Muller.
function chance(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
// Words that know nothing of positions, as long as a sinusoid of their width.
function madeUp(count, dim) {
  const draw = chance(dim);
  return Array.from({length: count}, () => {
    const word = Array.from({length: dim}, () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw()));
    return word.map(value => value * Math.sqrt(dim / 2) / lengthOf(word));
  });
}

// Drawing: what is in a picture is replaced as a whole. Numbers are rounded to a tenth of a unit.
const tenth = value => (typeof value === 'number' ? Math.round(10 * value) / 10 || 0 : value);
function shape(name, attributes = {}, ...content) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, tenth(value));
  made.append(...content);
  return made;
}
const line = (kind, [x1, y1], [x2, y2]) => shape('line', {class: kind, x1, y1, x2, y2});
const words = (text, x, y, more = {}) => shape('text', {x, y, ...more}, text);
const middle = {'text-anchor': 'middle'}, end = {'text-anchor': 'end'};
const bar = (kind, x, y, width, height) => shape('rect',
    {class: `${kind} flat`, x: Math.min(x, x + width), y: Math.min(y, y + height), width: Math.abs(width), height: Math.abs(height)});
const curve = (kind, points) => shape('path', {class: `${kind} curve`, d: `M${points.map(point => point.map(tenth).join(' ')).join('L')}`});
function arrow(kind, from, to) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]), wing = turn => [to[0] - 9 * Math.cos(angle + turn), to[1] - 9 * Math.sin(angle + turn)];
  const head = [to, wing(.4), wing(-.4)].map(point => point.map(tenth).join(',')).join(' ');
  return shape('g', {class: kind}, line('arrow', from, to), shape('polygon', {points: head}));
}
// A handle stays where it is: it may hold the pointer or the focus.
function draw(id, title, description, ...parts) {
  for (const child of [...byId(id).children]) if (!child.matches('.handle')) child.remove();
  byId(id).prepend(shape('title', {}, title), shape('desc', {}, description), ...parts.flat(Infinity));
}

// Numbers for readers: a minus sign, and as many digits as are told.
const number = (value, digits = 2) => value.toFixed(digits).replace(/^-(0\.?0*)$/, '$1').replace('-', '−');
const vector = (values, digits = 2) => `(${values.map(value => number(value, digits)).join(', ')})`;
const percent = share => `${Math.round(100 * share)} %`;

// A slider's value; told is what its output and a screen reader say.
function slider(id, told, changed) {
  const input = byId(id), output = input.parentElement.querySelector('output');
  const tell = () => {
    output.textContent = told(+input.value);
    input.setAttribute('aria-valuetext', output.textContent);
  };
  input.addEventListener('input', () => {
    tell();
    changed();
  });
  tell();
  return {get value() { return +input.value; }, set value(value) { input.value = value; tell(); }};
}
// A screen can be used from now on.
const open = id => byId(id).querySelectorAll('fieldset').forEach(set => { set.disabled = false; });

// 1. Word and position in the plane.
async function planeScreen() {
  const places = await sinusoid(2, 12), other = [-1.8, 1.2], UNIT = 40, MOST = 3;
  const at = ([a, b]) => [170 + UNIT * a, 170 - UNIT * b];
  const controls = {a: slider('plane-a', number1, show), b: slider('plane-b', number1, show), p: slider('plane-p', String, show)};
  const svg = byId('plane-arrows');
  const handle = shape('circle', {class: 'handle x', r: 13, tabindex: 0, role: 'slider', 'aria-label': 'word x', 'aria-valuemin': -MOST, 'aria-valuemax': MOST});
  function number1(value) { return number(value, 1); }
  function cloud(kind, word, p) {
    return places.map((place, n) => {
      const [cx, cy] = at(plus(word, place));
      return shape('circle', {class: `${kind} ${n === p ? '' : 'faint'}`, cx, cy, r: n === p ? 5 : 3.5});
    });
  }
  function show() {
    const x = [controls.a.value, controls.b.value], e = places[controls.p.value], sum = plus(x, e), zero = at([0, 0]);
    const grid = [-4, -3, -2, -1, 1, 2, 3, 4].flatMap(n => [line('grid', at([n, -4]), at([n, 4])), line('grid', at([-4, n]), at([4, n]))]);
    // A name stands beside the middle of its arrow, outside the parallelogram.
    const side = e[0] * x[1] > e[1] * x[0] ? 1 : -1;
    const name = (kind, text, from, to, turn) => {
      const [px, py] = at([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]), [dx, dy] = [to[0] - from[0], to[1] - from[1]],
          far = 14 * turn / (Math.hypot(dx, dy) || 1);
      return words(text, px - far * dy, py - far * dx + 4, {class: kind, ...middle});
    };
    const [sx, sy] = at(sum), [ox, oy] = at(other);
    draw('plane-arrows', 'A word, a position, and their sum in the plane',
        `x is ${vector(x)}, e is ${vector(e)}, x + e is ${vector(sum)}. Small dots: the same word at 12 positions, and another word at them.`,
      grid, line('axis', at([-4, 0]), at([4, 0])), line('axis', at([0, -4]), at([0, 4])),
      cloud('y', other), words('another word', ox, oy + 4, {class: 'y', ...middle}), cloud('s', x, controls.p.value),
      line('dash x', at(e), at(sum)), arrow('e', at(x), at(sum)), arrow('e faint', zero, at(e)), arrow('x', zero, at(x)), arrow('s', zero, at(sum)),
      name('x', 'x', [0, 0], x, side), name('e', 'e', x, sum, side), words('x + e', sx + (e[0] < 0 ? -10 : 10), sy + 4, {class: 's', ...(e[0] < 0 ? end : {})}));
    const [cx, cy] = at(x);
    handle.setAttribute('cx', tenth(cx));
    handle.setAttribute('cy', tenth(cy));
    handle.setAttribute('aria-valuenow', x[0]);
    handle.setAttribute('aria-valuetext', `${number1(x[0])} and ${number1(x[1])}`);
    planeBars(x, e, sum);
    const nearest = places.flatMap((one, n) => places.map((two, m) => ({n, m, far: lengthOf(plus(plus(x, one), plus(other, two), -1))})))
        .reduce((a, b) => (b.far < a.far ? b : a));
    byId('plane-now').textContent = `x + e = ${vector(x)} + ${vector(e)} = ${vector(sum)}. ` + (nearest.far < .3
      ? `The clouds meet: the word at position ${nearest.n} is hardly told from the other word at position ${nearest.m}.`
      : `The two clouds are ${number(nearest.far, 1)} apart, so the sum tells the words apart.`);
  }
  const move = x => {
    [controls.a.value, controls.b.value] = x.map(value => Math.max(-MOST, Math.min(MOST, Math.round(10 * value) / 10)));
    show();
  };
  handle.addEventListener('pointerdown', event => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
    handle.focus({preventScroll: true});
  });
  handle.addEventListener('pointermove', event => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const to = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    move([(to.x - 170) / UNIT, (170 - to.y) / UNIT]);
  });
  handle.addEventListener('keydown', event => {
    const step = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, .1], ArrowDown: [0, -.1]}[event.key];
    if (!step) return;
    event.preventDefault();
    move(plus([controls.a.value, controls.b.value], step, event.shiftKey ? 5 : 1));
  });
  svg.setAttribute('role', 'group');  // a picture has no parts to use
  svg.append(handle);
  show();
  open('plane');
}
function planeBars(x, e, sum) {
  const base = 112, UNIT = 19, groups = [['x', 'x', x], ['e', '+ e', e], ['s', '= x + e', sum]];
  draw('plane-bars', 'The same as bars, channel by channel', `Each number of x plus that of e is that of x + e: ${vector(sum)}.`,
      words('each pair: the first and the second channel', 20, 14, {class: 'label'}), line('axis', [10, base], [330, base]),
    groups.map(([kind, name, values], n) => {
      const left = 25 + 108 * n;
      return [words(name, left + 37, 222, {class: kind, ...middle}), values.map((value, channel) => [
        bar(kind, left + 42 * channel, base, 32, -UNIT * value),
        words(number(value), left + 42 * channel + 16, base - UNIT * value + (value < 0 ? 15 : -5), middle)])];
    }));
}

// 2. Width and loudness.
const WIDTHS = [2, 4, 8, 16, 32, 64, 128, 256, 384], LOUD = [.1, .2, .3, .5, .7, 1, 2, 3, 5, 10, 20];
// All dot products of made-up words and positions of one width.
async function crowd(dim) {
  const places = await sinusoid(dim, 64), made = madeUp(100, dim), products = (a, b) => a.map(one => b.map(two => dot(one, two)));
  return {dim, ww: products(made, made), wp: products(made, places), pp: products(places, places)};
}
// Where a + loudness·b is largest.
function largest(a, b, loudness) {
  let best = 0;
  for (let n = 1; n < a.length; ++n) if (a[n] + loudness * b[n] > a[best] + loudness * b[best]) best = n;
  return best;
}
// Of all sums of a word and a position, the share that gives the right word, and the right position.
function readBack({ww, wp, pp}, loudness) {
  let word = 0, place = 0;
  const turned = pp.map((_, p) => wp.map(row => row[p]));
  for (let w = 0; w < ww.length; ++w)
    for (let p = 0; p < pp.length; ++p) {
      word += largest(ww[w], turned[p], loudness) === w;
      place += largest(wp[w], pp[p], loudness) === p;
    }
  return {word: word / ww.length / pp.length, place: place / ww.length / pp.length};
}
async function widthScreen() {
  const crowds = [];
  for (const dim of WIDTHS) crowds.push(await crowd(dim));
  const d = slider('width-d', n => `${WIDTHS[n]} channels`, show), a = slider('width-a', n => `×${LOUD[n]}`, show);
  const shares = new Map();  // of a loudness, at every width
  function show() {
    const one = crowds[d.value], loudness = LOUD[a.value];
    if (!shares.has(loudness)) shares.set(loudness, crowds.map(crowd => readBack(crowd, loudness)));
    const read = shares.get(loudness), off = drawAngles(one);
    drawShares(read, d.value);
    byId('width-now').textContent = `In ${one.dim} channels the angle of a word and a position is ${number(off, 1)}° off a right angle in the mean. `
      + `At ×${loudness} the word is read right in ${percent(read[d.value].word)} of the sums, and the position in ${percent(read[d.value].place)}.`;
  }
  show();
  open('width');
}
function drawAngles({dim, wp}) {
  const angles = wp.flat().map(product => Math.acos(Math.max(-1, Math.min(1, product / (dim / 2)))) * 180 / Math.PI), counts = Array(36).fill(0);
  for (const angle of angles) ++counts[Math.min(35, Math.floor(angle / 5))];
  const most = Math.max(...counts), left = 20, wide = 300 / 36, base = 180;
  const off = angles.reduce((sum, angle) => sum + Math.abs(angle - 90), 0) / angles.length;
  draw('width-angles', `Angles between words and positions in ${dim} channels`, `In the mean ${number(off, 1)}° off a right angle.`,
    words('how many pairs have which angle', left, 14, {class: 'label'}),
    counts.map((count, n) => bar('s', left + n * wide + .5, base, wide - 1, -150 * count / most)), line('axis', [left, base], [320, base]),
    [0, 45, 90, 135, 180].map(angle => words(`${angle}°`, left + angle / 180 * 300, base + 16, middle)),
        words('angle of a word and a position', 170, 215, {class: 'label', ...middle}));
  return off;
}
function drawShares(read, chosen) {
  const at = (n, share) => [46 + 27 * n, 180 - 150 * share], points = kind => read.map((one, n) => at(n, one[kind]));
  // Names stand apart where lines end together.
  const ends = [at(8, read[8].word)[1] + 4, at(8, read[8].place)[1] + 4], close = Math.abs(ends[0] - ends[1]) < 14, up = ends[0] <= ends[1] ? -1 : 1;
  draw('width-shares', 'What is read right out of the sum, by width',
      read.map((one, n) => `${WIDTHS[n]}: word ${percent(one.word)}, position ${percent(one.place)}`).join('; '),
    words('share of the sums that is read right', 8, 14, {class: 'label'}),
    [0, .5, 1].map(share => [line('grid', at(0, share), at(8, share)), words(percent(share), 40, at(0, share)[1] + 4, end)]),
    WIDTHS.map((width, n) => words(String(width), at(n, 0)[0], 196, middle)), words('width of the model', 154, 215, {class: 'label', ...middle}),
    line('axis', at(chosen, 0), at(chosen, 1)), curve('x', points('word')), curve('e', points('place')),
    ['word', 'place'].map((kind, n) => shape('circle', {class: n ? 'e' : 'x', cx: at(chosen, 0)[0], cy: at(chosen, read[chosen][kind])[1], r: 4.5})),
    words('word', 270, ends[0] + (close ? 7 * up : 0), {class: 'x'}), words('position', 270, ends[1] - (close ? 7 * up : 0), {class: 'e'}));
}

// 3. The four terms.
const NAMES = ['Tom', 'bit', 'a', 'dog', 'the', 'cat'];
async function termsScreen() {
  const places = await sinusoid(32, 64), made = madeUp(NAMES.length, 32), name = n => NAMES[n];
  const x = slider('terms-x', name, show), p = slider('terms-p', String, show), y = slider('terms-y', name, show), q = slider('terms-q', String, show);
  function show() {
    const [wx, wy, e, f] = [made[x.value], made[y.value], places[p.value], places[q.value]];
    const terms = [dot(wx, wy), dot(wx, f), dot(e, wy), dot(e, f)], all = dot(plus(wx, e), plus(wy, f));
    const signed = terms.map((term, n) => (n ? `${term < 0 ? '− ' : '+ '}${number(Math.abs(term), 1)}` : number(term, 1))).join(' ');
    byId('terms-now').textContent = `${number(all, 1)} = ${signed}`;
    drawTerms(terms, all);
  }
  show();
  open('terms');
}
function drawTerms(terms, all) {
  const zero = 80, UNIT = 4.6, rows = [['x', 'x·y: word to word'], ['y', 'x·f: word to position'], ['y', 'e·y: position to word'],
      ['e', 'e·f: position to position'], ['s', 'all together']];
  draw('terms-bars', 'The four terms of the product', rows.map(([, name], n) => `${name} ${number([...terms, all][n], 1)}`).join('; '),
    line('axis', [zero, 0], [zero, 250]), [...terms, all].map((value, n) => [
      words(rows[n][1], zero + 4, 50 * n + 15), bar(rows[n][0], zero, 50 * n + 20, UNIT * value, 20),
      words(number(value, 1), zero + UNIT * value + (value < 0 ? -5 : 5), 50 * n + 35, value < 0 ? end : {})]));
}

// 4. Real words: MiniLM's, reduced by scripts/words.
const HEARD = [1, 3, 10], LOUDEST = 40, LOUDNESSES = Array.from({length: 81}, (_, n) => LOUDEST ** (n / 80));

function wordsIn(bytes) {
  const until = bytes.indexOf(10), header = JSON.parse(new TextDecoder().decode(bytes.subarray(0, until))), size = header.directions;
  const names = header.words.split(' '), fine = header.fine, each = fine + (size - fine) / 2, signed = new Int8Array(bytes.buffer, bytes.byteOffset + until + 1);
  const table = names.map((_, w) => Float64Array.from({length: size}, (_, c) => {
    const both = bytes[until + 1 + w * each + fine + ((c - fine) >> 1)], code = c < fine ? signed[w * each + c] : (c & 1 ? both >> 4 : both & 15) - 7.5;
    return header.word_means[c] + code * header.word_steps[c];
  }));
  const places = header.positions.map((_, p) => Float64Array.from({length: size}, (_, c) => signed[names.length * each + p * size + c] * header.position_steps[c]));
  return {names, table, lengths: header.word_lengths, places, placeLengths: header.position_lengths, positions: header.positions, kept: header.kept};
}
// The dot products of a vector with all words; that of word w with itself is known exactly.
function products({table, lengths}, one, w) {
  const all = Float64Array.from(table, word => dot(word, one));
  if (w !== undefined) all[w] = lengths[w] ** 2;
  return all;
}
// Words by their cosine with x + loudness·e, the nearest first; of x and e the dot products are known.
function nearestTo({lengths}, xs, es, loudness, count) {
  const scores = xs.map((product, n) => (product + loudness * es[n]) / lengths[n]);
  return [...scores.keys()].sort((a, b) => scores[b] - scores[a]).slice(0, count).map(n => ({n, score: scores[n]}));
}
// From which loudness on another word is nearer than w itself, and which one: each cosine grows with the loudness along a line,
// but for a factor that all share.
function lostAt({lengths}, w, xs, es) {
  const first = {at: Infinity};
  for (let n = 0; n < xs.length; ++n) {
    const gain = es[n] / lengths[n] - es[w] / lengths[w], at = (xs[w] / lengths[w] - xs[n] / lengths[n]) / gain;
    if (n !== w && gain > 0 && at < first.at) Object.assign(first, {at, n});
  }
  return first;
}

async function wordsScreen() {
  const data = wordsIn(await unpacked('minilm-words')), {names, table, lengths, places, placeLengths, positions, kept} = data;
  byId('words-all').append(...names.map(name => element('option', {value: name})));
  const asked = Array.from({length: 200}, (_, n) => 10 * n), ofAsked = [];  // each tenth word, and its products when they are needed
  const ofPlaces = places.map(place => products(data, place)), input = byId('words-x');
  let chosen = names.indexOf('dog');
  const p = slider('words-p', n => String(positions[n]), show), curves = new Map();
  function show() {
    const xs = products(data, table[chosen], chosen), es = ofPlaces[p.value], x = lengths[chosen], e = placeLengths[p.value];
    const long = loudness => Math.sqrt(x * x + 2 * loudness * es[chosen] + loudness * loudness * e * e);  // the sum
    for (const loudness of HEARD) drawNearest(data, chosen, nearestTo(data, xs, es, loudness, 6), loudness, long(loudness));
    const lost = lostAt(data, chosen, xs, es), ratio = e / x, name = `“${names[chosen]}”`;
    byId('words-now').textContent = `At position ${positions[p.value]} the position's vector is ${number(ratio)} times as long as that of ${name}. `
      + (lost.at < LOUDEST ? `From ×${number(lost.at, 1)} on ${name} is lost: “${names[lost.n]}” is nearer.` : `${name} is found even at ×${LOUDEST}.`)
      + (positions[p.value] ? '' : ' Position 0 is special: in MiniLM it always has the token [CLS], and its vector is long.');
    if (!curves.has(p.value)) curves.set(p.value, sharesFound(p.value));
    drawLost(curves.get(p.value), lost.at);
  }
  function sharesFound(place) {
    asked.forEach((w, n) => { ofAsked[n] ??= products(data, table[w], w); });
    const lost = asked.map((w, n) => lostAt(data, w, ofAsked[n], ofPlaces[place]).at);
    return LOUDNESSES.map(loudness => lost.filter(at => at > loudness).length / lost.length);
  }
  for (const button of document.querySelectorAll('[data-word]'))
    button.addEventListener('click', () => {
      input.value = button.dataset.word;
      input.dispatchEvent(new Event('input'));
    });
  input.addEventListener('input', () => {
    const found = names.indexOf(input.value.trim().toLowerCase());
    if (found >= 0) {
      chosen = found;
      show();
    } else {
      const asked = input.value.trim(), still = `The pictures are those of “${names[chosen]}”.`;
      byId('words-now').textContent = asked ? `“${asked}” is not among the ${names.length.toLocaleString('en')} words here. ${still}` : still;
    }
  });
  byId('words-note').textContent = `Of MiniLM's vocabulary here are ${names.length.toLocaleString('en')} words, the most frequent that are whole. `
    + `Their vectors are reduced from 384 directions to ${table[0].length}, `
    + `and to four bits a number for most. In spite of this rounding, ${percent(kept.nearest)} of the words keep their nearest other word. `
    + `Of the sums at ×10, ${percent(kept.of_sums_times_10)} keep theirs. The curve asks each tenth word. Licence of the model: Apache-2.0.`;
  show();
  open('words');
}
function drawNearest({names}, chosen, found, loudness, length) {
  const ROW = 29, scale = 150;
  draw(`words-${loudness}`, `The nearest words at ×${loudness}`, found.map(({n, score}) => `${names[n]} ${number(score / length)}`).join(', '),
    found.map(({n, score}, row) => [
      words(names[n], 92, ROW * row + 19, {...end, class: n === chosen ? 'x' : undefined}),
          bar(n === chosen ? 'x' : 'y', 100, ROW * row + 5, scale * Math.max(0, score / length), 20),
      words(number(score / length), 106 + scale * Math.max(0, score / length), ROW * row + 19)]));
}
function drawLost(shares, lost) {
  const at = (loudness, share) => [46 + 270 * Math.log(loudness) / Math.log(LOUDEST), 170 - 140 * share], marks = [1, 3, 10, 30];
  draw('words-shares', 'Words that are found again, by loudness of the position',
      marks.map(mark => `×${mark}: ${percent(shares[LOUDNESSES.findIndex(one => one >= mark * .999)])}`).join(', '),
    words('share of the words that is nearest to its own sum', 8, 14, {class: 'label'}),
    [0, .5, 1].map(share => [line('grid', at(1, share), at(LOUDEST, share)), words(percent(share), 40, at(1, share)[1] + 4, end)]),
    marks.map(mark => words(`×${mark}`, at(mark, 0)[0], 187, middle)), words('loudness of the position', 181, 205, {class: 'label', ...middle}),
    curve('x', LOUDNESSES.map((loudness, n) => at(loudness, shares[n]))),
    lost < LOUDEST ? [line('dash s', at(lost, 0), at(lost, 1)), words('lost', at(lost, 0)[0] - 5, at(1, .5)[1] - 6, {class: 's', ...end})] : []);
}

// 5. Concatenation as a block matrix. Word and position are those of the essay's table: dog, place 1.
const DOG = [2, 0, 1, -1], PLACE = [0, .1, .4, -.4];
const FREE = [[[1, 1, 0, 0], [0, 1, -1, 0], [1, 0, 2, 0], [-1, 0, 0, 1]], [[0, 2, 1, 0], [1, 0, 0, 1], [0, -1, 1, 0], [0, 0, 1, -2]]];
const identity = (rows, from = 0) => Array.from({length: rows}, (_, r) => [0, 1, 2, 3].map(c => +(r === c + from)));
const BLOCKS = {
  free: {w: FREE, names: ['W₁', 'W₂'], says: 'The two blocks differ: eight columns, each free. The word and the position are mapped apart, then added.'},
  tied: {w: [FREE[0], FREE[0]], names: ['W', 'W'],
      says: 'The same block twice: the product is that block times x + e. So a sum is a concatenation with tied blocks.'},
  same: {w: [identity(4), identity(4)], names: ['1', '1'], says: 'Both blocks leave everything as it is: the product is x + e, the plain sum, without a parameter.'},
  own: {w: [identity(8), identity(8, 4)], names: ['1 over 0', '0 over 1'],
      says: 'Each has channels of its own, where the other has zeros: the plain concatenation. It is a sum too, and twice as wide.'},
};
const times = (matrix, column) => matrix.map(row => dot(row, column));
const short = value => (Number.isInteger(value) ? number(value, 0) : number(value, 2).replace(/0$/, ''));
function blocksScreen() {
  let chosen = 'free';
  const sizes = [64, 128, 384, 768, 1024, 2048, 4096], tokens = [128, 256, 512, 1024, 2048, 4096, 8192];
  const d = slider('blocks-d', n => sizes[n].toLocaleString('en'), count), n = slider('blocks-n', at => tokens[at].toLocaleString('en'), count);
  for (const button of document.querySelectorAll('[data-blocks]'))
    button.addEventListener('click', () => {
      chosen = button.dataset.blocks;
      for (const other of document.querySelectorAll('[data-blocks]')) other.setAttribute('aria-pressed', String(other === button));
      show();
    });
  function show() {
    const {w: [left, right], names, says} = BLOCKS[chosen], parts = [times(left, DOG), times(right, PLACE)],
        whole = times(left.map((row, r) => [...row, ...right[r]]), [...DOG, ...PLACE]);
    drawWhole(left, right, whole, names);
    drawApart(parts, plus(...parts), names);
    byId('blocks-now').textContent = says;
  }
  function count() {
    const [w, t] = [sizes[d.value], tokens[n.value]], told = value => value.toLocaleString('en');
    const counted = table(['way', 'width of the stream', 'parameters for positions'], [
      ['sum with the sinusoid', told(w), '0'],
      ['sum with a learned table', told(w), `${told(t)} × ${told(w)} = ${told(t * w)}`],
      ['concatenation with a projection', told(w), `2 × ${told(w)} × ${told(w)} = ${told(2 * w * w)}`],
      ['concatenation, a quarter for the position', `${told(w)}: ${told(w * 3 / 4)} word, ${told(w / 4)} position`, '0'],
      ['concatenation, both whole', told(2 * w), '0, and every layer is twice as wide'],
    ]);
    // It may scroll on a narrow screen, so the keyboard has to reach it.
    for (const [key, value] of Object.entries({tabindex: 0, role: 'region', 'aria-label': 'what each way costs'})) counted.setAttribute(key, value);
    byId('blocks-count').replaceChildren(counted);
  }
  show();
  count();
  open('blocks');
}
const column = (kind, values, x, top, row, width = 34) => values.map((value, r) => [
  shape('rect', {class: 'cell', x, y: top + row * r, width, height: row}),
      words(short(value), x + width / 2, top + row * r + row / 2 + 4, {...middle, class: kind})]);
function drawWhole(left, right, whole, names) {
  const rows = whole.length, ROW = 22, top = 20 + (8 - rows) * ROW / 2, matrix = [left, right].map((block, b) => block.map((row, r) => row.map((value, c) => [
    shape('rect', {class: 'cell', x: 4 + 25 * (c + 4 * b), y: top + ROW * r, width: 25, height: ROW}),
    words(short(value), 16.5 + 25 * (c + 4 * b), top + ROW * r + 15, {...middle, class: value ? (b ? 'e' : 'x') : undefined})])));
  draw('blocks-whole', 'The matrix with two blocks times the concatenation', `The product is ${whole.map(short).join(', ')}.`,
    words(names[0], 54, top - 6, {class: 'x', ...middle}), words(names[1], 154, top - 6, {class: 'e', ...middle}), matrix,
    column('x', DOG, 222, 20, ROW), column('e', PLACE, 222, 20 + 4 * ROW, ROW), words('x', 212, 20 + 2 * ROW + 4, {class: 'x', ...middle}),
        words('e', 212, 20 + 6 * ROW + 4, {class: 'e', ...middle}),
    words('=', 272, 112, middle), column('s', whole, 292, top, ROW, 44));
}
function drawApart(parts, sum, names) {
  const ROW = 22, top = 20 + (8 - sum.length) * ROW / 2;
  draw('blocks-apart', 'The same as a sum of two parts', `${parts.map(part => part.map(short).join(', ')).join(' plus ')} is ${sum.map(short).join(', ')}.`,
    [['x', `${names[0]} · x`, parts[0], 30], ['e', `${names[1]} · e`, parts[1], 140], ['s', 'sum', sum, 250]].map(([kind, name, values, x]) => [
      words(name, x + 25, top - 6, {class: kind, ...middle}), column(kind, values, x, top, ROW, 50)]),
    words('+', 110, 112, middle), words('=', 220, 112, middle));
}

// 6. The clock. A pair of channels is (sin pω, cos pω), so that it turns as a clock's hand does, from twelve.
const turned = ([s, c], [sk, ck]) => [s * ck + c * sk, c * ck - s * sk];
async function clockScreen() {
  const places = await sinusoid(8, 96), pairs = row => [0, 2, 4, 6].map(c => row.slice(c, c + 2)), p = slider('clock-p', String, show),
      k = slider('clock-k', String, show);
  // A query and a key of two channels.
  const query = [1, .5], key = [.4, 1], rotated = (one, at) => turned(one, places[at].slice(0, 2));
  function show() {
    const now = pairs(places[p.value]), turn = pairs(places[k.value]), later = pairs(places[p.value + k.value]);
    const off = Math.max(...now.map((pair, n) => lengthOf(plus(turned(pair, turn[n]), later[n], -1))));
    drawHands(now, turn, later, p.value, k.value);
    const all = Array.from({length: 64}, (_, at) => at), product = {
      turned: all.map(at => dot(rotated(query, at), rotated(key, at + k.value))),
      added: all.map(at => dot(plus(query, places[at].slice(0, 2)), plus(key, places[at + k.value].slice(0, 2))))};
    drawProducts(product, p.value);
    byId('clock-now').textContent = `The turn for k = ${k.value}, made of k alone, takes all four hands `
      + `from p = ${p.value} to p + k = ${p.value + k.value}; what is left is ${off < 1e-12 ? 'less than 1e-12' : off.toExponential(0)}. `
      + `The rotation's q·k is ${number(product.turned[p.value])} at every p; of the sum it is ${number(product.added[p.value])} here, and changes with p.`;
  }
  show();
  open('clock');
}
function drawHands(now, turn, later, p, k) {
  const hand = (kind, [x, y], [s, c]) => line(kind, [x, y], [x + 34 * s, y - 34 * c]), speeds = ['1', '0.1', '0.01', '0.001'];
  draw('clock-hands', `Four hands at position ${p} and at ${p + k}`, 'Solid: at p. Dashed: at p + k. Below: the matrix that turns one to the other.',
      now.map((pair, n) => {
    const at = [44 + 84 * n, 64], [s, c] = turn[n];
    return [words(`ω = ${speeds[n]}`, at[0], 16, {class: 'label', ...middle}), shape('circle', {class: 'axis open', cx: at[0], cy: at[1], r: 38}),
        hand('arrow e', at, pair), hand('arrow dash s', at, later[n]),
      [[c, s], [-s, c]].map((row, r) => row.map((value, col) => [shape('rect', {class: 'cell', x: at[0] - 38 + 38 * col, y: 132 + 24 * r, width: 38, height: 24}),
        words(number(value), at[0] - 19 + 38 * col, 148 + 24 * r, middle)]))];
  }), words('solid: p', 8, 122, {class: 'e'}), words('dashed: p + k', 70, 122, {class: 's'}), words('each turn, by k alone', 170, 200, {class: 'label', ...middle}));
}
function drawProducts({turned: flat, added}, p) {
  const at = (n, value) => [36 + 290 * n / 63, 110 - 16 * value];
  draw('clock-products', 'Product of query and key at the distance k, by position',
      `Of the rotation ${number(flat[p])} everywhere; of the sum ${number(added[p])} at ${p}.`,
    words('q·k at the same distance k', 8, 14, {class: 'label'}), words('sum', 225, 14, {class: 's'}), words('rotation', 262, 14, {class: 'e'}),
        [-4, -2, 0, 2, 4].map(value => [line('grid', at(0, value), at(63, value)), words(number(value, 0), 28, at(0, value)[1] + 4, end)]),
    [0, 16, 32, 48, 63].map(n => words(String(n), at(n, 0)[0], 196, middle)), words('position p', 181, 214, {class: 'label', ...middle}),
        line('axis', at(p, -4.4), at(p, 5)),
    curve('s', added.map((value, n) => at(n, value))), curve('e', flat.map((value, n) => at(n, value))));
}

// One screen after the other: the first is there at once, and a page that is slow stays alive.
async function playAll() {
  for (const screen of [planeScreen, blocksScreen, clockScreen, termsScreen, wordsScreen, widthScreen]) {
    await screen();
    await new Promise(done => setTimeout(done));
  }
  document.documentElement.dataset.ready = 'yes';
}
playAll().catch(error => byId('plane').before(element('p', {class: 'fault', role: 'alert'}, `This page failed: ${error.message ?? error}`)));

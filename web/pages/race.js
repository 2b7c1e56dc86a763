// Three trainings side by side, one in each worker (race-worker.js), and what they tell: losses, speeds, texts, longer windows.
const form = document.getElementById('ask'), said = document.getElementById('said'), view = document.getElementById('race');
const button = Object.fromEntries(['start', 'pause', 'step', 'reset'].map(id => [id, document.getElementById(id)]));
const ARMS = 3, POINTS = 20, LOOKS = [{colour: '#1F77C9', dash: ''}, {colour: '#D2561A', dash: '7 3'}, {colour: '#12875F', dash: '2 3'}];
const NUMBERS = ['layers', 'width', 'heads', 'length', 'batch', 'steps', 'rate', 'seed'];

const worker = URL.createObjectURL(new Blob([textOf('race-worker')], {type: 'text/javascript'}));
const bible = unpacked('king-james').then(bytes => new TextDecoder().decode(bytes));

let race = null;  // {settings, text, name, arms: [{look, spec, worker, about, step, losses, points, speed, rate, text, lengths, fault, paused, ended}], runs}

const tell = text => { said.textContent = text; };
const nats = x => Number.isFinite(x) ? x.toFixed(3) : '';
const every = (arms, what) => arms.every(what);
const over = arm => arm.ended || arm.fault, rests = arm => over(arm) || arm.paused;

// --- The race

async function prepare() {
  stop();
  const own = document.getElementById('text').value, settings = Object.fromEntries(NUMBERS.map(id => [id, Number(document.getElementById(id).value)]));
  const text = own || await bible, module = await compiled, name = own ? 'your text' : 'king-james.txt';
  const mine = {settings: {...settings, windows: 64}, text, name, own: Boolean(own), runs: false, arms: []};
  race = mine;
  mine.arms = LOOKS.map((look, n) => ({look, n, spec: document.getElementById(`arm-${n}`).value.trim(), step: 0, losses: [], points: [], lengths: [], paused: true}));
  layOut();
  tell('The models are being made.');
  await Promise.all(mine.arms.map(arm => new Promise(ready => {
    arm.worker = new Worker(worker);
    arm.worker.onerror = event => heard(arm, {is: 'fault', message: event.message}, ready);
    arm.worker.onmessage = ({data}) => heard(arm, data, ready);
    arm.worker.postMessage({does: 'begin', module, spec: arm.spec, name, text, settings: mine.settings, points: POINTS});
  })));
  if (race !== mine) return false;  // it was reset meanwhile
  if (mine.arms.some(arm => arm.fault)) {
    refuse();
    return false;
  }
  await draw();
  return true;
}

// A race does not begin without one of its models. A text that is too short is the same fault for all.
function refuse() {
  const faults = race.arms.filter(arm => arm.fault).map(arm => ({who: `${arm.spec || 'an empty spec'}: `, message: arm.fault}));
  const same = faults.length === ARMS && faults.every(one => one.message === faults[0].message);
  end();
  view.replaceChildren(...(same ? [{who: '', message: faults[0].message}] : faults).map(({who, message}) => element('p', {class: 'fault'}, who + message)));
  tell('The race has not begun.');
}

const hears = {
  ready: (arm, {about}) => { arm.about = about; },
  fault: (arm, {message}) => { arm.fault = message; },
  steps: (arm, {losses, rate, speed}) => {
    arm.losses.push(...losses);
    Object.assign(arm, {step: arm.losses.length, rate, speed});
  },
  point: (arm, {step, nats}) => { arm.points.push([step, nats]); },
  text: (arm, text) => { arm.text = text; },
  length: (arm, length) => { arm.lengths.push(length); },
  paused: arm => { arm.paused = true; },
  end: arm => { arm.ended = true; },
};
function heard(arm, data, ready) {
  if (!race?.arms.includes(arm)) return;
  hears[data.is](arm, data);
  if (data.is === 'ready' || (data.is === 'fault' && !arm.about)) return ready();
  if (data.is === 'fault') tell(`${arm.spec} has ended. ${arm.fault}.`);
  if (data.is === 'paused' && every(race.arms, rests)) tell('The race is paused.');
  due(data.is !== 'steps');
  show();
  if (every(race.arms, over)) finish();
}

function send(does) {
  for (const arm of race.arms) if (!over(arm)) arm.worker.postMessage({does});
}
function stop() {
  for (const arm of race?.arms ?? []) arm.worker?.terminate();
  race = null;
}
function end() {
  stop();
  show();
}
function run(runs) {
  race.runs = runs;
  if (runs) for (const arm of race.arms) arm.paused = false;
  send(runs ? 'run' : 'pause');
  if (runs) tell('The race runs.');
  show();
}
async function finish() {
  race.runs = false;
  for (const arm of race.arms) arm.worker.terminate();
  await draw();
  const last = arm => arm.points.at(-1)[1], [best, next] = race.arms.filter(arm => arm.ended).sort((a, b) => last(a) - last(b));
  const first = best ? `${best.spec} has the lowest held-out loss: ${nats(last(best))} nats per byte` : '';
  const gap = next ? `, ${nats(last(next) - last(best))} below the next. One race proves nothing: try another seed.` : '.';
  tell(`The race is over. ${best ? first + gap : ''}`);
  show();
}
// Which buttons can be pressed.
function show() {
  const begun = race?.arms.every(arm => arm.about), going = begun && !every(race.arms, over);
  button.start.textContent = race ? 'Start again' : 'Start';
  button.pause.disabled = !going;
  button.pause.textContent = !going || race.runs ? 'Pause' : 'Continue';
  button.step.disabled = Boolean(race) && !(going && every(race.arms, rests));
  button.reset.disabled = !race;
}

// --- What is seen: drawn again a few times a second, and with less motion only where a held-out loss is new.
const still = matchMedia('(prefers-reduced-motion: reduce)');
let waits = 0;
function due(important) {
  if (!waits && (important || !still.matches || !race.runs)) waits = setTimeout(draw, 200);
}
async function draw() {
  clearTimeout(waits);
  waits = 0;
  if (!race?.arms.every(arm => arm.about || arm.fault)) return;
  part('losses').replaceChildren(lossChart());
  renew('table', race.arms.map(cells), () => [reachable(table(HEADS, race.arms.map(cells)), 'live')], now =>
    part('table').querySelectorAll('tbody tr').forEach((row, n) => now[n].forEach((cell, at) => { row.cells[at].textContent = cell; })));
  renew('written', race.arms.map(arm => arm.text?.step), () => race.arms.map(written));
  if (race.arms.some(arm => arm.lengths.length)) renew('longer', [view.clientWidth, ...race.arms.map(arm => arm.lengths.length)], longer);
}
// What can hold the focus, a selection or a scroll is made again only where it has changed, and a table keeps its cells.
function renew(name, now, make, change) {
  const place = part(name), state = JSON.stringify(now);
  if (place.dataset.state === state) return;
  if (place.dataset.state && change) change(now);
  else place.replaceChildren(...make());
  place.dataset.state = state;
}
// The keyboard has to reach what scrolls on a narrow screen.
function reachable(made, kind) {
  made.tabIndex = 0;
  if (kind) made.firstChild.classList.add(kind);
  return made;
}
const part = name => view.querySelector(`[data-part=${name}]`);
function layOut() {
  const place = name => element('div', {'data-part': name});
  view.replaceChildren(
    element('h2', {id: 'losses'}, 'The losses'), place('losses'), place('table'),
    element('h2', {id: 'texts'}, 'What the models write'),
    paragraph('Each goes on from the same beginning. What is underlined lies beyond the window that the model was trained on.'),
    element('div', {'data-part': 'written', class: 'written'}),
    element('h2', {id: 'longer'}, 'Longer windows than in training'),
    element('div', {'data-part': 'longer'}, paragraph('This is measured when the training ends.')),
    element('h2', {id: 'again'}, 'The same by the program'), ...again());
  show();
}

const HEADS = ['encoding', 'parameters', 'steps', 'training loss', 'held-out loss', 'rate', 'bytes a second', 'state'];
const grouped = x => Math.round(x).toLocaleString('en');
const cells = arm => [arm.spec, grouped(arm.about.parameters), `${grouped(arm.step)} of ${grouped(arm.about.steps)}`,
  nats(mean(arm.losses.slice(-binOf()))), nats(arm.points.at(-1)?.[1]), arm.rate?.toPrecision(2) ?? '', arm.speed ? grouped(arm.speed) : '', state(arm)];
const state = arm => arm.fault ? arm.fault : arm.ended ? 'has ended' : arm.step === arm.about.steps ? 'is measured' : race.runs ? 'trains' : 'waits';

function written(arm) {
  const heading = element('h3', {}, arm.spec), {text} = arm;
  if (!text) return element('div', {}, heading, element('pre', {tabindex: '0'}, 'Nothing yet.'));
  const pieces = text.refused ? [text.refused] : [element('span', {class: 'prompt'}, text.prompt), text.within, element('span', {class: 'beyond'}, text.beyond)];
  return element('div', {}, heading, element('p', {class: 'note'}, `after ${grouped(text.step)} steps`), element('pre', {tabindex: '0'}, ...pieces));
}

function longer() {
  const of = (arm, factor) => arm.lengths.find(length => length.factor === factor);
  const cell = found => !found ? '' : found.nats === null ? 'no position there' : nats(found.nats);
  const {length} = race.settings, rows = race.arms.map(arm => [arm.spec, ...[1, 2, 4].map(factor => cell(of(arm, factor)))]);
  return [reachable(table(['encoding', `in windows of ${length}`, `of ${2 * length}`, `of ${4 * length}`], rows)),
    paragraph(`The losses are of the last ${Math.min(32, length)} bytes of a window, in nats per byte, on the same bytes at every length.`), positionChart()];
}

// The same race by the program, and the study that answers.
function again() {
  const s = race.settings, arms = [...new Set(race.arms.map(arm => arm.spec))].join(', ');
  const sizes = `gnomon study --text ${race.own ? 'TEXT' : race.name} --out race --set 'study.arms=${arms}' \\
  --set model.layers=${s.layers} --set model.width=${s.width} --set model.heads=${s.heads} --set model.length=${s.length} \\
  --set train.batch=${s.batch} --set train.steps=${s.steps} --set evaluate.windows=${s.windows}`;
  const save = element('button', {type: 'button', onclick: () =>
    element('a', {href: `data:text/plain;charset=utf-8,${encodeURIComponent(race?.text ?? '')}`, download: 'king-james.txt'}).click()}, 'save the text');
  return [paragraph('With the same text and settings, the program computes the same losses but for rounding:'),
    copyable(`${sizes} \\\n  --set train.learning_rate=${s.rate} --set tune.seeds=0 --set study.seeds=${s.seed} --set study.budgets=1`, 'the command'),
    paragraph('For an answer with intervals, let it tune the rates and repeat each training with five seeds:'), copyable(`${sizes} --set study.seeds=5`, 'this command'),
    ...(race.own ? [] : [element('p', {class: 'row'}, save)])];
}
const paragraph = text => element('p', {}, text);

// --- Charts, in the pixels of their place

function drawn(name, attributes, ...content) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...content);
  return made;
}
const mean = numbers => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
// Steps whose losses a point of the training curve is the mean of.
const binOf = () => Math.max(1, Math.ceil(race.settings.steps / 150));
function smoothed(losses) {
  const bin = binOf(), all = [];
  for (let from = 0; from < losses.length; from += bin) {
    const some = losses.slice(from, from + bin);
    if (some.length === bin || !all.length || from + some.length === race.settings.steps) all.push([from + some.length, mean(some)]);
  }
  return all;
}

// About n round numbers within a range.
function ticks(low, high, n) {
  const raw = (high - low) / n, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(x => x * power).find(x => x >= raw) ?? raw;
  const all = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + 1e-9 * step; x += step) all.push(Number(x.toPrecision(12)));
  return all;
}

// lines: [{look, points: [[x, y]], marks: [[x, y]]}]; x from 0 to `last`. What lies before `from` may be higher than the chart.
function chart({title, description, last, across, lines, border, from = 0}) {
  const width = Math.max(280, Math.min(view.clientWidth, 920)), height = width < 600 ? 250 : 320, left = 40, right = width - 14, top = 12, bottom = height - 40;
  const all = lines.flatMap(line => [...line.points, ...line.marks ?? []]).filter(([at, y]) => at >= from && Number.isFinite(y)).map(([, y]) => y);
  const low = Math.floor(4 * Math.min(...all, 5)) / 4, high = Math.max(low + 0.5, Math.ceil(4 * Math.max(...all)) / 4);
  const x = at => left + (right - left) * at / last, y = at => bottom - (bottom - top) * (at - low) / (high - low), round = at => at.toFixed(1);
  const text = (content, at, words = {}) => drawn('text', {class: 'label', x: round(at[0]), y: round(at[1]), ...words}, content);
  const inside = drawn('clipPath', {id: `inside-${title.length}`}, drawn('rect', {x: left, y: top - 6, width: right - left + 6, height: bottom - top + 12}));
  const svg = drawn('svg', {class: 'drawn', viewBox: `0 0 ${width} ${height}`, role: 'img'}, drawn('title', {}, title), drawn('desc', {}, description), inside);
  for (const at of ticks(low, high, 5))
    svg.append(drawn('line', {class: 'grid', x1: left, x2: right, y1: round(y(at)), y2: round(y(at))}), text(at, [left - 7, y(at) + 4], {'text-anchor': 'end'}));
  for (const at of ticks(0, last, width < 600 ? 4 : 8).filter(at => x(at) < right - 12))
    svg.append(text(at.toLocaleString('en'), [x(at), bottom + 16], {'text-anchor': at ? 'middle' : 'start'}));
  svg.append(text(across, [(left + right) / 2, bottom + 33], {'text-anchor': 'middle'}));
  if (border) svg.append(drawn('line', {class: 'axis', x1: round(x(border)), x2: round(x(border)), y1: top, y2: bottom, 'stroke-dasharray': '4 4'}));
  const curves = drawn('g', {'clip-path': `url(#${inside.id})`});
  svg.append(curves);
  for (const {look, points, marks = []} of lines) {
    const path = points.filter(([, at]) => Number.isFinite(at)).map(([a, b]) => `${round(x(a))},${round(y(b))}`).join(' ');
    if (path) curves.append(drawn('polyline', {class: 'line', points: path, stroke: look.colour, 'stroke-dasharray': look.dash || undefined}));
    for (const [a, b] of marks.filter(([, at]) => Number.isFinite(at))) curves.append(mark(look, x(a), y(b)));
  }
  return svg;
}
// A circle, a square or a triangle.
function mark(look, x, y) {
  const shape = [`M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`, `M${x - 3.6} ${y - 3.6}h7.2v7.2h-7.2z`, `M${x} ${y - 4.6}l4.6 8h-9.2z`][LOOKS.indexOf(look)];
  return drawn('path', {d: shape, fill: look.colour, stroke: 'var(--paper)'});
}
function legend() {
  const sample = ({look}) => drawn('svg', {class: 'sample', viewBox: '0 0 34 14', 'aria-hidden': 'true'},
    drawn('line', {class: 'line', x1: 0, x2: 34, y1: 7, y2: 7, stroke: look.colour, 'stroke-dasharray': look.dash || undefined}), mark(look, 17, 7));
  return element('ul', {class: 'legend'}, ...race.arms.map(arm => element('li', {}, sample(arm), arm.spec)));
}
const figure = (caption, note, picture) => element('figure', {}, element('figcaption', {}, caption), legend(), picture, element('p', {class: 'note'}, note));

function lossChart() {
  const lines = race.arms.map(arm => ({look: arm.look, points: smoothed(arm.losses), marks: arm.points}));
  const last = ({points}) => points.length ? `held-out loss ${nats(points.at(-1)[1])} after ${points.at(-1)[0]} steps` : 'no held-out loss yet';
  const description = race.arms.map(arm => `${arm.spec}: ${last(arm)}`).join('; ');
  const bin = binOf(), averaged = bin > 1 ? `, a mean over ${bin} steps` : '', reached = Math.max(...race.arms.map(arm => arm.step));
  const note = `Lines: training loss${averaged}. Marks: loss in windows that training does not see. The first tenth may be cut off above.`;
  return figure('Loss, in nats per byte', note,
    chart({title: 'Losses of the three models while they train', description, last: race.settings.steps, across: 'steps', lines, from: reached / 10}));
}
function positionChart() {
  const {length} = race.settings, group = Math.max(1, Math.round(length / 8));
  const means = by => by.flatMap((_, at) => at % group ? [] : [[at + group / 2, mean(by.slice(at, at + group))]]);
  const longest = arm => arm.lengths.filter(found => found.by_position.length).at(-1)?.by_position ?? [];
  const lines = race.arms.map(arm => ({look: arm.look, points: means(longest(arm))}));
  const description = race.arms.map(arm => `${arm.spec}: ${means(longest(arm)).map(([, at]) => nats(at)).join(', ')}`).join('; ');
  const note = `Each point is a mean over ${group} positions of ${race.settings.windows} held-out windows. The windows in training end at the dashed line.`;
  return figure('Loss by position in a window, in nats per byte', note,
    chart({title: 'Loss by position in windows four times as long as in training', description, last: 4 * length, across: 'position, in bytes', lines, border: length}));
}

// --- Every way in: a fault is told, whatever it is.
const told = action => async (...given) => {
  try {
    await action(...given);
  } catch (error) {
    end();
    view.replaceChildren(element('p', {class: 'fault'}, `This page failed: ${error.message ?? error}`));
  }
};
// A setting out of its bounds may be folded away, where the browser could not show it.
form.addEventListener('invalid', event => {
  const fold = event.target.closest('details');
  if (fold) fold.open = true;
}, true);
form.addEventListener('submit', told(async event => {
  event.preventDefault();
  if (await prepare()) run(true);
}));
button.pause.addEventListener('click', () => run(!race.runs));
button.step.addEventListener('click', told(async () => {
  if (!race && (!form.reportValidity() || !await prepare())) return;
  tell('One more step.');
  send('step');
  show();
}));
button.reset.addEventListener('click', () => {
  end();
  view.replaceChildren();
  tell('The race was reset.');
});
let width = view.clientWidth;
addEventListener('resize', () => {
  if (race && view.clientWidth !== width) due(true);
  width = view.clientWidth;
});

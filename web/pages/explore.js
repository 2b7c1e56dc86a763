// Draws what a spec does, as `gnomon show SPEC --out` does: a text and its controls, which follow each other.
const at = id => document.getElementById(id);
const said = at('said'), wrong = at('wrong'), answer = at('answer'), text = at('spec'), other = at('with');
const NOTHING = 'none', AFTER = 200, DRAWN_AT_ONCE = 3e8, COMPARED = 128;  // milliseconds; numbers that are read; positions

// What is looked at, and the bounds of its sliders. `most` of a number is the module's to say.
const LOOKED = [
  {name: 'first', label: 'Position', help: 'The pictures begin at this position and distance.', standard: 0, least: 0, most: 1e9, end: 1e6},
  {name: 'length', label: 'Trained length', help: 'Tokens in training, and how many are drawn.', standard: 128, least: 1, most: 131072, end: 4096},
  {name: 'dim', label: 'Width', help: 'Channels of the model.', standard: 64, least: 1, most: 16384, end: 1024},
  {name: 'heads', label: 'Heads', help: 'They share the width, and have to divide it.', standard: 4, least: 1, most: 1024, end: 32},
].map(one => ({...one, whole: true, logarithmic: true}));
const STANDARD = {first: 0, length: 128, dim: 64, heads: 4, causal: 1};
const looked = {...STANDARD};

// The registry, and what the spec consists of: as gnomon.spec() tells it.
let registry = null, parts = null;
const entryOf = name => registry.encodings.get(name) ?? registry.combinations.get(name);
async function learn() {
  const [encodings, combinations] = await ask(gnomon => [JSON.parse(gnomon.encodings()), JSON.parse(gnomon.combinations())]);
  const byName = all => new Map(all.map(entry => [entry.name, entry]));
  registry = {encodings: byName(encodings), combinations: byName(combinations)};
}

// The text of the parts. The module writes it shorter.
const written = ({name, options}) => {
  const given = entryOf(name).options.filter(o => options[o.name] !== undefined && options[o.name] !== o.standard);
  return given.map(o => `${o.name}=${options[o.name]}`).join(', ');
};
const named = part => written(part) ? `${part.name}(${written(part)})` : part.name;
function specOf({combination, input, attention, layers, samplers}) {
  const all = [], options = written(combination), joins = combination.name !== 'add' || options;
  if (joins) all.push(`${combination.name}(${input ? named(input) : NOTHING}${options ? `, ${options}` : ''})`);
  else if (input) all.push(named(input));
  all.push(...attention.map(named));
  if (layers.length) all.push(`[${layers.map(layer => layer.map(named).join('+') || NOTHING).join(', ')}]`);
  all.push(...samplers.map(named));
  return all.join('+') || NOTHING;
}

// A number on a slider of STEPS steps. Where the bounds span decades the slider is logarithmic; a bound of 0 is its left end.
const STEPS = 400;
function scaleOf({least, most, end = most, whole, logarithmic, standard}) {
  const low = least > 0 ? least : whole ? 1 : (Number(standard) || Math.min(1, end)) / 1e3;
  const fits = x => Math.min(most, Math.max(least, whole ? Math.round(x) : x));
  if (!logarithmic && (least < 0 || end <= 1 || end / low <= 100)) {
    const steps = whole && end - least <= STEPS ? end - least : STEPS;
    return {
      steps,
      value: step => fits(Number((least + step / steps * (end - least)).toPrecision(3))),
      step: x => Math.round((x - least) / (end - least) * steps),
    };
  }
  const first = least > 0 ? 0 : 1, part = step => (step - first) / (STEPS - first);
  return {
    steps: STEPS,
    value: step => step < first ? least : fits(step === STEPS ? end : Number((low * (end / low) ** part(step)).toPrecision(2))),
    step: x => x < low ? 0 : Math.round(first + Math.log(x / low) / Math.log(end / low) * (STEPS - first)),
  };
}

// Controls of a number: a slider and a field, which hold each other's value. `changed` is told of a value that is allowed.
function numberControls(id, option, value, changed) {
  const scale = scaleOf(option), name = option.label ?? option.name;
  const slider = element('input', {type: 'range', id: `${id}-slider`, min: 0, max: scale.steps, step: 1, 'aria-label': `${name}, slider`});
  const field = element('input', {type: 'number', id, min: option.least, max: option.most, step: option.whole ? 1 : 'any',
    'aria-describedby': `${id}-help`});
  const show = x => {
    slider.value = Math.min(scale.steps, scale.step(Number(x)));
    slider.setAttribute('aria-valuetext', String(x));
  };
  slider.addEventListener('input', () => {
    field.value = scale.value(Number(slider.value));
    slider.setAttribute('aria-valuetext', field.value);
    changed(field.value);
  });
  field.addEventListener('input', () => {
    if (!field.checkValidity() || field.value === '') return;
    show(field.value);
    changed(field.value);
  });
  field.addEventListener('change', () => {  // what is not allowed becomes the nearest that is
    if (field.checkValidity() && field.value !== '') return;
    const x = field.value === '' ? Number(option.standard) : Math.min(option.most, Math.max(option.least, Number(field.value)));
    field.value = option.whole ? Math.round(x) : x;
    show(field.value);
    changed(field.value);
  });
  field.value = value;
  show(value);
  return {all: [slider, field], set: x => { field.value = x; show(x); }};
}
function wordControls(id, option, value, changed) {
  const select = element('select', {id, 'aria-describedby': `${id}-help`, onchange: () => changed(select.value)},
    ...option.words.map(word => element('option', {value: word}, word)));
  select.value = value;
  return {all: [select], set: word => { select.value = word; }};
}
// Several numbers, separated by /.
function listControls(id, option, value, changed) {
  const field = element('input', {type: 'text', id, 'aria-describedby': `${id}-help`, autocomplete: 'off',
    onchange: () => changed(field.value.trim() || option.standard)});
  field.value = value;
  return {all: [field], set: x => { field.value = x; }};
}
const short = x => x >= 1e6 || (x > 0 && x < 1e-4) ? x.toExponential().replace('e+', 'e') : String(x);
function optionControls(id, option, value, changed) {
  const kind = option.words ? wordControls : option.list ? listControls : numberControls, name = option.label ?? option.name;
  const standard = element('button', {type: 'button', class: 'standard', onclick: () => { set.set(option.standard); tell(option.standard); }});
  const mark = x => {
    const same = String(x) === String(option.standard);
    standard.disabled = same;
    standard.textContent = same ? 'default' : `default: ${option.standard}`;
    standard.setAttribute('aria-label', same ? `${name} has its default` : `set ${name} to its default, ${option.standard}`);
  };
  const tell = x => { mark(x); changed(String(x)); };
  const set = kind(id, option, value, tell);
  mark(value);
  const range = `${option.whole ? 'whole, ' : ''}${short(option.least)} to ${short(option.most)}${option.list ? ', or several separated by /' : ''}`;
  const bounds = option.words ? '' : ` (${range})`;
  return element('div', {class: 'option'}, element('div', {class: 'head'}, element('label', {for: id}, name), standard),
    element('div', {class: 'set'}, ...set.all), element('p', {id: `${id}-help`}, `${option.help}${bounds}`));
}

// The options of one part; those after the third are folded, unless one of them is not its standard.
const SHOWN_FIRST = 3;
function optionsOf(id, part) {
  const options = entryOf(part.name).options;
  const controls = options.map(o => optionControls(`${id}-${o.name}`, o, part.options[o.name] ?? o.standard, value => {
    part.options[o.name] = value;
    fromControls();
  }));
  const rest = controls.splice(SHOWN_FIRST), changed = options.slice(SHOWN_FIRST).some(o => (part.options[o.name] ?? o.standard) !== o.standard);
  if (rest.length) controls.push(element('details', {open: changed}, element('summary', {}, `${rest.length} more options`), ...rest));
  return controls;
}

// Encodings by where they act.
const PLACES = {input: 'beside the words', qk: 'queries and keys', cross: 'logits, by words and distance', logits: 'biases of the logits',
  rows: 'whole rows of logits', value: 'values', mask: 'masks', positions: 'drawn positions'};
const placeOf = entry => entry.acts.split(', ')[0];
const isBeside = name => ['input', 'positions'].includes(placeOf(entryOf(name)));
function encodingSelect(id, name, inLayer, changed) {
  const groups = new Map();
  for (const entry of registry.encodings.values()) groups.set(placeOf(entry), [...groups.get(placeOf(entry)) ?? [], entry]);
  const select = element('select', {id, 'aria-label': 'encoding', onchange: () => changed(select.value)});
  for (const [place, entries] of groups) {
    const taken = entries.filter(entry => !inLayer || !isBeside(entry.name));
    const choices = taken.map(e => element('option', {value: e.name, title: e.title}, e.name));
    if (taken.length) select.append(element('optgroup', {label: PLACES[place] ?? 'nothing'}, ...choices));
  }
  select.value = name;
  return select;
}
const fresh = name => ({name, options: {}});

// One encoding of the spec. `replace` takes another in its place, or none.
function partControls(id, part, inLayer, replace) {
  const entry = entryOf(part.name);
  const choice = element('div', {class: 'choice'}, encodingSelect(`${id}-name`, part.name, inLayer, name => replace(fresh(name), `${id}-name`)));
  const remove = element('button', {type: 'button', id: `${id}-remove`, 'aria-label': `remove ${part.name}`, onclick: () => replace(null, `${id}-name`)}, 'remove');
  if (part.name !== NOTHING) choice.append(remove);
  return element('fieldset', {class: 'part'}, element('legend', {}, part.name), choice,
    element('p', {}, `${entry.title}.${entry.pitfall ? ` Beware: ${entry.pitfall}.` : ''}`), ...optionsOf(id, part));
}

// Puts encodings where they belong in the spec: beside the words, inside attention, before it.
function arranged(beside) {
  const inputs = beside.filter(p => placeOf(entryOf(p.name)) === 'input');
  parts.input = inputs[0] ?? null;
  parts.attention = beside.filter(p => !isBeside(p.name) && p.name !== NOTHING);
  parts.samplers = beside.filter(p => placeOf(entryOf(p.name)) === 'positions');
  if (!parts.input && entryOf(parts.combination.name).needs_position) parts.combination = fresh('add');
  return inputs.length > 1 ? `${inputs[1].name} was left out: a spec has one encoding beside the words.` : '';
}
const beside = () => [...(parts.input ? [parts.input] : []), ...parts.attention, ...parts.samplers];

function joining() {
  const select = element('select', {id: 'joining', onchange: () => {
    parts.combination = fresh(select.value);
    if (!parts.input && entryOf(select.value).needs_position) parts.input = fresh('sinusoidal');
    renewed('joining');
  }}, ...[...registry.combinations.values()].map(c => element('option', {value: c.name}, c.name)));
  select.value = parts.combination.name;
  return element('fieldset', {class: 'part'}, element('legend', {}, element('label', {for: 'joining'}, 'Word and position are joined by')),
    element('div', {class: 'choice'}, select),
    element('p', {}, `${entryOf(parts.combination.name).title}.`), ...(parts.input ? optionsOf('join', parts.combination) : []));
}
function layerControls(layer, n) {
  const replace = i => (part, id) => {
    layer.splice(i, 1, ...(part && part.name !== NOTHING ? [part] : []));
    renewed(id);
  };
  const button = (id, name, act) => element('button', {type: 'button', id: `layer${n}-${id}`, onclick: act}, name);
  const more = button('more', '+ an encoding here', () => { layer.push(fresh('alibi')); renewed(`layer${n}-more`); });
  const less = button('less', `remove layer ${n + 1}`, () => { parts.layers.splice(n, 1); renewed('layers-more'); });
  const own = layer.map((part, i) => partControls(`layer${n}-${i}`, part, true, replace(i)));
  return element('fieldset', {}, element('legend', {}, `Layer ${n + 1} of the pattern`),
    ...(own.length ? own : [element('p', {}, 'none of its own')]), element('p', {class: 'row'}, more, less));
}

// All controls anew, with the focus where it was.
function renewed(focus) {
  renderParts();
  if (focus) (at(focus) ?? at('more')).focus();
  fromControls();
}
function renderParts() {
  const all = beside(), shown = all.length ? all : [fresh(NOTHING)];
  const replace = i => (part, id) => {
    const next = [...all];
    next.splice(i, 1, ...(part ? [part] : []));
    const left = arranged(next);
    renewed(id);
    if (left) said.textContent = left;
  };
  const more = element('button', {type: 'button', id: 'more', onclick: () => {
    arranged([...beside(), fresh(all.some(p => p.name === 'alibi') ? 'window' : 'alibi')]);
    renewed('more');
  }}, '+ another encoding');
  const layers = element('button', {type: 'button', id: 'layers-more', onclick: () => {
    parts.layers.push(parts.layers.length ? [fresh('window')] : [fresh('rope')]);
    renewed('layers-more');
  }}, parts.layers.length ? '+ another layer' : '+ encodings by layer');
  at('parts').replaceChildren(...shown.map((part, i) => partControls(`part${i}`, part, false, replace(i))), element('p', {class: 'row'}, more),
    joining(), ...parts.layers.map(layerControls), element('p', {class: 'row'}, layers),
    element('p', {class: 'note'}, 'A pattern of layers is repeated: layer 1, 2, … of the model take its layers in turn.'));
}
function renderModel() {
  const causal = element('input', {type: 'checkbox', id: 'causal', onchange: () => { looked.causal = causal.checked ? 1 : 0; drawSoon(); }});
  causal.checked = looked.causal === 1;
  at('model').replaceChildren(...LOOKED.map(o => optionControls(o.name, o, String(looked[o.name]), value => {
    looked[o.name] = Number(value);
    drawSoon();
  })), element('p', {class: 'row'}, causal, element('label', {for: 'causal'}, 'causal: no token sees a later one')));
}

// Text and controls.
const canonical = spec => ask(gnomon => JSON.parse(gnomon.spec(spec)));
async function fromControls() {
  text.value = specOf(parts);
  drawSoon();
}
async function fromText() {
  try {
    parts = await canonical(text.value);
    renderParts();
  } catch {}  // what is wrong is told by the drawing
  await draw();
}

// Draws after the last change; what is overtaken by another change is not shown.
let waiting = 0, current = 0, patient = false;
function drawSoon() {
  clearTimeout(waiting);
  busy(true);
  waiting = setTimeout(draw, AFTER);
}
function busy(is) {
  answer.setAttribute('aria-busy', String(is));
  if (is) said.textContent = 'computing …';
}
const painted = () => new Promise(done => setTimeout(done, 30));
async function draw() {
  clearTimeout(waiting);
  const mine = ++current, specs = [text.value, other.value].map(s => s.trim()).filter((s, n) => s || !n);
  busy(true);
  wrong.replaceChildren();
  await painted();
  const sides = [];
  for (const [n, spec] of specs.entries()) {
    const side = await pictureOf(spec || NOTHING, n ? other : text);
    if (mine !== current) return;
    sides.push(side);
  }
  patient = false;
  const drawn = sides.filter(Boolean);
  if (drawn.length === specs.length) {
    answer.className = drawn.length > 1 ? 'pair' : '';
    answer.replaceChildren(...drawn);
    keep(specs);
  }
  busy(false);
  const whole = drawn.length === specs.length, names = specs.map(s => s || NOTHING).join(' beside ');
  said.textContent = whole ? `Drawn: ${names}.` : 'Not drawn: the pictures are those of before.';
}
// The pictures of one spec; or nothing, and what is wrong with it is told.
async function pictureOf(spec, field) {
  try {
    const {spec: short} = await canonical(spec);
    const html = await ask(gnomon => gnomon.showPage(spec, {...looked, compared: COMPARED, work: patient ? 4e10 : DRAWN_AT_ONCE}));
    if (document.activeElement !== field) field.value = short;
    const main = embedded(html);
    main.querySelector('h2').remove();  // the name of the page, which stands in the heading of the side
    for (const nav of main.querySelectorAll('nav')) nav.remove();
    for (const one of main.querySelectorAll('[id]')) one.removeAttribute('id');
    if (!main.querySelector('section')) main.append(element('p', {}, 'No position encoding: only the causal mask orders the tokens.'));
    return element('section', {class: 'side'}, element('h2', {}, short), main);
  } catch (error) {
    wrong.append(told(error, field));
  }
}

// An error of the module, and what mends it.
function told(error, field) {
  const known = error instanceof GnomonError, says = known ? error.message : `This page failed: ${error.message ?? error}`;
  const box = element('div', {class: 'fault', role: 'alert'}, element('p', {}, says));
  for (const suggestion of (known && error.suggestions) || []) {
    const mend = () => { field.value = mended(field.value, error, suggestion); field === text ? fromText() : draw(); field.focus(); };
    box.append(element('button', {type: 'button', class: 'mend', onclick: mend}, `write ${suggestion}`), ' ');
  }
  if (known && /its definition needs/.test(error.message))
    box.append(element('button', {type: 'button', onclick: () => { patient = true; draw(); }}, 'compute it all the same'));
  return box;
}
// The text with the suggestion in place of what was found. The place is a column, an option, or not told.
function mended(spec, {place, found}, suggestion) {
  const column = /column (\d+)$/.exec(place)?.[1], option = /option '(.*)'$/.exec(place)?.[1], lead = spec.length - spec.trimStart().length;
  const from = column ? lead + Number(column) - 1 : option ? spec.search(new RegExp(`\\b${option}\\s*=`)) : 0;
  const start = spec.indexOf(found, option ? spec.indexOf('=', from) : from);
  return start < 0 ? spec : spec.slice(0, start) + suggestion + spec.slice(start + found.length);
}

// What can be taken along: the same in a shell, in Python and in C++, and a link.
const inShell = word => /^[A-Za-z0-9_=.,/-]+$/.test(word) ? word : `'${word}'`;
function commandOf(spec, file) {
  const options = [`--dim ${looked.dim}`, `--heads ${looked.heads}`, `--length ${looked.length}`];
  if (looked.first) options.push(`--first ${looked.first}`);
  if (!looked.causal) options.push('--bidirectional');
  return `gnomon show ${inShell(spec)} ${options.join(' ')} --out ${file}`;
}
function pythonOf(spec) {
  const settings = [`heads=${looked.heads}`, `head_dim=${looked.dim / looked.heads}`, `length=${looked.length}`, ...(looked.causal ? [] : ['causal=False'])];
  return `import gnomon as gn\n\npe = gn.make("${spec}", ${settings.join(', ')})`;
}
function cppOf(spec) {
  const settings = [`.heads = ${looked.heads}`, `.head_dim = ${looked.dim / looked.heads}`, `.length = ${looked.length}`, ...(looked.causal ? [] : ['.causal = false'])];
  return `#include <gnomon/nn/attention.h>\n\nconst gnomon::Attention attention("${spec}", {${settings.join(', ')}});`;
}
function keep(specs) {
  const code = [];
  for (const [n, spec] of specs.entries()) {
    const of = specs.length > 1 ? `, ${spec}` : '';
    code.push(element('h3', {}, `In a shell${of}`), copyable(commandOf(spec, n ? 'other.html' : 'page.html'), 'the command'),
      element('h3', {}, `In Python${of}`), copyable(pythonOf(spec), 'the lines of Python'), element('h3', {}, `In C++${of}`), copyable(cppOf(spec), 'the lines of C++'));
  }
  at('code').replaceChildren(...code);
  at('keep').hidden = false;
  history.replaceState(null, '', addressOf());
}

// The state in the address: #spec=rope(theta=500)&length=512
const inAddress = spec => encodeURIComponent(spec.replaceAll(' ', '')).replace(/%(3D|2C|2B|5B|5D|2F)/g, decodeURIComponent);
function addressOf() {
  const state = [['spec', inAddress(text.value || NOTHING)], ...(other.value.trim() ? [['with', inAddress(other.value)]] : []),
    ...Object.entries(looked).filter(([name, value]) => value !== STANDARD[name])];
  return `#${state.map(pair => pair.join('=')).join('&')}`;
}
// Whether the address has a state; a number that is none is left out.
function readAddress() {
  if (!location.hash.startsWith('#spec=')) return false;
  const state = new Map(location.hash.slice(1).split('&').map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
  const words = name => {
    try {
      return decodeURIComponent(state.get(name) ?? '');
    } catch {
      return state.get(name);
    }
  };
  text.value = words('spec');
  other.value = words('with');
  for (const name of Object.keys(STANDARD)) looked[name] = /^\d{1,15}$/.test(state.get(name)) ? Number(state.get(name)) : STANDARD[name];
  return true;
}
async function restore() {
  if (!readAddress()) return;
  renderModel();
  await fromText();
}

at('ask').addEventListener('submit', event => {
  event.preventDefault();
  fromText();
});
for (const form of ['model', 'parts']) at(form).addEventListener('submit', event => event.preventDefault());
let typed = 0;
text.addEventListener('input', () => {
  clearTimeout(typed);
  busy(true);
  typed = setTimeout(fromText, 3 * AFTER);
});
other.addEventListener('input', () => {
  clearTimeout(waiting);
  busy(true);
  waiting = setTimeout(draw, 3 * AFTER);
});
at('swap').addEventListener('click', () => {
  [text.value, other.value] = [other.value || NOTHING, text.value];
  fromText();
});
at('link').addEventListener('click', () => copy(location.href, at('link')));
addEventListener('hashchange', restore);

// The first picture stands in the page; the module is asked once that is painted.
async function begin() {
  busy(true);
  readAddress();
  renderModel();
  try {
    await learn();
    parts = await canonical(NOTHING);
    renderParts();
    await fromText();
  } catch (error) {
    busy(false);
    said.textContent = '';
    wrong.append(told(error, text));
  }
}
requestAnimationFrame(() => setTimeout(begin));

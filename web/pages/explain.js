// Explains the files that are given: as `gnomon explain`, `lint`, `extend` and the comparison with other readers and files do.
const form = document.getElementById('ask'), area = document.getElementById('text'), said = document.getElementById('said'),
      answer = document.getElementById('answer'), drop = document.getElementById('drop');
const LONGEST_TEXT = 200000;  // of a file that is shown for changes, or held by a link

// Files as a reader needs them: of weights the header, of GGUF the beginning, of the rest all.
const FIRST_BYTES = 1 << 22;
async function taken(file, bytes = FIRST_BYTES) {
  if (/\.safetensors$/i.test(file.name)) {
    const size = Number(new DataView(await file.slice(0, 8).arrayBuffer()).getBigUint64(0, true));
    return {head: new Uint8Array(await file.slice(0, 8 + size).arrayBuffer()), size: file.size};
  }
  if (/\.gguf$/i.test(file.name)) return {head: new Uint8Array(await file.slice(0, bytes).arrayBuffer()), size: file.size, file};
  return new Uint8Array(await file.arrayBuffer());
}
const READ = /\.(json|gguf|safetensors)$/i, CONFIG = /(^|\/)config\.json$|\.gguf$/i;

// [{path, file}] of what was dropped, folders with what is in them.
async function dropped(items) {
  const all = [];
  async function visit(entry, path) {
    if (entry.isFile) return all.push({path: path + entry.name, file: await new Promise((done, failed) => entry.file(done, failed))});
    const reader = entry.createReader();
    for (;;) {  // some at a time, until none are left
      const some = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return;
      for (const one of some) await visit(one, `${path}${entry.name}/`);
    }
  }
  for (const entry of [...items].map(item => item.webkitGetAsEntry()).filter(Boolean)) await visit(entry, '');
  return all;
}
const chosen = list => [...list].map(file => ({path: file.webkitRelativePath || file.name, file}));

// What is being looked at: the path to explain, the path to lint, and a second file if there is one.
let looked = null;

// Asks the module about a path; more of a GGUF file is read if its header is longer than what has been read.
async function askOf(path, question) {
  for (;;) {
    try {
      return await ask(question);
    } catch (error) {
      const {files} = await instance, held = files.get(path);
      if (!held?.file || held.head.length >= held.size || !/cannot read/.test(error.message)) throw error;
      files.set(path, await taken(held.file, 4 * held.head.length));
    }
  }
}

async function lookAt(entries) {
  const read = entries.filter(({path}) => READ.test(path));
  const depth = ({path}) => path.split('/').length;
  let configs = read.filter(({path}) => CONFIG.test(path));
  if (!configs.length) configs = read.filter(({path}) => /\.json$/i.test(path) && depth({path}) === 1);
  const least = Math.min(...configs.map(depth));
  configs = configs.filter(one => depth(one) === least);
  if (!configs.length) return tell(`No config.json and no GGUF file among ${entries.length === 1 ? entries[0].path : `${entries.length} files`}.`);
  const {files} = await instance;
  files.clear();
  for (const {path, file} of read) files.set(path, await taken(file));
  const [{path, file}, other] = configs;
  area.value = /\.json$/i.test(path) && file.size < LONGEST_TEXT ? await file.text() : '';
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : path;
  await show({path, linted: /\.gguf$/i.test(path) ? path : folder, other: other?.path});
}
async function lookAtText(text, name = 'config.json') {
  const {files} = await instance;
  files.clear();
  files.set(name, text);
  area.value = text;
  await show({path: name, linted: name});
}

function tell(text) {
  said.textContent = text;
}
const fault = error => element('p', {class: 'fault'}, error instanceof GnomonError ? error.message : `This page failed: ${error.message ?? error}`);

async function show(what) {
  looked = what;
  tell('');
  const explained = await explanation();  // first: it reads as much of a GGUF file as its header needs
  const found = await findings(), unreadable = found.textContent.includes('file-unreadable');
  answer.replaceChildren(...(unreadable ? [found] : [found, explained, await readers(), longer(), comparison(), keep()]));
  if (what.other && !unreadable) await compare(what.other);
  tell(unreadable ? `${what.path} cannot be read: see below.` : `Explained: ${what.path}`);
}
// A section whose content may be a fault.
async function section(title, id, content) {
  const part = element('section', {}, element('h2', {id}, title));
  try {
    part.append(...await content());
  } catch (error) {
    part.append(fault(error));
  }
  return part;
}
const paragraph = text => element('p', {}, text);
const counted = (n, name) => `${n} ${name}${n === 1 ? '' : 's'}`;
// "0 to 4, 6" of [0, 1, 2, 3, 4, 6].
function ranges(numbers) {
  const runs = [];
  for (const n of numbers) {
    if (runs.length && runs.at(-1)[1] === n - 1) runs.at(-1)[1] = n;
    else runs.push([n, n]);
  }
  return runs.map(([first, last]) => first === last ? first : `${first} to ${last}`).join(', ');
}

const findings = () => section('What is wrong with the file', 'findings', async () => {
  const run = JSON.parse(await askOf(looked.path, gnomon => gnomon.lint(looked.linted)));
  if (!run.findings.length) return [paragraph('Nothing was found.')];
  return [paragraph(`${counted(run.errors, 'error')}, ${counted(run.warnings, 'warning')}, ${counted(run.notes, 'note')}.`), ...run.findings.flatMap(finding)];
});
function finding(found) {
  const heading = element('h3', {}, `${found.severity}: ${found.rule} `), line = found.line ? `line ${found.line}` : '';
  heading.append(line && area.value ? element('button', {type: 'button', onclick: () => select(found.line)}, line) : line);
  const list = element('dl', {class: 'found'});
  for (const [name, says] of [['found', found.key && `${found.key} = ${found.found}`], ['means', found.says], ['write', found.write]])
    if (says) list.append(element('dt', {}, name), element('dd', {}, says));
  list.append(element('dt', {}, 'see'), element('dd', {}, element('a', {href: found.link}, found.link)));
  return [heading, list];
}
function select(line) {
  const lines = area.value.split('\n'), from = lines.slice(0, line - 1).join('\n').length + (line > 1);
  area.focus();
  area.setSelectionRange(from, from + lines[line - 1].length);
  area.scrollIntoView({block: 'center'});
}

const explanation = () => section('What the model computes', 'explanation', async () =>
  [embedded(await askOf(looked.path, gnomon => gnomon.explainPage(looked.path)))]);

const differenceRows = found => found.map(d => [`${d.component ? `${d.component} ` : ''}${d.layers.length ? `layers ${ranges(d.layers)}` : 'the model'}`, d.what, d.a, d.b,
  d.largest_ratio ? d.largest_ratio.toPrecision(3) : '']);
const readers = () => section('What other programs make of it', 'readers', async () => {
  const all = JSON.parse(await askOf(looked.path, gnomon => gnomon.readers(looked.path))), first = all.reader_title;
  const told = [paragraph(`Above: as ${first} reads the file.`)];
  const same = all.others.filter(o => o.reads && o.same), refused = all.others.filter(o => !o.reads);
  if (same.length) told.push(paragraph(`The same is computed by ${same.map(o => o.reader_title).join(', ')}.`));
  for (const o of refused) told.push(paragraph(`${o.reader_title} cannot read it: ${o.refuses}`));
  for (const o of all.others.filter(o => o.reads && !o.same))
    told.push(element('h3', {}, `${o.reader_title} computes something else`), table(['where', 'what', first, o.reader_title, 'largest ratio'], differenceRows(o.differences)));
  return told;
});

function longer() {
  const part = element('section', {}, element('h2', {id: 'longer'}, 'Settings for a longer context')), out = element('div', {});
  const to = element('input', {id: 'to', value: '4x', size: '8', autocomplete: 'off'});
  const plan = async force => {
    try {
      const found = JSON.parse(await askOf(looked.path, gnomon => gnomon.extend(looked.path, to.value.trim(), {force})));
      out.replaceChildren(...extended(found));
    } catch (error) {
      const anyway = element('button', {type: 'button', onclick: () => plan(true)}, 'plan it all the same');
      out.replaceChildren(fault(error), ...(!force && /force/.test(error.message) ? [anyway] : []));
    }
  };
  part.append(element('form', {class: 'row', onsubmit: event => { event.preventDefault(); plan(false); }}, element('label', {for: 'to'}, 'New length, as 4x, 32k or 131072:'), to, element('button', {}, 'Plan')), out);
  return part;
}
function extended(plan) {
  const parts = [paragraph(`${plan.to.toLocaleString('en')} tokens. ${plan.advice.says}`), ...plan.notes.map(paragraph)];
  for (const way of plan.methods) {
    const fold = element('details', {open: way.method === plan.advice.method}, element('summary', {}, way.title));
    fold.append(paragraph(way.refused || way.does), ...(way.refused ? [] : [paragraph(`Without further training: ${way.untrained}`), paragraph(`With training: ${way.trained}`)]));
    for (const snippet of way.snippets) {
      const text = typeof snippet.text === 'string' ? snippet.text : JSON.stringify(snippet.text, null, 2);
      fold.append(element('h4', {}, `${snippet.program}: ${snippet.where}`), copyable(text, `settings for ${snippet.program}`));
      for (const r of snippet.readings.filter(r => !r.as_announced)) fold.append(paragraph(`${r.reader} ${r.reader_version} reads them otherwise: ${r.differs}`));
    }
    parts.push(fold);
  }
  return parts;
}

function comparison() {
  const part = element('section', {}, element('h2', {id: 'other'}, 'Compare with another file'));
  const choose = element('input', {type: 'file', id: 'second', onchange: async () => {
    const [file] = choose.files, {files} = await instance;
    if (!file) return;
    files.set(`other/${file.name}`, await taken(file));
    await compare(`other/${file.name}`);
  }});
  part.append(element('form', {class: 'row'}, element('label', {for: 'second'}, 'A config.json or GGUF file:'), choose), element('div', {id: 'differences', role: 'status'}));
  return part;
}
async function compare(other) {
  const out = document.getElementById('differences');
  try {
    const found = JSON.parse(await askOf(other, gnomon => gnomon.differences(looked.path, other)));
    out.replaceChildren(
      paragraph(found.same ? `${found.a} and ${found.b} use positions in the same way.` : `${found.a} and ${found.b} use positions differently:`),
      ...(found.same ? [] : [table(['where', 'what', found.a, found.b, 'largest ratio'], differenceRows(found.differences))]), ...found.notes.map(paragraph));
  } catch (error) {
    out.replaceChildren(fault(error));
  }
}

// What can be taken along: the numbers, and a link that holds the file.
function keep() {
  const part = element('section', {}, element('h2', {id: 'keep'}, 'Keep it'));
  const save = element('button', {type: 'button', onclick: async () => {
    const text = await askOf(looked.path, gnomon => gnomon.explain(looked.path));
    const link = element('a', {href: `data:application/json;charset=utf-8,${encodeURIComponent(text)}`, download: 'explanation.json'});
    link.click();
  }}, 'save every number as JSON');
  const row = element('p', {class: 'row'}, save);
  if (area.value) {
    const link = element('button', {type: 'button', onclick: async () => {
      const state = await packedState({name: looked.path.split('/').at(-1), text: area.value});
      history.replaceState(null, '', `#config=${state}`);
      await copy(location.href, link);
    }}, 'copy a link that holds this file');
    row.append(link);
  }
  part.append(row, element('p', {class: 'note'}, 'A link holds the whole file: whoever has the link has the file.'));
  return part;
}
async function fromLink() {
  if (!location.hash.startsWith('#config=')) return;
  try {
    const {name, text} = await unpackedState(location.hash.slice('#config='.length));
    await lookAtText(String(text), String(name));
  } catch (error) {
    tell(`The link holds no file that can be read: ${error.message}`);
  }
}

// Every way in: a fault is told, whatever it is.
const told = action => async (...given) => {
  try {
    await action(...given);
  } catch (error) {
    answer.replaceChildren(fault(error));
  }
};
form.addEventListener('submit', told(async event => {
  event.preventDefault();
  if (area.value.trim()) return lookAtText(area.value);
  answer.replaceChildren();
  tell('Paste a configuration first, or choose a file.');
}));
document.getElementById('files').addEventListener('change', told(event => lookAt(chosen(event.target.files))));
const folder = element('input', {type: 'file', webkitdirectory: true, onchange: told(event => lookAt(chosen(event.target.files)))});
document.getElementById('folder').addEventListener('click', () => folder.click());
for (const button of form.querySelectorAll('[data-example]'))
  button.addEventListener('click', told(() => lookAtText(textOf(button.dataset.example), `${button.dataset.example}.json`)));
for (const [event, over] of [['dragover', true], ['dragleave', false], ['drop', false]])
  document.addEventListener(event, e => {
    e.preventDefault();
    drop.classList.toggle('over', over);
  });
document.addEventListener('drop', told(async event => {
  const entries = await dropped(event.dataTransfer.items);
  if (entries.length) await lookAt(entries);
  else if (event.dataTransfer.getData('text')) await lookAtText(event.dataTransfer.getData('text'));
}));
addEventListener('hashchange', fromLink);
fromLink();

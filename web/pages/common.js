// What every page has: the module, made of the text of the page, and small parts of pages.
const textOf = id => document.getElementById(id).textContent;
// A block that was packed by gzip and base64, as bytes.
async function unpacked(id) {
  const packed = Uint8Array.from(atob(textOf(id)), letter => letter.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

// The module and what it is asked. A RuntimeError of WebAssembly ends an instance; the next question gets a new one, with the same files.
const compiled = unpacked('gnomon.wasm').then(bytes => WebAssembly.compile(bytes));
let instance = compiled.then(load);
async function ask(question) {
  const gnomon = await instance;
  try {
    return question(gnomon);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) {
      const next = await load(await compiled);
      for (const [name, content] of gnomon.files) next.files.set(name, content);
      instance = Promise.resolve(next);
    }
    throw error;
  }
}

// <name attributes>content</name>; what begins with "on" listens.
function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...content);
  return made;
}

// A table as the program's pages have it: rows of texts or elements, the first of which names the row.
function table(heads, rows) {
  const row = cells => element('tr', {}, ...cells.map((cell, n) => element(n ? 'td' : 'th', n ? {} : {scope: 'row'}, cell)));
  return element('div', {class: 'scroll', tabindex: '0'}, element('table', {class: 'words'},
    element('thead', {}, element('tr', {}, ...heads.map(head => element('th', {scope: 'col'}, head)))), element('tbody', {}, ...rows.map(row))));
}

// A text to copy, with a button that copies it.
function copyable(text, what) {
  const button = element('button', {type: 'button', onclick: () => copy(text, button)}, `copy ${what}`);
  return element('div', {class: 'copyable'}, element('pre', {tabindex: '0'}, text), button);
}
async function copy(text, button) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page from disk may have no clipboard
    const area = element('textarea', {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = 'copied';
  setTimeout(() => { button.textContent = said; }, 2000);
}

// The main part of a page that the program wrote, to stand within this one: its headings are one level lower.
function embedded(html) {
  const part = element('div', {class: 'embedded'});
  part.innerHTML = html.slice(html.indexOf('<main>') + '<main>'.length, html.lastIndexOf('</main>'));
  for (const level of [4, 3, 2, 1])
    for (const heading of part.querySelectorAll(`h${level}`)) {
      const lower = element(`h${level + 1}`, heading.id ? {id: heading.id} : {});
      lower.append(...heading.childNodes);
      heading.replaceWith(lower);
    }
  enliven(part);
  return part;
}

// A state in the address, so that a link holds it: an object, as JSON by gzip and base64 without the letters that addresses encode.
async function packedState(state) {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream('gzip'));
  const letters = Array.from(new Uint8Array(await new Response(stream).arrayBuffer()), byte => String.fromCharCode(byte)).join('');
  return btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
async function unpackedState(packed) {
  const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), letter => letter.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text());
}

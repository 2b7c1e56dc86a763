// gnomon in JavaScript, in a page or in Node: what position does in a model's file, computed by the program's own code. Nothing
// leaves the page, and no file is read but those that are given.
//
//   import { load } from "./gnomon.js";
//   const gnomon = await load(bytes);             // the content of gnomon.wasm
//   gnomon.files.set("config.json", text);
//   JSON.parse(gnomon.explain("config.json"));    // what `gnomon explain --json config.json` prints

// An error of the library: what was found, where, and what is allowed. `kind` is "usage", "input", "resource" or "bug".
export class GnomonError extends Error {
  constructor({ message, kind, place, found, allowed, suggestions }) {
    super(message);
    this.name = "GnomonError";
    Object.assign(this, { kind, place, found, allowed, suggestions });
  }
}

// Compiles the module: its bytes, or a WebAssembly.Module.
export async function load(source) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  const files = new Map(), system = new System(files);
  const { exports } = await WebAssembly.instantiate(module, system.imports(module));
  system.memory = exports.memory;
  exports._initialize();
  return new Gnomon(exports, files);
}

// Texts are JSON, as the program prints it. Each call may throw a GnomonError. A RuntimeError of WebAssembly ends the module:
// load it again.
class Gnomon {
  #exports;

  // Files by name, relative and with "/" for folders: a text, a Uint8Array, or { head, size } for the beginning of a larger file,
  // of which the rest must not be needed (a GGUF file's tensors).
  constructor(exports, files) {
    this.#exports = exports;
    this.files = files;
  }

  explain(path, { reader = "" } = {}) {
    return this.#call("explain", path, reader);
  }
  // The same as a page of HTML.
  explainPage(path, { reader = "" } = {}) {
    return this.#call("explain_page", path, reader);
  }
  readers(path) {
    return this.#call("readers", path);
  }
  differences(path, other) {
    return this.#call("differences", path, other);
  }
  lint(path) {
    return this.#call("lint", path);
  }
  // `to`: "16384", "16k" or "4x". A file with errors is refused, unless forced.
  extend(path, to, { force = false } = {}) {
    return this.#call("extend", path, to, force ? "1" : "");
  }
  // All encodings, or those that the words find.
  encodings(words = "") {
    return this.#call("encodings", words);
  }
  encoding(name) {
    return this.#call("encoding", name);
  }
  // The ways of joining word and position.
  combinations() {
    return this.#call("combinations");
  }
  // What a spec consists of.
  spec(spec) {
    return this.#call("spec", spec);
  }
  // settings: dim (64), heads (4), length (128), causal (1), first (0), as the options of `gnomon show`. compared (20000): positions
  // whose vectors are compared with that of position 0. work (4e10): of more numbers for one encoding, an error is thrown.
  show(spec, settings = {}) {
    return this.#call("show", spec, JSON.stringify(settings));
  }
  // The same as a page of HTML, with pictures.
  showPage(spec, settings = {}) {
    return this.#call("show_page", spec, JSON.stringify(settings));
  }
  // What the spec adds to the words at `length` positions from `first` (0) on: rows of dim numbers. Settings as those of show.
  vectors(spec, settings = {}) {
    return this.#call("vectors", spec, JSON.stringify(settings));
  }
  // Begins to train a small model on the text of a file, as a run of `gnomon study` does. There is one training at a time. settings:
  // layers (2), width (64), heads (4), length (128), batch (4), steps (500), rate (0.003), seed (1), windows (64; held out, for
  // evaluate). Returns { spec, parameters, steps, windows_end, text }: where positions end, or null, and sentences about the text.
  train(spec, path, settings = {}) {
    return JSON.parse(this.#call("train", spec, path, JSON.stringify(settings)));
  }
  // One step. Returns { step, loss, rate, not_finite }: its number, the loss before it in nats for each byte, its learning rate, and
  // what was not finite, which ends a training.
  step() {
    return JSON.parse(this.#call("step"));
  }
  // The mean loss of windows that training does not see; null if it is not finite.
  heldOut() {
    return JSON.parse(this.#call("held_out"));
  }
  // Held-out losses in windows `factor` times as long as in training: { factor, tokens, nats, whole, by_position }. `nats` is of the
  // last bytes of a window, the same at every length; null where positions have ended.
  evaluate(factor = 1) {
    return JSON.parse(this.#call("evaluate", JSON.stringify({ factor })));
  }
  // What the model writes after a prompt. settings: bytes (100), temperature (0.8), seed (1).
  sample(prompt, settings = {}) {
    return JSON.parse(this.#call("sample", prompt, JSON.stringify(settings)));
  }

  #call(name, ...values) {
    const { memory, malloc, free } = this.#exports, held = [];
    const words = values.flatMap((value) => {
      const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value, at = malloc(bytes.length + 1);
      new Uint8Array(memory.buffer).set(bytes, at);
      held.push(at);
      return [at, bytes.length];
    });
    const fault = this.#exports[`gnomon_web_${name}`](...words);
    held.forEach(free);
    const at = this.#exports.gnomon_web_answer(), size = this.#exports.gnomon_web_answer_size();
    const answer = new TextDecoder().decode(new Uint8Array(memory.buffer, at, size));
    if (fault) throw new GnomonError(JSON.parse(answer));
    return answer;
  }
}

const DONE = 0, NO_FILE_NUMBER = 8, IO = 29, IS_FOLDER = 31, NO_FILE = 44, NO_CALL = 52, NO_FOLDER = 54, READ_ONLY = 69;
const ROOT = 3, FOLDER = 3, FILE = 4;

// The system that the module sees, by WASI preview 1: files that can be read. What it writes, an assertion at most, goes to the
// console. All other calls fail.
class System {
  #files;
  #opened = new Map([[ROOT, { path: "" }]]);
  #next = ROOT + 1;
  memory;

  constructor(files) {
    this.#files = files;
  }

  imports(module) {
    const known = WebAssembly.Module.imports(module).map(({ name }) => [name, (...words) => (this[name] ? this[name](...words) : NO_CALL)]);
    return { wasi_snapshot_preview1: Object.fromEntries(known) };
  }

  get #view() {
    return new DataView(this.memory.buffer);
  }
  #bytes(at, size) {
    return new Uint8Array(this.memory.buffer, at, size);
  }

  // A file's or a folder's content under a path of the module: { bytes, size }, { names }, or nothing.
  #find(path) {
    const name = path.split("/").filter((part) => part && part !== ".").join("/");
    if (this.#files.has(name)) {
      const given = this.#files.get(name), bytes = typeof given === "string" ? new TextEncoder().encode(given) : (given.head ?? given);
      return { path: name, bytes, size: given.size ?? bytes.length };
    }
    const start = name ? `${name}/` : "", names = new Map();
    for (const file of this.#files.keys()) {
      if (!file.startsWith(start)) continue;
      const [first, ...rest] = file.slice(start.length).split("/");
      names.set(first, rest.length ? FOLDER : FILE);
    }
    return name && !names.size ? undefined : { path: name, names: [...names].sort() };
  }
  #found(folder, at, size) {
    const name = new TextDecoder().decode(this.#bytes(at, size));
    return this.#find(`${this.#opened.get(folder)?.path ?? ""}/${name}`);
  }
  #describe(found, at) {
    this.#bytes(at, 64).fill(0);
    this.#view.setUint8(at + 16, found.bytes ? FILE : FOLDER);
    this.#view.setBigUint64(at + 24, 1n, true);
    this.#view.setBigUint64(at + 32, BigInt(found.size ?? 0), true);
    return DONE;
  }

  fd_prestat_get(fd, at) {
    if (fd !== ROOT) return NO_FILE_NUMBER;
    this.#view.setUint32(at, 0, true);
    this.#view.setUint32(at + 4, 1, true);
    return DONE;
  }
  fd_prestat_dir_name(fd, at) {
    this.#bytes(at, 1)[0] = "/".charCodeAt(0);
    return DONE;
  }
  fd_fdstat_get(fd, at) {
    const opened = this.#opened.get(fd);
    if (!opened) return NO_FILE_NUMBER;
    this.#bytes(at, 24).fill(0);
    this.#view.setUint8(at, opened.bytes ? FILE : FOLDER);
    this.#view.setBigUint64(at + 8, ~0n, true);
    this.#view.setBigUint64(at + 16, ~0n, true);
    return DONE;
  }
  fd_filestat_get(fd, at) {
    const opened = this.#opened.get(fd);
    return opened ? this.#describe(opened, at) : NO_FILE_NUMBER;
  }
  path_filestat_get(fd, flags, name, size, at) {
    const found = this.#found(fd, name, size);
    return found ? this.#describe(found, at) : NO_FILE;
  }
  path_open(fd, follow, name, size, how, rights, inherited, flags, at) {
    const found = this.#found(fd, name, size), CREATE = 1, ONLY_FOLDER = 2;
    if (!found) return how & CREATE ? READ_ONLY : NO_FILE;
    if (how & ONLY_FOLDER && found.bytes) return NO_FOLDER;
    this.#opened.set(this.#next, { ...found, at: 0 });
    this.#view.setUint32(at, this.#next++, true);
    return DONE;
  }
  fd_close(fd) {
    return this.#opened.delete(fd) ? DONE : NO_FILE_NUMBER;
  }
  fd_seek(fd, offset, whence, at) {
    const opened = this.#opened.get(fd);
    if (!opened?.bytes) return NO_FILE_NUMBER;
    opened.at = Number(offset) + [0, opened.at, opened.size][whence];
    this.#view.setBigUint64(at, BigInt(opened.at), true);
    return DONE;
  }
  fd_read(fd, vectors, count, at) {
    const opened = this.#opened.get(fd), failed = this.fd_pread(fd, vectors, count, opened?.at ?? 0, at);
    if (!failed) opened.at += this.#view.getUint32(at, true);
    return failed;
  }
  fd_pread(fd, vectors, count, offset, at) {
    const opened = this.#opened.get(fd);
    if (!opened) return NO_FILE_NUMBER;
    if (!opened.bytes) return IS_FOLDER;
    let from = Number(offset), read = 0;
    for (let n = 0; n < count && from < opened.size; ++n) {
      const to = this.#view.getUint32(vectors + 8 * n, true), room = this.#view.getUint32(vectors + 8 * n + 4, true);
      if (from >= opened.bytes.length) return IO;
      const part = opened.bytes.subarray(from, from + room);
      this.#bytes(to, part.length).set(part);
      from += part.length, read += part.length;
    }
    this.#view.setUint32(at, read, true);
    return DONE;
  }
  fd_readdir(fd, to, room, cookie, at) {
    const { path, names } = this.#opened.get(fd) ?? {};
    if (!names) return NO_FOLDER;
    let used = 0;
    for (let n = Number(cookie); n < names.length && used < room; ++n) {
      const name = new TextEncoder().encode(names[n][0]), entry = new Uint8Array(24 + name.length), view = new DataView(entry.buffer);
      view.setBigUint64(0, BigInt(n + 1), true);
      view.setBigUint64(8, BigInt(n + 1), true);
      view.setUint32(16, name.length, true);
      view.setUint8(20, names[n][1]);
      entry.set(name, 24);
      const part = entry.subarray(0, room - used);
      this.#bytes(to + used, part.length).set(part);
      used += part.length;
    }
    this.#view.setUint32(at, used, true);
    return DONE;
  }
  fd_write(fd, vectors, count, at) {
    let said = "", written = 0;
    for (let n = 0; n < count; ++n) {
      const size = this.#view.getUint32(vectors + 8 * n + 4, true);
      said += new TextDecoder().decode(this.#bytes(this.#view.getUint32(vectors + 8 * n, true), size));
      written += size;
    }
    console.error(said);
    this.#view.setUint32(at, written, true);
    return DONE;
  }
  proc_exit(code) {
    throw new Error(`gnomon.wasm ended with ${code}`);
  }
}

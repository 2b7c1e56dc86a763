// gnomon.wasm against the program itself: the same JSON, and the same errors.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const WEB = path.resolve(ROOT, process.env.GNOMON_WEB ?? "build/wasm/web");
const GNOMON = path.resolve(ROOT, process.env.GNOMON ?? "build/dev/gnomon");
const { load, GnomonError } = await import(path.join(WEB, "gnomon.js"));
const gnomon = await load(readFileSync(path.join(WEB, "gnomon.wasm")));

const FOLDERS = ["docs/examples", "tests/golden/configs"];
const CONFIGS = FOLDERS.flatMap((folder) => readdirSync(path.join(ROOT, folder)).filter((name) => name.endsWith(".json")).map((name) => `${folder}/${name}`));
for (const name of CONFIGS) gnomon.files.set(name, readFileSync(path.join(ROOT, name)));

// Two texts that are equal but for the rounding of numbers: the C library of WebAssembly rounds sines otherwise.
const NUMERAL = /-?\d+\.?\d*(?:e[-+]?\d+)?/g;
function same(one, other) {
  const [a, b] = [one, other].map((text) => text.match(NUMERAL)?.map(Number) ?? []);
  assert.equal(one.replace(NUMERAL, "#"), other.replace(NUMERAL, "#"));
  a.forEach((x, n) => assert(Math.abs(x - b[n]) <= 1e-12 * Math.abs(b[n]), `${x} is not ${b[n]}`));
}

// What the program prints, in the root of the tree; of a finding of lint, or an error, its exit code is not 0.
function program(...words) {
  const { stdout, stderr } = spawnSync(GNOMON, words, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
  return stdout || stderr.replace(/^gnomon: /, "");
}
// What the module says to the same question: a line.
function said(ask) {
  try {
    return `${ask()}\n`;
  } catch (error) {
    assert(error instanceof GnomonError, error);
    return `${error.message}\n`;
  }
}

test("there are files to compare", () => assert(CONFIGS.length > 50));
for (const name of CONFIGS) {
  test(`explain ${name}`, () => assert.equal(said(() => gnomon.explain(name)), program("explain", "--json", name)));
  test(`lint ${name}`, () => assert.equal(said(() => gnomon.lint(name)), program("lint", "--json", name)));
}
for (const name of CONFIGS.filter((name) => name.startsWith("docs/"))) {
  test(`extend ${name}`, () => assert.equal(said(() => gnomon.extend(name, "4x")), program("extend", "--json", name, "--to", "4x")));
}
test("another reader", () => {
  const name = "docs/examples/llama-3.1.json";
  assert.equal(said(() => gnomon.explain(name, { reader: "vllm" })), program("explain", "--json", name, "--reader", "vllm"));
});
test("other readers, and another file", () => {
  const [name, other] = ["docs/examples/broken-yarn.json", "docs/examples/llama-3.1.json"];
  assert.equal(said(() => gnomon.readers(name)), program("explain", "--json", name, "--readers"));
  assert.equal(said(() => gnomon.differences(name, other)), program("explain", "--json", name, other));
  assert.equal(said(() => gnomon.extend(name, "4x", { force: true })), program("extend", "--json", name, "--to", "4x", "--force"));
});
test("pages are the program's", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gnomon-web-")), out = path.join(folder, "page.html"), name = "docs/examples/llama-3.1.json";
  program("explain", name, "--out", out);
  assert.equal(gnomon.explainPage(name), readFileSync(out, "utf8"));
  program("show", "rope", "--out", out);
  same(gnomon.showPage("rope"), readFileSync(out, "utf8"));
  rmSync(folder, { recursive: true });
});
test("a folder, with its weights", () => {
  const folder = "tests/golden/opened/bert";
  for (const name of readdirSync(path.join(ROOT, folder))) gnomon.files.set(`${folder}/${name}`, readFileSync(path.join(ROOT, folder, name)));
  assert.equal(said(() => gnomon.lint(folder)), program("lint", "--json", folder));
  assert(JSON.parse(gnomon.lint(folder)).files.length);
  assert.equal(said(() => gnomon.lint("docs/examples")), program("lint", "--json", "docs/examples"));  // no config.json is in it
});

// A GGUF file with a tensor of 1 MB: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
function gguf() {
  const parts = [], u32 = (x) => parts.push(Buffer.from(Uint32Array.of(x).buffer)), u64 = (x) => parts.push(Buffer.from(BigUint64Array.of(BigInt(x)).buffer));
  const word = (text) => (u64(text.length), parts.push(Buffer.from(text)));
  const sizes = { block_count: 2, embedding_length: 64, "attention.head_count": 4, context_length: 512, feed_forward_length: 128 };
  parts.push(Buffer.from("GGUF")), u32(3), u64(1), u64(1 + Object.keys(sizes).length);
  word("general.architecture"), u32(8), word("llama");
  for (const [name, size] of Object.entries(sizes)) word(`llama.${name}`), u32(4), u32(size);
  word("token_embd.weight"), u32(2), u64(64), u64(4096), u32(0), u64(0);
  const header = Buffer.concat(parts), whole = Buffer.alloc(Math.ceil(header.length / 32) * 32 + 4 * 64 * 4096);
  header.copy(whole);
  return whole;
}
test("of a GGUF file the beginning is enough", () => {
  const name = "model.gguf", whole = gguf(), folder = mkdtempSync(path.join(tmpdir(), "gnomon-web-"));
  writeFileSync(path.join(folder, name), whole);
  const printed = spawnSync(GNOMON, ["explain", "--json", name], { cwd: folder, encoding: "utf8" }).stdout;
  rmSync(folder, { recursive: true });
  assert(printed.includes('"family": "llama"'));
  for (const given of [whole, { head: whole.subarray(0, 1 << 17), size: whole.length }]) {
    gnomon.files.set(name, given);
    assert.equal(said(() => gnomon.explain(name)), printed);
  }
  gnomon.files.set(name, { head: whole.subarray(0, 100), size: whole.length });
  assert.throws(() => gnomon.explain(name), { name: "GnomonError", kind: "resource", message: /cannot read/ });
});

test("encodings", () => {
  assert.equal(said(() => gnomon.encodings()), program("encodings", "--json"));
  assert.equal(said(() => gnomon.encoding("rope")), program("encodings", "--json", "rope"));
});
for (const spec of ["none", "sinusoidal", "rope+alibi", "concat(sinusoidal, width=16)"]) {
  test(`show ${spec}`, () => same(said(() => gnomon.show(spec)), program("show", spec, "--json")));
}

test("vectors are what show tells of them", () => {
  for (const [spec, dim] of [["sinusoidal", 64], ["sinusoidal(layout=halves, amplitude=3)", 48], ["learned", 64]]) {
    const { head, rows } = ((fact) => ({ head: fact.columns, rows: fact.rows }))(JSON.parse(gnomon.show(spec, { dim })).encodings[0].facts.find((fact) => fact.name === "values"));
    const all = JSON.parse(gnomon.vectors(spec, { dim })), late = JSON.parse(gnomon.vectors(spec, { dim, first: 63, length: 2 }));
    assert.equal(all.length, 128);
    assert(all.every((row) => row.length === dim));
    for (const { name, values } of rows) assert.deepEqual(head.map((channel) => all[name.split(" ")[1]][channel.split(" ")[1]]), values);
    assert.deepEqual(late[1], all[64]);
    assert.notDeepEqual(late[0], all[64]);
  }
  assert.throws(() => gnomon.vectors("rope"), { kind: "usage", message: /spec: found rope; one that adds vectors/ });
  assert.throws(() => gnomon.vectors("learned(length=64)", { first: 1, length: 64 }), { kind: "usage", message: /first: found 1; the positions 1 to 64 are/ });
  assert.throws(() => gnomon.vectors("sinusoidal", { first: -1 }), { kind: "usage", message: /first: found -1/ });
});

test("an error has its parts", () => {
  assert.throws(() => gnomon.show("ROPE"), { name: "GnomonError", kind: "usage", found: "ROPE", suggestions: ["rope"] });
  assert.throws(() => gnomon.show("rope", { hedas: 4 }), { kind: "usage", message: /unknown setting 'hedas': did you mean 'heads'/ });
  assert.throws(() => gnomon.show("rope", { length: 2.5 }), { message: /length: found 2.5; a whole number is needed/ });
  assert.throws(() => gnomon.show("rope", { length: 200000 }), { message: "length: found 200000, allowed are 1 to 131072" });
  assert.throws(() => gnomon.show("fourier(features=4096)", { dim: 1024, length: 2048 }), { kind: "usage", message: /reduce dim, length or an option/ });
  assert.equal(said(() => gnomon.explain("missing.json")), program("explain", "--json", "missing.json"));
});

// A text that a small model learns something of in a hundred steps.
const TEXT = readFileSync(path.join(ROOT, "DESIGN.md"));
const SIZES = { layers: 1, width: 32, heads: 2, length: 32, batch: 2, steps: 100, rate: 0.01, windows: 16 };
// What `gnomon study` finds with these sizes, by seed: every step is a point of its curve.
function study(arm) {
  const folder = mkdtempSync(path.join(tmpdir(), "gnomon-web-"));
  writeFileSync(path.join(folder, "text.txt"), TEXT);
  const { length, batch, steps, rate, windows, ...model } = SIZES;
  const settings = [`study.arms=${arm}`, ...Object.entries({ ...model, length }).map(([name, x]) => `model.${name}=${x}`), `train.steps=${steps}`, `train.batch=${batch}`,
    `train.learning_rate=${rate}`, `evaluate.windows=${windows}`, `evaluate.points=${steps}`, "tune.seeds=0", "study.seeds=2", "study.budgets=1", "study.workers=1"];
  const { status, stderr } = spawnSync(GNOMON, ["study", "--text", "text.txt", "--out", "out", ...settings.flatMap((one) => ["--set", one])], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const runs = readdirSync(path.join(folder, "out/runs")).map((run) => JSON.parse(readFileSync(path.join(folder, "out/runs", run, "result.json"))));
  rmSync(folder, { recursive: true });
  return Object.fromEntries(runs.map((run) => [run.seed, run]));
}
test("a training is a run of the program", () => {
  const runs = study("rope"), furthest = { 1: 0, 2: 0 };
  gnomon.files.set("text.txt", TEXT);
  for (const seed of [1, 2]) {
    const about = gnomon.train("rope", "text.txt", { ...SIZES, seed });
    assert.deepEqual([about.spec, about.parameters, about.steps, about.windows_end], ["rope", runs[seed].parameters, SIZES.steps, null]);
    for (const [step, training, heldOut] of runs[seed].curve) {
      const found = gnomon.step();
      assert(found.step === step && found.rate > 0 && found.not_finite === "");
      furthest[1] = Math.max(furthest[1], Math.abs(found.loss - runs[1].curve[step - 1][1]) * (seed === 2));
      furthest[2] = Math.max(furthest[2], Math.abs(found.loss - training), Math.abs(gnomon.heldOut() - heldOut));
    }
    for (const { factor, tokens, nats } of runs[seed].by_length) {
      const found = gnomon.evaluate(factor);
      assert(found.tokens === tokens && found.by_position.length === tokens && Math.abs(found.nats - nats) < 1e-4);
    }
    assert(Math.abs(gnomon.evaluate().whole - runs[seed].nats) < 1e-4);
    assert.throws(() => gnomon.step(), { message: "step: the training has ended, after 100 steps" });
  }
  assert(furthest[2] < 1e-4, furthest[2]);
  assert(furthest[1] > 0.1, "seed 2 is no run of seed 1");
  assert(runs[1].curve[0][1] > 5 && runs[1].curve.at(-1)[1] < 3.5);
});
test("a model writes, and the same random numbers write the same", () => {
  gnomon.train("rope", "text.txt", SIZES);
  for (let step = 0; step < SIZES.steps; ++step) gnomon.step();
  const text = gnomon.sample("The ", { bytes: 80 });
  assert.equal(gnomon.sample("The ", { bytes: 40 }), text.slice(0, 40));
  assert.notEqual(gnomon.sample("The ", { bytes: 80, seed: 2 }), text);
  assert.equal(gnomon.sample("The ", { bytes: 80, temperature: 0, seed: 2 }), gnomon.sample("The ", { bytes: 80, temperature: 0 }));
  const table = gnomon.train("add(learned, scale=off)", "text.txt", SIZES);
  assert.equal(table.windows_end, 32);
  assert.deepEqual(gnomon.evaluate(2), { factor: 2, tokens: 64, nats: null, whole: null, by_position: [] });
  assert.throws(() => gnomon.sample("The ", { bytes: 80 }), { kind: "usage" });
});
test("what is wrong with a training is said", async () => {
  const fresh = await load(readFileSync(path.join(WEB, "gnomon.wasm")));
  for (const ask of ["step", "heldOut", "evaluate"]) assert.throws(() => fresh[ask](), { kind: "usage", message: `${ask}: no training has begun` });
  assert.throws(() => gnomon.train("rope", "missing.txt"), { message: /missing.txt/ });
  gnomon.files.set("short.txt", "In the beginning");
  assert.throws(() => gnomon.train("rope", "short.txt"), { kind: "input", message: /^short.txt: the text has 16 bytes; windows of 512 tokens need at least 15420/ });
  gnomon.files.set("binary.txt", Uint8Array.of(65, 0, 66));
  assert.throws(() => gnomon.train("rope", "binary.txt"), { message: /binary.txt: byte 1 .*NUL/ });
  assert.throws(() => gnomon.train("ROPE", "text.txt"), { found: "ROPE", suggestions: ["rope"] });
  for (const wrong of [{ heads: 3 }, { layers: 0.5 }, { windows: 0 }, { rate: -1 }, { steps: 0 }, { wide: 1 }])
    assert.throws(() => gnomon.train("rope", "text.txt", wrong), { kind: "usage" }, JSON.stringify(wrong));
  gnomon.train("rope", "text.txt", { ...SIZES, rate: 1000 });
  assert.throws(() => gnomon.evaluate(8), { message: /evaluate: found windows of 256 bytes, allowed are 32 to 128/ });
  let found;
  do found = gnomon.step(); while (!found.not_finite && found.step < SIZES.steps);
  assert(found.not_finite && found.loss === null);
});

test("the examples of docs/javascript.md run", () => {
  const blocks = [...readFileSync(path.join(ROOT, "docs/javascript.md"), "utf8").matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  assert.equal(blocks.length, 3);
  const folder = mkdtempSync(path.join(tmpdir(), "gnomon-"));
  for (const name of ["gnomon.js", "gnomon.wasm", "package.json"]) copyFileSync(path.join(WEB, name), path.join(folder, name));
  copyFileSync(path.join(ROOT, "docs/examples/llama-3.1.json"), path.join(folder, "config.json"));
  copyFileSync(path.join(ROOT, "DESIGN.md"), path.join(folder, "text.txt"));
  const given = 'const file = new (await import("node:buffer")).File(["GGUF"], "model.gguf");\n';  // what a page would have of its reader
  writeFileSync(path.join(folder, "example.mjs"), `${given}${blocks.join("")}console.log(said.layers.length, gnomon.files.size, losses[0] > 5, written.length);\n`);
  const { stdout, stderr } = spawnSync(process.execPath, ["--no-warnings", "example.mjs"], { cwd: folder, encoding: "utf8" });
  rmSync(folder, { recursive: true });
  assert.equal(stdout, "1 3 true 100\n", stderr);
});

test("the comparison sees a digit and a word", () => {
  same("1.2345678901234567 a", "1.2345678901234569 a");
  assert.throws(() => same("1.23456 a", "1.23457 a"));
  assert.throws(() => same("1.23456 a", "1.23456 b"));
});

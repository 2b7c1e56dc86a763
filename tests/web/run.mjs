// Runs a test program of WebAssembly as ctest asks for it: with the files of this machine, under Node's own WASI.
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const [, , program, ...words] = process.argv;
const system = new WASI({ version: "preview1", args: [program, ...words], env: process.env, preopens: { "/": "/" }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(program), system.getImportObject());
process.exitCode = system.start(instance);

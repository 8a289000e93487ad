// Runs Python in a worker, so that typing never waits: questions and answers are JSON texts.
const FIRST = ["runtime/pyodide.asm.wasm", "runtime/python_stdlib.zip", "python.zip"];

const START = `
import os, sys
sys.path.insert(0, "/app")
sys.dont_write_bytecode = True  # nothing would read it
os.environ["JOBGEN_PROFILES"] = "/app/site/profiles"
os.environ.pop("JOBGEN_PROFILE", None)
os.makedirs("/job", exist_ok=True)
os.chdir("/job")
from jobgen.__main__ import run
from jobgen.page.browser.session import Session
Session(run, parse).answer
`;

const here = (file) => new URL(file, import.meta.url).href;
const load = self.fetch.bind(self);
const tell = (message) => self.postMessage(JSON.stringify(message));
let bytes = 0;

// The same answer, whose bytes are counted. A server may not know the type of .wasm, without which
// a browser does not compile a stream.
async function counted(address) {
  const { body, ok, status, headers } = await load(address);
  const count = new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      tell({ bytes });
      controller.enqueue(chunk);
    },
  });
  const type = address.endsWith(".wasm") ? "application/wasm" : headers.get("Content-Type");
  return new Response(ok ? body.pipeThrough(count) : body, {
    status,
    headers: { "Content-Type": type ?? "" },
  });
}

// All that is large begins at once, side by side; Pyodide then finds its own on the way.
const early = new Map(FIRST.map((file) => [here(file), counted(here(file))]));
self.fetch = (input, options) => {
  const address = here(input.url ?? input);
  const found = early.get(address);
  early.delete(address);
  return found ?? (address.endsWith(".wasm") ? counted(address) : load(input, options));
};

async function start() {
  const [{ loadPyodide }, { default: createPyodideModule }] = await Promise.all(
    ["runtime/pyodide.js", "runtime/pyodide.asm.js"].map((file) => import(here(file))),
  );
  const python = await loadPyodide({ indexURL: here("runtime/"), createPyodideModule });
  const response = await fetch(here("python.zip"));
  if (!response.ok) throw new Error(`python.zip: ${response.status}`);
  python.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/app" });
  python.globals.set("parse", (text) => python.toPy(parser.parse(text)));
  return python.runPython(START);
}

let parser;
const started = start();
started.then(() => tell({ ready: true }), () => {}); // the first question is answered with the fault

self.onmessage = async ({ data }) => {
  try {
    const answer = await started;
    if (data.kind === "lint") {
      parser ??= await import("./parse.js");
      await parser.loadParser();
    }
    self.postMessage(answer(JSON.stringify(data)));
  } catch (error) {
    tell({ fault: String(error) });
  }
};

// Runs Python in a worker, so that typing never waits: questions and answers are JSON texts.
import { loadPyodide } from "./runtime/pyodide.js";
import createPyodideModule from "./runtime/pyodide.asm.js";
import { loadParser, parse } from "./parse.js";

const START = `
import os, sys
sys.path.insert(0, "/app")
os.environ["JOBGEN_PROFILES"] = "/app/site/profiles"
os.environ.pop("JOBGEN_PROFILE", None)
os.makedirs("/job", exist_ok=True)
os.chdir("/job")
from jobgen.__main__ import run
from jobgen.page.browser.session import Session
Session(run, parse).answer
`;

// A server may not know the type of .wasm, without which a browser does not compile a stream.
for (const name of ["compileStreaming", "instantiateStreaming"]) {
  const original = WebAssembly[name].bind(WebAssembly);
  WebAssembly[name] = async (source, imports) => {
    const { body, status } = await source;
    const headers = { "Content-Type": "application/wasm" };
    return original(new Response(body, { status, headers }), imports);
  };
}

async function start() {
  const archive = fetch(new URL("python.zip", import.meta.url));
  const python = await loadPyodide({
    indexURL: new URL("runtime/", import.meta.url).href,
    createPyodideModule,
  });
  const response = await archive;
  if (!response.ok) throw new Error(`python.zip: ${response.status}`);
  python.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/app" });
  python.globals.set("parse", (text) => python.toPy(parse(text)));
  return python.runPython(START);
}

const started = start();
const isReady = () => self.postMessage(JSON.stringify({ ready: true }));
started.then(isReady, () => {}); // the first question is answered with the fault

self.onmessage = async ({ data }) => {
  try {
    const answer = await started;
    if (data.kind === "lint") await loadParser();
    self.postMessage(answer(JSON.stringify(data)));
  } catch (error) {
    self.postMessage(JSON.stringify({ fault: String(error) }));
  }
};

// The page: asks Python for the script of the form as one types, and shows what it answers.
import { chosen, clearSearch, makeSearch, showChosen } from "./choices.js";
import { draw, EXAMPLE } from "./drawing.js";
import * as fields from "./form.js";
import { showFault, showFindings, showMessages, showProblems } from "./messages.js";
import { Python } from "./python.js";
import { showCode } from "./code.js";

const PAUSE = 120; // milliseconds without typing before the script is made
const $ = (id) => document.getElementById(id);
const form = $("form");
const python = new Python(showProgress);
let script = "";
let drawing = null;
let timer;
let changes = 0; // an answer to an older form is not shown

// Until the answer, what is shown is of an older form: nothing of it can be taken.
function changed() {
  clearTimeout(timer);
  const change = ++changes;
  $("actions").disabled = true;
  if (!chosen()) showStart();
  if (chosen()?.dataset.command) fields.showFields(form, chosen().dataset.command);
  timer = setTimeout(() => {
    history.replaceState(null, "", `#${fields.fragment(form)}`);
    const show = (answer) => change === changes && showAnswer(answer);
    if (chosen()) python.ask({ kind: "form", form: fields.values(form) }, show);
  }, PAUSE);
}

// Without a cluster there is nothing to make.
function showStart() {
  showNothing();
  $("heading-result").textContent = "Your script appears here";
  $("status").textContent = "Choose a cluster first.";
  $("start").hidden = false;
  fields.showFields(form, "sbatch");
  redraw();
}

// Python reads its own files before the first answer: the bytes are what one waits for.
function showProgress(bytes) {
  const { max } = $("progress");
  const megabytes = (number) => (number / 1e6).toFixed(1);
  $("progress").hidden = bytes === null;
  $("loading").hidden = bytes === null;
  if (bytes === null) return;
  $("progress").value = bytes;
  const loaded = `Python is loading: ${megabytes(bytes)} of ${megabytes(max)} MB`;
  $("loading").textContent = bytes < max ? loaded : "Python is loaded, and starts …";
}

// After the first answer, since it loads all files once more; without it, only not offline.
let keepsFiles = () => {
  keepsFiles = () => {};
  navigator.serviceWorker?.register("service-worker.js").catch(() => {});
};

function answered(answer) {
  document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
  keepsFiles();
  if (!answer.fault) return;
  showNothing();
  showFault(answer.fault);
}

function showAnswer(answer) {
  if (answer.fault) return answered(answer);
  $("start").hidden = true;
  fields.showFields(form, answer.command);
  fields.showDefaults(form, answer.defaults);
  fields.showLimits(answer.limits);
  showMessages(form, answer.messages);
  showProblems(form, $("problems"), answer.messages);
  showScript(answer);
  drawing = answer.drawing;
  $("job").hidden = !drawing;
  $("drawing-text").textContent = drawing?.text ?? "";
  redraw();
  answered(answer);
}

// On a narrow screen, the bar has the same as the heading of the script.
function showTitle(text) {
  $("heading-result").textContent = text;
  $("bar-text").textContent = text;
}

function showScript({ upper, machinery, line, command, drawing: job, messages }) {
  script = upper + machinery;
  $("actions").disabled = !script;
  $("script").hidden = !script;
  $("line").textContent = line;
  showCode($("upper"), upper);
  $("machinery").textContent = machinery;
  $("machinery-part").hidden = !machinery;
  const lines = (text) => text.split("\n").length - 1;
  $("machinery-summary").textContent =
    `The machinery: ${lines(machinery)} lines, the same in every such script`;
  const problems = messages.filter((each) => !each.is_warning).length;
  const submit = { sbatch: "sbatch job.sh", qsub: "qsub job.sh" }[command] ?? "bash job.sh";
  showTitle(job?.title ?? "No script yet");
  $("submit").textContent = script && submit;
  $("status").textContent = script
    ? "On the cluster, in the folder of your program:"
    : `Nothing can be copied: ${problems === 1 ? "a field has a problem" : `${problems} problems`}.`;
}

// What was shown before is of another form.
function showNothing() {
  $("status").textContent = "";
  showTitle("No script yet");
  script = "";
  drawing = null;
  for (const id of ["start", "script", "job"]) $(id).hidden = true;
  for (const id of ["line", "upper", "machinery", "submit"]) $(id).textContent = "";
  $("actions").disabled = true;
  fields.showDefaults(form, {});
  fields.showLimits({});
  showMessages(form, []);
  showProblems(form, $("problems"), []);
}

function redraw() {
  if (drawing) $("drawing").replaceChildren(draw(drawing, $("drawing").clientWidth));
  const width = $("example").clientWidth;
  if (width) $("example").replaceChildren(draw(EXAMPLE, width));
}

async function copy(text, button) {
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  let isDone = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    isDone = copyBySelection(text); // a page without HTTPS has no clipboard
  }
  button.textContent = isDone ? "Copied" : "Select it and press Ctrl-C";
  setTimeout(() => (button.textContent = before), 2000);
}

function copyBySelection(text) {
  const box = document.createElement("textarea");
  const focused = document.activeElement;
  box.value = text;
  document.body.append(box);
  box.select();
  const isDone = document.execCommand("copy");
  box.remove();
  focused?.focus();
  return isDone;
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([script], { type: "text/x-shellscript" }));
  link.download = "job.sh";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function lint() {
  $("lint-status").textContent = "…";
  python.ask({ kind: "lint", text: lintText() }, (answer) => {
    showFindings($("findings"), answer.findings ?? "");
    const fault = `This cannot be parsed here: ${answer.fault}`;
    $("lint-status").textContent = answer.fault ? fault : answer.summary;
    $("lint-status").scrollIntoView({ block: "nearest" });
  });
}

// A text field has no \r; the text of a file, as long as it is not edited, has those of the file.
let fileText = "";
const lintText = () =>
  fileText.replace(/\r\n?/g, "\n") === $("lint-text").value ? fileText : $("lint-text").value;

async function readFile() {
  const [file] = $("lint-file").files;
  if (!file) return;
  fileText = await file.text();
  $("lint-text").value = fileText;
  lint();
}

function restore() {
  clearSearch();
  const missing = fields.fill(form, location.hash);
  showChosen(false);
  if (missing) showMissing(missing);
  else changed();
}

function showMissing(profile) {
  clearTimeout(timer);
  changes++;
  showNothing();
  const text = `The link names the profile ${profile}, which this page does not have: choose one.`;
  showMessages(form, [{ text, field: "profile" }]);
  showProblems(form, $("problems"), [{ text, field: "profile" }]);
}

$("status").textContent = "";
makeSearch(changed);
form.addEventListener("input", ({ target }) => {
  if (target.id === "search") return;
  if (target.name === "trainer" && target.value) form.elements.program.value = "";
  changed();
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  clearSearch();
  fields.fill(form, chosen() ? `profile=${encodeURIComponent(chosen().value)}` : "");
  changed();
});
addEventListener("hashchange", () => {
  if (location.hash.slice(1) !== fields.fragment(form)) restore();
});
// Not by the fragment, which has the form.
for (const link of document.querySelectorAll("[data-goes-to]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    $(link.dataset.goesTo).focus();
    $(link.dataset.goesTo).scrollIntoView();
  });
}
addEventListener("resize", redraw);
$("copy-line").addEventListener("click", ({ target }) => copy($("line").textContent, target));
$("copy-script").addEventListener("click", ({ target }) => copy(script, target));
$("copy-link").addEventListener("click", ({ target }) => {
  copy(new URL(`#${fields.fragment(form)}`, location.href).href, target);
});
$("download").addEventListener("click", download);
$("lint").addEventListener("click", lint);
$("lint-file").addEventListener("change", readFile);
restore();
// What a first answer needs is imported while one chooses a cluster.
const [first] = form.elements.profile;
if (!chosen()) python.ask({ kind: "form", form: { profile: first.value } }, answered);

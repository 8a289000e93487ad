// The page: asks Python for the script of the form as one types, and shows what it answers.
import { draw } from "./drawing.js";
import * as fields from "./form.js";
import { showFault, showFindings, showMessages, showProblems } from "./messages.js";
import { Python } from "./python.js";

const PAUSE = 120; // milliseconds without typing before the script is made
const $ = (id) => document.getElementById(id);
const form = $("form");
const status = $("status");
const python = new Python();
let script = "";
let drawing = null;
let timer;

function ask() {
  const question = { form: fields.values(form) };
  python.ask({ kind: "script", ...question }, showScript);
  python.ask({ kind: "job", ...question }, showJob);
}

function changed() {
  if (form.elements.profile.selectedIndex < 0) return;
  fields.showProfile(form);
  const command = fields.command(form);
  if (command) fields.showFields(form, command);
  clearTimeout(timer);
  timer = setTimeout(() => {
    ask();
    history.replaceState(null, "", `#${fields.fragment(form)}`);
  }, PAUSE);
}

// After the first script, since it loads all files once more; without it, only not offline.
let keepsFiles = () => {
  keepsFiles = () => {};
  navigator.serviceWorker?.register("service-worker.js").catch(() => {});
};

function showScript(answer) {
  document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
  keepsFiles();
  if (answer.fault) {
    showNothing();
    showFault(answer.fault);
    return;
  }
  fields.showFields(form, answer.command);
  showMessages(form, answer.messages);
  showProblems(form, $("problems"), answer.messages);
  script = answer.upper + answer.machinery;
  $("script").hidden = !script;
  $("line").textContent = answer.line;
  $("copy-line").disabled = !answer.line;
  $("upper").textContent = answer.upper;
  $("machinery").textContent = answer.machinery;
  $("machinery-part").hidden = !answer.machinery;
  const lines = answer.machinery.split("\n").length - 1;
  $("machinery-summary").textContent = `The machinery: ${lines} lines, the same in every such script`;
  const problems = answer.messages.filter((each) => !each.is_warning).length;
  status.textContent = script
    ? `The script has ${script.split("\n").length - 1} lines.`
    : `No script: ${problems} ${problems === 1 ? "problem" : "problems"}, each at its field.`;
}

// After a fault: what was shown before is of another form.
function showNothing() {
  status.textContent = "No script.";
  script = "";
  drawing = null;
  for (const id of ["script", "job"]) $(id).hidden = true;
  for (const id of ["line", "upper", "machinery"]) $(id).textContent = "";
  $("copy-line").disabled = true;
  showMessages(form, []);
  showProblems(form, $("problems"), []);
}

function showJob(answer) {
  if (!answer.fault) fields.showDefaults(form, answer.defaults);
  drawing = answer.drawing ?? null;
  $("job").hidden = !drawing;
  if (!drawing) return;
  $("drawing-text").textContent = drawing.text;
  redraw();
}

function redraw() {
  if (drawing) $("drawing").replaceChildren(draw(drawing, $("drawing").clientWidth));
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
  if (missing) showMissing(missing);
  else changed();
}

function showMissing(profile) {
  showNothing();
  const text = `The link names the profile ${profile}, which this page does not have: choose one.`;
  showMessages(form, [{ text, field: "profile" }]);
  showProblems(form, $("problems"), [{ text, field: "profile" }]);
}

status.textContent = "Python is loading …";
const clearSearch = fields.makeSearch(form, $("search"));
form.addEventListener("input", (event) => event.target.id === "search" || changed());
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  const { value } = form.elements.profile;
  clearSearch();
  fields.fill(form, `profile=${encodeURIComponent(value)}`);
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

// The form's values, as an object and as the fragment of a link.
import { OWN_PROFILE, choose, chosen } from "./choices.js";

const controls = (form) =>
  [...form.elements].filter((each) => each.name && each.type !== "radio");
const valueOf = (each) => (each.type === "checkbox" ? (each.checked ? "on" : "") : each.value);

function valuesWhere(form, isTaken) {
  const found = chosen() ? { profile: chosen().value } : {};
  for (const each of controls(form)) if (isTaken(each)) found[each.name] = valueOf(each);
  if (found.profile !== OWN_PROFILE) {
    delete found.profile_file;
    delete found.profile_text;
  }
  return found;
}

export const values = (form) => valuesWhere(form, valueOf);

// A link may have been made by anybody: its texts become values of fields, and nothing else.
// Returns the profile that the link names, if the page does not have it: then none is chosen.
// Without a word about the program, it is the one of an empty form, unless a trainer is named.
export function fill(form, fragment) {
  const texts = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const each of controls(form)) {
    const text = texts.get(each.name) ?? each.defaultValue ?? "";
    if (each.type === "checkbox") each.checked = text === "on";
    else each.value = text;
  }
  for (const folded of form.querySelectorAll("details")) {
    const filled = [...folded.querySelectorAll("[name]")].some((each) => texts.get(each.name));
    folded.open ||= filled;
  }
  if (texts.has("trainer") && !texts.has("program")) form.elements.program.value = "";
  const profile = texts.get("profile") ?? "";
  return choose(profile) ? "" : profile;
}

// What differs from an empty form.
export function fragment(form) {
  const isChanged = (each) => valueOf(each) !== (each.defaultValue ?? "");
  return new URLSearchParams(valuesWhere(form, isChanged)).toString();
}

// Shows the fields that a command has.
export function showFields(form, name) {
  for (const field of form.querySelectorAll("[data-commands]")) {
    field.hidden = !field.dataset.commands.split(" ").includes(name);
  }
}

// What holds for a field without a value of its own.
export function showDefaults(form, defaults) {
  for (const each of controls(form)) {
    if (each.name.startsWith("profile")) continue;
    const text = Object.hasOwn(defaults, each.name) ? defaults[each.name] : "";
    if (each.tagName === "SELECT") each.options[0].textContent = text ? `${text} (default)` : "–";
    else if (each.type === "checkbox") {
      document.getElementById(`${each.name}-default`).textContent = text && "(default)";
    } else each.placeholder = text;
  }
}

// The most that the cluster gives, beside the field.
export function showLimits(limits) {
  for (const each of document.querySelectorAll(".limit")) {
    const name = each.id.replace(/-limit$/, "");
    each.textContent = Object.hasOwn(limits, name) ? limits[name] : "";
  }
}

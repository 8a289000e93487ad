// The form's values, as an object and as the fragment of a link; its list of profiles.
const OWN_PROFILE = "-";

const controls = (form) => [...form.elements].filter((each) => each.name);

export function values(form) {
  const found = {};
  for (const each of controls(form)) {
    const value = each.type === "checkbox" ? (each.checked ? "on" : "") : each.value;
    if (value) found[each.name] = value;
  }
  if (found.profile !== OWN_PROFILE) {
    delete found.profile_file;
    delete found.profile_text;
  }
  return found;
}

// A link may have been made by anybody: its texts become values of fields, and nothing else.
// Returns the profile that the link names, if the page does not have it: then none is chosen.
export function fill(form, fragment) {
  const texts = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const each of controls(form)) {
    const text = texts.get(each.name) ?? "";
    if (each.type === "checkbox") each.checked = text === "on";
    else each.value = text;
  }
  for (const folded of form.querySelectorAll("details")) {
    const filled = [...folded.querySelectorAll("[name]")].some((each) => texts.get(each.name));
    folded.open ||= filled;
  }
  const list = form.elements.profile;
  if (!texts.get("profile")) list.selectedIndex = 0;
  return list.selectedIndex < 0 ? texts.get("profile") : "";
}

export function fragment(form) {
  return new URLSearchParams(values(form)).toString();
}

export function command(form) {
  return form.elements.profile.selectedOptions[0]?.dataset.command;
}

// Shows the fields that a command has.
export function showFields(form, name) {
  for (const field of form.querySelectorAll("[data-commands]")) {
    field.hidden = !field.dataset.commands.split(" ").includes(name);
  }
}

export function showProfile(form) {
  const chosen = form.elements.profile.selectedOptions[0]?.textContent ?? "";
  document.getElementById("profile-chosen").textContent = chosen;
  const isOwn = form.elements.profile.value === OWN_PROFILE;
  for (const id of ["own-file", "own-text"]) document.getElementById(id).hidden = !isOwn;
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

// Keeps the profiles in the list that have all words; the chosen one stays.
export function makeSearch(form, search) {
  const list = form.elements.profile;
  const groups = [...list.children].map((group) => ({ group, options: [...group.children] }));
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const chosen = list.value;
    const isFound = (option) => {
      const text = option.textContent.toLowerCase();
      const stays = [chosen, OWN_PROFILE].includes(option.value);
      return stays || words.every((word) => text.includes(word));
    };
    for (const { group, options } of groups) group.replaceChildren(...options.filter(isFound));
    list.replaceChildren(...groups.map((each) => each.group).filter((group) => group.children.length));
    list.value = chosen;
  };
  search.addEventListener("input", show);
  return () => {
    search.value = "";
    show();
  };
}

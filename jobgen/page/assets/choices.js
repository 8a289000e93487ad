// The list of clusters: a search shortens it, and once one is chosen, only that one is shown.
export const OWN_PROFILE = "-";
const $ = (id) => document.getElementById(id);
const list = $("choices");
const search = $("search");
const rows = [...list.querySelectorAll(".choice")].map((row) => {
  const heading = row.closest(".group").querySelector("h3").textContent;
  const text = `${heading} ${row.textContent}`.toLowerCase();
  return { row, text, radio: row.querySelector("input") };
});
const isOwn = ({ radio }) => radio.value === OWN_PROFILE;

export const chosen = () => rows.find(({ radio }) => radio.checked)?.radio;

// Returns whether the list has it; if not, none is chosen.
export function choose(name) {
  for (const { radio } of rows) radio.checked = radio.value === name;
  return Boolean(chosen());
}

export function showChosen(isOpen) {
  const radio = chosen();
  list.classList.toggle("folded", Boolean(radio) && !isOpen);
  $("chosen").hidden = !list.classList.contains("folded");
  $("search-status").hidden = !$("chosen").hidden;
  $("profile-page").hidden = !radio?.dataset.page;
  if (radio?.dataset.page) $("profile-page").href = radio.dataset.page;
  for (const id of ["own-file", "own-text"]) $(id).hidden = radio?.value !== OWN_PROFILE;
}

function showFound() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((each) => !isOwn(each) && words.every((word) => each.text.includes(word)));
  for (const each of rows) each.row.hidden = !isOwn(each) && !found.includes(each);
  for (const group of list.children) group.hidden = !group.querySelector(".choice:not([hidden])");
  const counted = `${found.length} of ${rows.length - 1} clusters`;
  $("search-status").textContent = found.length ? counted : "No cluster of the list has these words.";
  return { words, found };
}

export function clearSearch() {
  search.value = "";
  showFound();
}

// A search that leaves one cluster chooses it, and one that excludes the chosen one ends its choice,
// until the search is empty again.
export function makeSearch(changed) {
  let before = "";
  const chooseAnew = (name, isOpen) => {
    if (name !== (chosen()?.value ?? "")) {
      choose(name);
      changed();
    }
    showChosen(isOpen);
  };
  search.addEventListener("input", () => {
    const { words, found } = showFound();
    const now = chosen();
    if (now) before = now.value;
    if (!words.length) chooseAnew(before, true);
    else if (found.length === 1) chooseAnew(found[0].radio.value, true);
    else if (!found.some(({ radio }) => radio === now)) chooseAnew("", true);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const { words, found } = showFound();
    if (chosen()) showChosen(false);
    else if (words.length && found.length) chooseAnew(found[0].radio.value, false);
  });
  search.addEventListener("focus", () => showChosen(true));
  list.addEventListener("change", () => {
    before = chosen().value;
    showChosen(list.querySelector(":focus-visible")); // with the arrow keys, one goes on
  });
  $("cluster").addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !$("cluster").contains(relatedTarget)) showChosen(false);
  });
  $("change").addEventListener("click", () => {
    clearSearch();
    search.focus();
  });
  showFound();
}

// Shows what jobgen says, each line at the field that it is about, as text.

export function showMessages(form, messages) {
  for (const box of document.querySelectorAll(".messages")) box.replaceChildren();
  for (const each of form.elements) each.removeAttribute("aria-invalid");
  for (const { text, field, is_warning: isWarning } of messages) {
    const line = document.createElement("p");
    line.className = isWarning ? "message warning" : "message";
    line.textContent = text;
    const control = controlOf(form, field);
    document.getElementById(control ? `${field}-messages` : "other-messages").append(line);
    if (!control || isWarning) continue;
    control.setAttribute("aria-invalid", "true");
    const folded = control.closest("details");
    if (folded) folded.open = true;
    if (control === document.activeElement) reveal(control);
  }
}

// The field of a message if it is shown; the search stands for the list of clusters.
function controlOf(form, field) {
  const control = field && form.elements.namedItem(field === "profile" ? "search" : field);
  return control && !control.closest("[hidden]") ? control : null;
}

// Scrolls as little as shows a field with its messages: they are below it.
function reveal(control) {
  control.closest(".field, #cluster").scrollIntoView({ block: "nearest" });
}

// The problems beside the script, each with a button that leads to its field.
export function showProblems(form, list, messages) {
  const place = ({ field }) => [...form.elements].indexOf(controlOf(form, field));
  const refusals = messages.filter((each) => !each.is_warning);
  refusals.sort((one, other) => place(one) - place(other));
  const items = refusals.flatMap(({ text, field }) => {
    const control = controlOf(form, field);
    if (!control) return [];
    const [item, button] = ["li", "button"].map((each) => document.createElement(each));
    button.type = "button";
    button.className = "link";
    button.textContent = control.labels[0].textContent.trim();
    button.addEventListener("click", () => {
      control.focus();
      reveal(control);
    });
    item.append(button, ` ${text}`);
    return [item];
  });
  list.replaceChildren(...items);
}

export function showFault(text) {
  const line = document.createElement("p");
  line.className = "fault";
  line.textContent = `This page has failed: ${text}`;
  document.getElementById("other-messages").replaceChildren(line);
}

// Finding by finding, as the command line writes them: one a line.
export function showFindings(list, text) {
  const items = text.split("\n").filter(Boolean).map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  });
  list.replaceChildren(...items);
}

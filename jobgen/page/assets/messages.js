// Shows what jobgen says, each line at the field that it is about, as text.

export function showMessages(form, messages) {
  for (const box of document.querySelectorAll(".messages")) box.replaceChildren();
  for (const each of form.elements) each.removeAttribute("aria-invalid");
  for (const { text, field, is_warning: isWarning } of messages) {
    const line = document.createElement("p");
    line.className = isWarning ? "message warning" : "message";
    line.textContent = text;
    const control = field && form.elements.namedItem(field);
    const isShown = control && !control.closest("[hidden]");
    const box = document.getElementById(isShown ? `${field}-messages` : "other-messages");
    box.append(line);
    if (!isShown || isWarning) continue;
    control.setAttribute("aria-invalid", "true");
    const folded = control.closest("details");
    if (folded) folded.open = true;
  }
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

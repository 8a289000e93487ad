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
    if (control === document.activeElement) reveal(control);
  }
}

// Scrolls as little as shows a field with its messages: they are below it.
function reveal(control) {
  control.closest(".field").scrollIntoView({ block: "nearest" });
}

// Buttons that lead to the fields with problems, for who does not see them from the script.
export function showProblems(form, list, messages) {
  const wrong = new Set(messages.filter((each) => !each.is_warning).map((each) => each.field));
  const controls = [...form.elements].filter(({ name }) => name && wrong.has(name));
  const items = controls.filter((each) => !each.closest("[hidden]")).map((control) => {
    const [item, button] = ["li", "button"].map((each) => document.createElement(each));
    button.type = "button";
    button.className = "link";
    button.textContent = control.labels[0].textContent.trim();
    button.addEventListener("click", () => {
      control.focus();
      reveal(control);
    });
    item.append(button);
    return item;
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

// Shows a script with its directives and comments apart from the rest, as text.
const DIRECTIVE = /^#(SBATCH|PBS) /;

function span(kind, text) {
  const made = document.createElement("span");
  made.className = kind;
  made.textContent = text;
  return made;
}

export function showCode(box, text) {
  const parts = text.split(/(?<=\n)/).flatMap((line) => {
    if (DIRECTIVE.test(line)) return [span("directive", line)];
    const at = /^\s*#/.test(line) ? 0 : line.search(/ {2}# /);
    return at < 0 ? [line] : [line.slice(0, at), span("comment", line.slice(at))];
  });
  box.replaceChildren(...parts);
}

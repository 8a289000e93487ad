// Parses bash; jobgen/page/browser/syntax_tree.py makes of the numbers what lint reads.
import { Language, Parser } from "./runtime/web-tree-sitter.js";

const NAMED = 1;
const MISSING = 2;
let parser;

export async function loadParser() {
  if (parser) return;
  const runtime = (name) => new URL(`runtime/${name}`, import.meta.url).href;
  await Parser.init({ locateFile: runtime });
  const made = new Parser();
  made.setLanguage(await Language.load(runtime("tree-sitter-bash.wasm")));
  parser = made;
}

class Names {
  constructor() {
    this.list = [];
    this.numbers = new Map();
  }
  number(name) {
    if (!this.numbers.has(name)) this.numbers.set(name, this.list.push(name) - 1);
    return this.numbers.get(name);
  }
}

// Six numbers for each node, parents first, and the names of the kinds and of the fields.
export function parse(text) {
  const tree = parser.parse(text);
  const kinds = new Names();
  const fields = new Names();
  const numbers = [];
  const cursor = tree.walk();
  const add = (parent) => {
    const flags = (cursor.nodeIsNamed ? NAMED : 0) | (cursor.nodeIsMissing ? MISSING : 0);
    const field = fields.number(cursor.currentFieldName ?? "");
    const kind = kinds.number(cursor.nodeType);
    numbers.push(kind, flags, cursor.startIndex, cursor.endIndex, parent, field);
    return numbers.length / 6 - 1;
  };
  const above = [add(0)];
  const leave = () => {
    while (!cursor.gotoNextSibling()) {
      if (!cursor.gotoParent()) return false;
      above.pop();
    }
    above[above.length - 1] = add(above[above.length - 2] ?? 0);
    return true;
  };
  do {
    while (cursor.gotoFirstChild()) above.push(add(above[above.length - 1]));
  } while (leave());
  cursor.delete();
  tree.delete();
  return [numbers, kinds.list, fields.list];
}

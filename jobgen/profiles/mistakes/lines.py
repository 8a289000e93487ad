"""Makes the lines that a hint says to write, at their places, and follows hints in a file."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy

from jobgen.errors import JobgenError, Mark, Problem
from jobgen.other_words.search import path_of, places, value_hint
from jobgen.profiles.mistakes.readings import Setting, right_value
from jobgen.profiles.units import sizes_meant
from jobgen.profiles.yaml_tree import (
    Map,
    Node,
    Scalar,
    Seq,
    as_flow,
    as_yaml,
    at,
    merge,
    parse,
    tree_at,
    with_marks,
)
from jobgen.quoting import quote

CONTAINER = "software.container"
PROGRAM = r"(?:(?:python3?|torchrun) )(?!-)(.*)"
_PLACE = (
    r" at the top level| (?:in the braces of|below) `\w+:` in line \d+"
    r"|, in the same `\w+:` as line \d+'s"
)
_VALUE = re.compile(r'write ("[^"]*"|[\w.]+)(?=$|,)')
WRITE = re.compile(rf"(?:write |(?<=, ))`(\w+: [^`]+)`((?:{_PLACE})*)")


def present(answer: str, setting: Setting) -> str:
    """Returns a key, or the key that the file's scheduler has instead."""
    hint = setting.rows[path_of(answer)].absent.get(scheduler_of(setting), "")
    other = re.search(r"`([\w.]+)`", hint)
    return other[1] if other and other[1] in setting.rows else answer


def scheduler_of(setting: Setting) -> str:
    """Returns the scheduler that a file names, perhaps at another place; "" if it names none."""
    file = setting.problems.file
    maps = [file, *file.items.values()] if isinstance(file, Map) else []
    groups = [each for each in maps if isinstance(each, Map)]
    texts = [getattr(node, "text", "") for each in groups for node in each.items.values()]
    texts += [name.lower() for each in groups for name in each.items]
    return next((each for each in texts if each in ("slurm", "pbs", "local")), "")


def placed(answer: str, node: Node, setting: Setting, name: str) -> str:
    """Returns the line of a key with a value; if the key does not take the value, an example."""
    answer, comma, note = answer.partition(", ")
    path, _, value = answer.partition("=")
    if isinstance(node, Seq) and path.endswith(("gpus", "gpus_per_node")):  # as for --gres
        texts = {getattr(each, "text", ""): each for each in node.items}
        rest = [f"--gres={each}" for each in texts if "gpu" not in each]
        if len(rest) < len(texts):
            node = next(texts[each] for each in texts if "gpu" in each)
            more = {"request.gpu_option": "gpus-per-node", "request.directives": json.dumps(rest)}
            comma, note = ("; and ", f"write {lines_for(more, setting)}") if rest else ("", "")
    text = getattr(node, "text", "")
    if path == "request.log_folder":  # submitit's %j is a folder that jobgen makes
        value = re.sub("/?%.*", "", text) if "%" in text else ""
    if path.endswith(".time") and text.isdigit():
        likely, other = "sm" if scheduler_of(setting) == "pbs" else "ms"
        return f"{line_for(path, text + likely, setting)}; or {text}{other}, if that is the unit"
    is_size = path.startswith("request.memory") and re.fullmatch(r"[1-9]\d{0,8}", text)
    if is_size and scheduler_of(setting) != "pbs" and (sizes := sizes_meant(text)[1:]):
        return f"{line_for(path, f'{text}M', setting)}, as Slurm takes it; or {sizes[0]}"
    *others, last = node.items if isinstance(node, Seq) and node.items else [node]
    found = re.fullmatch(PROGRAM, getattr(last, "text", ""))
    if found and others and path == "software.commands":
        node, comma = Seq(node.mark, others), "; "
        note = f"the program is each job's own: `-- {found[1]}`"
    if found := re.fullmatch(r"(?:gpu:)?(?:(?!gpu:)([A-Za-z][\w.-]*):)?(\d+)", text):  # A100:4
        value = found[2] if path.endswith(("gpus", "gpus_per_node")) else value
        if found[1] and path == "request.gpus_per_node" and text.startswith("gpu:"):  # --gres
            lines = lines_for({path: value, "node.gpu_type": found[1]}, setting)
            return f"{lines}{comma}{note}"
    if path == "software.container.image" and not setting.is_option:
        return _image(right_value(path, node, setting) or text, name, setting)
    if value := value or right_value(path, node, setting):
        has_vendor = at(setting.problems.file, "node.gpu") is not None
        if path == "node.gpus" and not (setting.is_option or has_vendor):
            return _gpus(value, found[1] if found and found[1] else "", setting)
        return f"{line_for(path, value, setting)}{comma}{note}"
    return f"{_such_as(path, str(setting.rows[path].example), setting)}{comma}{note}"


def _image(image: str, name: str, setting: Setting) -> str:
    """Returns the line for an image, and for the engine that it needs if the file names none."""
    image = re.sub("^docker:(//)?", "", image)
    names = getattr(at(setting.problems.file, CONTAINER), "items", ())
    own = [places(each, setting.rows, CONTAINER) for each in names]
    if [f"{CONTAINER}.engine"] in own or setting.group == CONTAINER:
        return line_for(f"{CONTAINER}.image", image, setting)
    engines = setting.rows[f"{CONTAINER}.engine"].kind.words
    name = name.rpartition(".")[2].lower()
    engine = name if name in engines else value_hint("engine of an image", f"{name} {image}")
    lines = lines_for({f"{CONTAINER}.engine": engine, f"{CONTAINER}.image": image}, setting)
    return f"{lines}; or another engine: {', '.join(each for each in engines if each != engine)}"


def _gpus(number: str, model: str, setting: Setting) -> str:
    """Returns the line for a number of GPUs, and for the vendor that they need."""
    vendor, _, note = (model and value_hint("node.gpu", model)).partition("; ")
    maker = vendor.strip("`").rpartition(" ")[2] or "nvidia"
    lines = lines_for({"node.gpus": number, "node.gpu": maker}, setting)
    return f"{lines}{f'; {note}' if note else ', or amd or intel'}"


def lines_for(values: Mapping[str, str], setting: Setting) -> str:
    """Returns the lines for the values of several keys; the keys of one group share a line."""
    lines = (f"write {line_for(path, value, setting)}" for path, value in values.items())
    return together(lines).removeprefix("write ")


def _such_as(path: str, example: str, setting: Setting) -> str:
    if setting.is_option and path == "network.environment":
        return f"--set {path}.NAME=VALUE"
    if setting.is_option:
        return f"--set {path}=VALUE" + (f", such as {example}" if example else "")
    return line_for(path, "…", setting) + (f", such as `{example}`" if example else "")


def line_for(path: str, value: str, setting: Setting) -> str:
    """Returns the line for a value, and the group of the file below which the line belongs."""
    if setting.is_option:
        return f"--set {quote(f'{path}={value}')}"
    group, _, last = path.rpartition(".")
    if group == setting.group:
        return f"`{last}: {value}`"
    if not group:
        return f"`{last}: {value}` at the top level"
    names, place = path.split("."), setting.problems.file
    below = " at the top level" if setting.group else ""
    while names[1:] and isinstance(place, Map) and isinstance(at(place, names[0]), Map):
        inner, line = place.items[names[0]], place.keys[names[0]].line
        where = "in the braces of" if inner.mark.line == line else "below"
        below = f" {where} `{names[0]}:` in line {line}"
        place = place.items[names.pop(0)]
    others = (each.mark.line for each in setting.problems.found if f"`{names[0]}: {{" in each.hint)
    if names[1:] and (line := next(others, 0)):
        below += f", in the same `{names[0]}:` as line {line}'s"
    return f"`{as_yaml('.'.join(names), value)}`{below}"


def written(hint: str) -> Iterator[tuple[Map, str]]:
    """Yields the keys and values that a hint says to write, with its words for their place."""
    if "write `" in hint:
        for text, place in WRITE.findall(hint.partition("; or ")[0]):
            try:
                tree = parse(text.encode(), "hint")
            except JobgenError:
                continue
            if isinstance(tree, Map) and not re.search("…|: N}*$", text):
                yield tree, place


def together(hints: Iterable[str]) -> str:
    """Joins several hints into one, in which the keys of a group stand in one group."""
    groups: dict[str, Node] = {}
    options, others = [], []
    for hint in dict.fromkeys(hints):
        found = list(written(hint))
        for tree, place in found:
            groups[place] = merge(groups.get(place), tree, with_lists=True)
        if hint.startswith("write --set "):
            options.append(hint.removeprefix("write "))
        elif not found:
            others.append(hint)
    lines = [
        f"`{name}: {as_flow(node)}`{place}"
        for place, tree in groups.items()
        for name, node in getattr(tree, "items", {}).items()
    ]
    first = f"write {', '.join(lines) or ' '.join(options)}"
    return "; and ".join([first] * bool(lines or options) + others)


def followed(tree: Map, problems: Sequence[Problem]) -> Map:
    """Returns the tree of a file, in which the hints of its problems are followed."""
    tree = deepcopy(tree)
    of_file = [each for each in problems if each.code in ("no-scheduler", "limit")]
    by_mark = {each.mark: each for each in problems if each.mark.line and each not in of_file}
    groups = list(_groups(tree))
    places = {(name, group.keys[name].line): group for group in groups for name in group.items}
    for group in groups:
        for name, mark, node in [(key, group.keys[key], group.items[key]) for key in group.items]:
            each = by_mark.get(mark) or by_mark.get(node.mark)
            if each is None or (each.mark != mark and each.code == "unknown-key"):
                continue  # a group has the place of its first key
            keys = list(written(each.hint))
            if each.code == "unknown-key" or keys:
                del group.items[name]
            elif (value := _VALUE.match(each.hint)) and isinstance(node, Scalar):
                _put(tree_at([name], parse(value[1].encode(), "hint"), mark), group, node.mark)
            for found, place in keys:
                _put(found, _target(place, tree, group, places), mark)
    for each in of_file:
        for found, _ in written(each.hint):
            _put(found, tree, tree.mark)
    return tree


def _target(place: str, tree: Map, group: Map, places: Mapping[tuple[str, int], Map]) -> Map:
    """Returns the group of a tree that the words for a place mean."""
    if inner := re.search(r"(?:in the braces of|below) `(\w+):` in line (\d+)", place):
        found = places[inner[1], int(inner[2])].items.get(inner[1])
        return found if isinstance(found, Map) else group
    return tree if "top level" in place else group


def _put(found: Map, group: Map, mark: Mark) -> None:
    for name, node in found.items.items():
        node = with_marks(node, lambda _: mark)
        group.items[name], group.keys[name] = merge(group.items.get(name), node), mark


def _groups(node: Node) -> Iterator[Map]:
    if isinstance(node, Map):
        yield node
        for each in list(node.items.values()):
            yield from _groups(each)

"""Finds the values that a person may have meant, among those that a key takes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from jobgen.errors import Mark
from jobgen.other_words.search import answers, main_keys
from jobgen.profiles.units import sizes_meant
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, as_flow, at, unquoted

_MOST = 160  # characters of a value that a hint repeats
_EMPTY = ("[]", "{}", '""')  # no hint for a value that has content
_PAIR = (
    r"(?<![^\s,:])(?:--)?([A-Za-z][\w.-]*)=((?:[^\s,:]|:(?!\w+=))+)"  # NAME=VALUE, or --NAME=VALUE
)
_NAMED = r"^([A-Z][A-Z0-9_]+): ?(\S+)$"
_PAIRS = (
    ("name", "value"),
    ("key", "value"),
    ("source", "target"),
    ("src", "dst"),
    ("name", "version"),
)
_TRUTHS = {
    **dict.fromkeys(("yes", "on", "y", "1"), True),
    **dict.fromkeys(("no", "off", "n", "0"), False),
}


class Setting(NamedTuple):
    """The place of a mistake: all keys, the group, the problems found so far, and the mark."""

    rows: Mapping[str, Any]  # of records.Row
    group: str
    problems: Any  # a kinds.ProblemList
    mark: Mark

    @property
    def is_option(self) -> bool:
        """Whether the mistake is in an option, `--set PATH=VALUE`, and not in a file."""
        return self.mark.file.startswith("-")


def right_value(path: str, node: Node, setting: Setting) -> str:
    """Returns the value in a form that the key takes, as YAML on one line; "" if there is none."""
    places = [_with_places(node)] if "defaults.set" in setting.rows else []  # in a manifest
    for each in (*places, *_readings(path, node)):
        text = as_flow(each)
        # A number alone is an unclear time: it means minutes for Slurm, and seconds for PBS.
        is_time = path.endswith(".time") and isinstance(each, Scalar) and each.text.isdigit()
        is_lost = text in _EMPTY and as_flow(node) not in _EMPTY
        if is_time or is_lost or len(text) > _MOST:
            continue
        setting.rows[path].kind.read(each, problems := type(setting.problems)())
        if not problems.found:
            return each.text if setting.is_option and isinstance(each, Scalar) else text
    return ""


def _readings(path: str, node: Node) -> Iterator[Node]:
    """Yields a node, and then other nodes that it may mean, the likeliest first."""
    yield node
    if pairs := dict(named_values(node)):
        yield Map(node.mark, pairs, dict.fromkeys(pairs, node.mark))
        sign = {"mounts": ":", "modules": "/"}.get(path.rpartition(".")[2], "")
        if sign and not isinstance(node, Scalar):
            yield _texts(node, _with_sign(node, sign))
    if isinstance(node, Map):
        yield from _readings_of_map(path, node)
        return
    for name in main_keys(path):
        yield Map(node.mark, {name: node}, {name: node.mark})
    listed = isinstance(node, Scalar) and re.fullmatch(r"\[(.*)\]", node.text)
    if isinstance(node, Seq) or listed:
        items = node.items if isinstance(node, Seq) else ()
        texts = [each.text for each in items if isinstance(each, Scalar)]
        texts += re.findall(r"[^,\s]+", listed[1]) if listed else []
        joined = ("&" if path == "request.constraint" else ",").join(texts)
        if listed or len(texts) == len(items):
            yield Scalar(node.mark, joined, joined)
            yield _texts(node, [text.lower() for text in texts])
            if path.endswith("modules"):
                yield _texts(node, " ".join(texts).split())
    if isinstance(node, Seq) and path.endswith("program"):  # [train.py, --lr: 0.1]
        yield Seq(node.mark, [*_flat(node)])
    if isinstance(node, Seq) and path.endswith("gpus"):  # a list of their numbers
        yield Scalar(node.mark, str(len(node.items)), len(node.items))
    if isinstance(node, Seq) and all(isinstance(each, Map) for each in node.items):
        yield _by_name(path.rpartition(".")[0], node)
    if isinstance(node, Scalar):
        yield from _readings_of_scalar(path, node)


def _flat(node: Node) -> Iterator[Node]:
    """Yields the words in lists and maps; `true`, the value of an option, is left out."""
    if isinstance(node, Scalar) and node.value is not True:
        yield node
    for name, each in node.items.items() if isinstance(node, Map) else ():
        yield Scalar(node.mark, name, name)
        yield from _flat(each)
    for each in node.items if isinstance(node, Seq) else ():
        yield from _flat(each)


def _with_sign(node: Map | Seq, sign: str) -> Iterator[str]:
    """Yields each item as a text: its two parts with the sign between, or the item's own text."""
    for each in node.items if isinstance(node, Seq) else [node]:
        if isinstance(each, Scalar):
            yield each.text
        for name, value in () if isinstance(each, Scalar) else named_values(Seq(node.mark, [each])):
            text = getattr(value, "text", "")
            yield text if name == "name" or not text else f"{name}{sign}{text}"


def _with_places(node: Node) -> Node:
    """Returns a node in which an unquoted `{NAME}`, which YAML reads as a map, is a text."""
    if isinstance(node, Seq):
        return Seq(node.mark, [_with_places(each) for each in node.items])
    if isinstance(node, Map) and [*map(as_flow, node.items.values())] == ['""']:
        text = f"{{{next(iter(node.items))}}}"
        return Scalar(node.mark, text, text)
    return node


def _readings_of_map(path: str, node: Map) -> Iterator[Node]:
    texts = {each: getattr(node.items[each], "text", "") for each in node.items}
    if path == "software.conda" and texts:  # conda's folder, and a name
        folder, *names = sorted(texts.values(), key=lambda word: "/" not in word)
        text = "/envs/".join([folder.rstrip("/"), *names])
        yield Scalar(node.mark, text, text)
    if path.endswith("matrix"):  # {lr: {values: [0.1, 0.01]}}
        lists = {name: at(each, "values") for name, each in node.items.items()}
        if items := {name: each for name, each in lists.items() if each}:
            yield Map(node.mark, items, node.keys)
        items = {name: Seq(each.mark, [each]) for name, each in node.items.items()}
        yield Map(node.mark, dict[str, Node](items), node.keys)
    if len(node.items) == 1:
        yield from node.items.values()
    if path.endswith(("commands", "interface")):
        yield Seq(node.mark, [*node.items.values()])
    if path.endswith("time"):  # {hours: 12}
        text = "".join(f"{text}{each[:1]}" for each, text in texts.items())
        yield Scalar(node.mark, text, text)
    if {*map(as_flow, node.items.values())} == {'""'}:  # {cuda, gcc}
        yield _texts(node, texts)
    elif path.endswith("program"):
        yield _texts(node, [word for each in texts for word in (f"--{each}", texts[each])])


def _texts(node: Node, texts: Iterable[str]) -> Seq:
    return Seq(node.mark, [Scalar(node.mark, text, text) for text in texts])


def _readings_of_scalar(path: str, node: Scalar) -> Iterator[Node]:
    if not isinstance(node.value, bool) or path == "network.environment":
        yield Scalar(node.mark, node.text.lower(), node.text.lower())
        inner = node.text.strip("'\"")
        yield Scalar(node.mark, inner, unquoted(inner))
    if path.endswith("program"):
        yield Seq(node.mark, as_words(node))
    lists = [node.text.splitlines(), re.split(r"[,\s]+", node.text)]
    of_words = ("modules", "interface", "options", "mounts")
    is_words = path.endswith(of_words) or node.text.startswith("--")
    if path.endswith("modules"):
        lists.append(re.findall(r"(?:^|(?<=[\s,]))-*([^,\s]+)", node.text))
    for parts in reversed(lists) if is_words else lists:
        yield _texts(node, filter(None, parts))
    if chunks := re.match(r"(\d{1,9}):\w+=", node.text):  # as in `select`
        yield Scalar(node.mark, chunks[1], int(chunks[1]))
    if (word := node.text.lower()) in _TRUTHS:
        yield Scalar(node.mark, str(_TRUTHS[word]).lower(), _TRUTHS[word])
    product = re.fullmatch(r"(\d{1,4}) ?[x*] ?(\d{1,4})", node.text)
    if product and not path.endswith("nodes"):
        cores = int(product[1]) * int(product[2])
        yield Scalar(node.mark, str(cores), cores)
    numbers = re.findall(r"(?<![\w.])\d{1,9}(?![\w.])", node.text)
    if len(numbers) == 1:
        yield Scalar(node.mark, numbers[0], int(numbers[0]))
    if memory := re.fullmatch(r"([1-9]\d{0,8})\+?", node.text):
        text = sizes_meant(memory[1], is_requested=False)[0]
        yield Scalar(node.mark, text, text)


def _by_name(group: str, maps: Seq) -> Map:
    """Makes one map of a list of maps with names; a group's keys replace words of other tools."""
    found: dict[str, Node] = {}
    for each in maps.items:
        items = dict(each.items) if isinstance(each, Map) else {}
        name = getattr(items.pop("name", None), "text", "")
        words = {key: [*answers("keys", key), f"{group}.{key}"] for key in items}
        keys = {key: next(filter(re.compile(rf"{group}\.").match, words[key])) for key in items}
        own = {keys[key].removeprefix(f"{group}."): node for key, node in items.items()}
        found[name] = Map(each.mark, own, dict.fromkeys(own, each.mark))
    return Map(maps.mark, found, dict.fromkeys(found, maps.mark))


def map_hint(node: Node, keys: Iterable[str]) -> str:
    """Returns how to write a map instead of a text; only its keys, if the text names none."""
    text = getattr(node, "text", "")
    if isinstance(node, Seq) and "scheduler" in keys:
        return "write the keys without `- ` before them"
    if re.match(r"\S+ slots=\d", text):  # DeepSpeed's list of hosts
        return "the scheduler chooses the nodes; by ssh, without one: `jobgen byhand --hosts LIST`"
    if "program" in keys and not isinstance(node, Map):
        words = Seq(node.mark, as_words(node)) if isinstance(node, Scalar) else node
        return f"write {{program: {as_flow(words)}}}"
    if found := re.match(r"(\w+) ?[:=](?!//) ?(\S+)", text):
        return f"write `{found[1]}: {found[2]}`, with a blank after the colon"
    if "shared" in keys and re.fullmatch(r"[\d:.-]+[smhd]?", text):
        number = f"{{nodes: {text}}}, or {{time: {text}m}}"
        return f"write {number if text.isdigit() else f'{{time: {text}}}'}"
    return f"its keys: {', '.join(sorted(keys))}"


def list_hint(node: Node) -> str:
    """Returns how to write a list instead of one text."""
    text = getattr(node, "text", "")
    if between := re.fullmatch(r"(\d*\.\d+)(?:-|\.\.|:)(\d*\.\d+)", text):
        return f"write [{between[1]}, {between[2]}], and the values between them that are meant"
    if text and not re.search(r"[\s,(:]|\.\.|\d-\d", text):
        return f"write [{as_flow(node)}]"
    items = ", ".join(re.findall(r"[^\s,]+", text)) if "," in text else "a, b"
    if numbers := re.fullmatch(r"range\((?:(\d{1,3}), *)?(\d{1,3})\)", text):
        items = ", ".join(map(str, range(int(numbers[1] or 0), int(numbers[2]))))
    elif numbers := re.fullmatch(r"(\d{1,3})(?:-|\.\.|:)(\d{1,3})", text):
        items = ", ".join(map(str, range(int(numbers[1]), int(numbers[2]) + 1)))
    return f"write [{items}], or one item a line with `- `"


def as_words(node: Scalar) -> list[Node]:
    """Returns the words of a program in one text, without the `python` before a script."""
    text = re.sub(r"\$?\{\{ *(?:matrix\.)?(\w+) *\}\}", r"{\1}", node.text)
    node = Scalar(node.mark, text, text)
    if re.search(r"[|;&<>]", node.text):  # a line of shell
        return [Scalar(node.mark, each, each) for each in ("bash", "-c", node.text)]
    words = re.findall(r"\"[^\"]*\"|'[^']*'|\S+", node.text)
    if re.fullmatch(r"(?!.*\.(?:py|sh)$)[a-z_]\w*(\.[a-z_]\w*)+", node.text):  # a module
        words.insert(0, "-m")
    if re.fullmatch(r"python3? (.*\.py|-m)", " ".join(words[:2])):
        words = words[1:]
    return [Scalar(node.mark, word, word) for word in (each.strip("\"'") for each in words)]


def named_values(node: Node) -> Iterator[tuple[str, Node]]:
    """Yields names and values: of a map, `[NAME=VALUE]`, `[{name: NAME, value: VALUE}]`, a text."""
    if isinstance(node, Map):
        yield from node.items.items()
    elif isinstance(node, Scalar):
        for name, value in re.findall(_PAIR, node.text) or re.findall(_NAMED, node.text):
            value = value.strip("'\"")
            yield name, Scalar(node.mark, value, unquoted(value))
    for each in node.items if isinstance(node, Seq) else ():
        items = each.items if isinstance(each, Map) else {}
        if pair := next((pair for pair in _PAIRS if set(pair) <= set(items)), None):
            yield getattr(items[pair[0]], "text", ""), items[pair[1]]
        else:
            yield from named_values(each)


def of_whole_file(name: str, node: Node, file: Any) -> tuple[str, Node]:
    """Translates a key of accelerate's, Hydra's or SkyPilot's file; other keys stay as they are."""
    items = getattr(file, "items", {})
    if name == "defaults" and isinstance(node, Seq):  # Hydra's
        return "extends", Seq(node.mark, [each for each in node.items if as_flow(each) != "_self_"])
    if name == "file_mounts" and isinstance(node, Map):  # the inside path comes first
        outside = {as_flow(each).strip('"'): inside for inside, each in node.items.items()}
        texts = [Scalar(node.mark, inside, inside) for inside in outside.values()]
        return name, Map(node.mark, dict(zip(outside, texts, strict=True)), node.keys)
    if "compute_environment" not in items:
        return name, node
    if name == "mixed_precision":
        return f"ACCELERATE_{name.upper()}", node
    kind, machines = (
        getattr(items.get(each), "text", "") for each in ("distributed_type", "num_machines")
    )
    numbers = re.fullmatch(r"(\d{1,6})/([1-9]\d{0,5})", f"{getattr(node, 'text', '')}/{machines}")
    if name == "num_processes" and re.search("GPU|FSDP|SPEED|MEGATRON", kind) and numbers:
        number = int(numbers[1]) // int(numbers[2])
        return "gpus", Scalar(node.mark, str(number), number)
    return name, node

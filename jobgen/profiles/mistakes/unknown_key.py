"""What to write instead of an unknown key: the right name at the right place, with its value."""

import json
import re

from jobgen.other_words.search import answers, path_of, places, value_hint, with_unit
from jobgen.profiles.mistakes.lines import (
    CONTAINER,
    PROGRAM,
    line_for,
    lines_for,
    placed,
    present,
    scheduler_of,
    together,
)
from jobgen.profiles.mistakes.readings import Setting, named_values, of_whole_file, right_value
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, as_flow, at, is_null, parse
from jobgen.quoting import quote

# Groups in files of other tools, whose keys belong to several groups of a profile.
_GROUPS = ("job", "slurm", "pbs", "sbatch", "qsub", "torchrun", "jobqueue", "resources", "max")
_OF_OPTIONS = (["request.directives"], ["request.chunk"])
_OPTIONS = re.compile(
    r"(#SBATCH |sbatch |qsub )?--|(-l )?(select|nodes)=|(-l )?\w+=[^=\s]+(,\w+=[^=\s]+)+$"
)
_OPTIONS_OF_BUILD = {  # which a person may take for keys of a manifest
    "submit": "--submit",
    "wait": "--wait",
    "only": "--submit --only NAME",
    "at_once": "--submit --at-once N",
    "changed": "--submit --changed",
}
_MOST = 500  # characters of a hint, and of a group that gets a hint
_VARIABLE = r"[A-Z][A-Z0-9]*_[A-Z0-9_]+|(?:nccl|rccl|fi|ucx|hf|wandb|ld)_\w+|pythonpath|cuda_home"


def key_hint(name: str, node: Node, setting: Setting) -> str:
    """Returns what to write instead of a key and its value; "" if the name is unknown."""
    if not setting.group and not setting.is_option:
        name, node = of_whole_file(name, node, setting.problems.file)
    if isinstance(node, Scalar) and (text := with_unit(name, node.text)) != node.text:
        node = Scalar(node.mark, text, text)
    if found := re.fullmatch(r"(\w+):([^\s:/]+)", name):
        return f"write `{found[1]}: {found[2]}`, with a blank after the colon"
    if hint := _by_value(f"{setting.group}.{name}", node, setting):
        return hint
    if setting.is_option:
        name = re.sub(r"[/[]|__", ".", name.strip("/")).replace("]", "").removeprefix("export ")
        if re.fullmatch(r"network\.environment\.\w+", name):
            return f"write {line_for(name, getattr(node, 'text', ''), setting)}"
        if name.endswith("+") and (hint := _added(name[:-1], node, setting)):
            return hint
    elif special := _special(name, node, setting):
        return special
    if name in ("jobs", "defaults") and not setting.is_option:
        return _other_hint(name, node, setting)
    paths = _meant_keys(name, node, setting)
    is_taken = paths != _OF_OPTIONS[0] and any(
        right_value(path_of(each), node, setting) for each in paths
    )
    text = getattr(node, "text", "")
    if re.match(r"\d+:\w+=", text):  # nodes: 2:ppn=8
        node, paths, is_taken = Scalar(node.mark, f"nodes={text}", None), _OF_OPTIONS[1], False
    is_select = bool(re.search("select=", text))
    if (is_select or not is_taken) and (hints := inner_hint(paths, node, setting)):
        return hints
    if not is_taken and (hint := of_value(paths, text, setting)):
        return hint
    if 0 < len(paths) < 4:
        hints = "; or ".join(placed(each, node, setting, name) for each in paths)
        return f"write {hints}"
    return _other_hint(name, node, setting)


def _added(name: str, node: Node, setting: Setting) -> str:
    """Returns the profile's list with a value added, as `+=` means; "" if it has no list."""
    path = f"{setting.group}.{name}".lstrip(".")
    own = at(setting.problems.file, path)
    value = right_value(path, node, setting) if path in setting.rows else ""
    new = parse(value.encode(), path) if value.startswith("[") else None
    if not (isinstance(own, Seq) and isinstance(new, Seq)):
        return ""
    return f"write {line_for(path, as_flow(Seq(node.mark, [*own.items, *new.items])), setting)}"


def _meant_keys(name: str, node: Node, setting: Setting) -> list[str]:
    """Returns the keys that a name with this value may mean; none for a group of another tool."""
    paths = [present(each, setting) for each in places(name, setting.rows, setting.group)]
    if name.endswith(".name") and name[:-5] in setting.rows:  # queue: {name: gpu}
        paths = [name[:-5]]
    if not setting.is_option and "node.gpus" in (own := [*map(path_of, paths)]) and own[1:]:
        lacks = at(setting.problems.file, "node.gpus") is None
        paths = [paths[own.index("node.gpus")] if lacks else paths[0]]
    is_of_pod = setting.group in ("node", "request") and name in ("limits", "requests")
    if (name.lower() in _GROUPS or is_of_pod) and isinstance(node, Map):
        paths = []
    names = [name for name, _ in named_values(node)]
    if paths == ["network.environment"] and names and not isinstance(node, Scalar):
        here = {key.removeprefix(f"{setting.group}.") for key in setting.rows}
        are_keys = all(each in here or answers("keys", each) for each in names)
        paths = [] if are_keys else paths
    elif paths == ["network.environment"] and setting.group == "software":
        paths = paths if "=" in as_flow(node) else ["software.conda"]
    if paths == ["node.gpu"] and getattr(node, "text", "").isdigit():
        paths = ["node.gpus"]
    if paths == [CONTAINER] and isinstance(node, Scalar):
        paths = [f"{CONTAINER}.image"]
    return paths


def of_value(paths: list[str], text: str, setting: Setting) -> str:
    """Returns the tables' hint for a word of another tool as the value of a key."""
    path = path_of(paths[0]) if paths else ""
    group = path[: path.rfind(".") + 1]
    hint = as_list(value_hint(path, text))
    hint = re.sub(r"^write `([\w-]+|\[.*?\])`", rf"write `{path[len(group) :]}: \1`", hint)
    return re.sub(r"`(\w+): ([^`]+)`", lambda it: line_for(group + it[1], it[2], setting), hint)


def as_list(hint: str) -> str:
    """Turns words with commas in a hint, as for an option, into a list, as for a file."""
    return re.sub(r"`(\w+(?:,\w+)+)`", lambda found: f"`[{found[1].replace(',', ', ')}]`", hint)


def _by_value(path: str, node: Node, setting: Setting) -> str:
    """Returns what to write for a key whose name alone means something else; else ""."""
    text, name = getattr(node, "text", ""), path.rpartition(".")[2]
    if re.search("_per_(user|account|project)$", name):
        return "`limits` are those of one job, not of a user or a project: leave it out"
    if name == "shell" and re.fullmatch(r"(#!)?(/\S*/|/usr/bin/env )?[a-z]*sh( -\w+)*", text):
        return "jobgen writes the first line of a script, which is for bash: leave it out"
    if not text or scheduler_of(setting) == "pbs":
        return ""
    if path == "request.network":
        value = json.dumps([f"--network={text}"])
        return f"write {line_for('launch.srun_options', value, setting)}"
    if name in ("gres", "slurm_gres") and "gpu" not in text:
        values = {"request.directives": json.dumps([f"--gres={text}"])}
        if at(setting.problems.file, "request.gpu_option") is None:  # the default is --gres, too
            values["request.gpu_option"] = "gpus-per-node"
        return f"write {lines_for(values, setting)}"
    return ""


def _special(name: str, node: Node, setting: Setting) -> str:
    """Returns what to write for a name if that depends on the value or the group, too; else ""."""
    text, last = getattr(node, "text", ""), name.rpartition(".")[2]
    for item in answers("items", last) if text else ():
        path, _, option = item.partition(" ")
        line = json.dumps(option.format(re.sub("^slurm_", "", last).replace("_", "-"), text))
        return f"write {line_for(path, f'[{line}]', setting)}"
    python = re.fullmatch(r"(?:source |\. )?(.+)/bin/(?:python[\d.]*|activate)", text)
    if python and re.search("python|activate|env", name) and "software.venv" in setting.rows:
        return f"write {line_for('software.venv', python[1], setting)}"
    scheduler = re.fullmatch(
        r"write `scheduler: (\w+)`|(slurm|pbs)", value_hint("scheduler", text) or text
    )
    if scheduler and re.fullmatch(r"(scheduler\.)?(type|kind|provider|name)|cluster", name):
        return f"write {line_for('scheduler', scheduler[1] or scheduler[2], setting)}"
    groups = getattr(setting.problems.file, "items", {}).values()
    clusters = [each for each in groups if "scheduler" in getattr(each, "items", ())]
    if clusters[1:] and node in clusters:
        return f"a profile is of one cluster: write these keys alone into a file {name}.yaml"
    group, _, last = f"{setting.group}.{name}".strip(".").rpartition(".")
    engines = getattr(getattr(setting.rows.get(f"{CONTAINER}.engine"), "kind", None), "words", ())
    if text not in engines and (sentences := answers("sentences", f"{group}.{last}")):
        return sentences[0]
    names = [getattr(each, "text", "") for each in node.items] if isinstance(node, Seq) else []
    if isinstance(node, Map) and all(map(is_null, node.items.values())):
        names = [*node.items]
    is_environment = places(name, setting.rows, setting.group) == ["network.environment"]
    if names and is_environment and all(re.fullmatch(r"\w+", each) for each in names):
        return f"it is each job's own: {' '.join(f'-e {each}' for each in names)}"
    if (engine := name.lower()) in engines and isinstance(node, Map):
        inner = inner_hint([CONTAINER], node, setting)
        return re.sub("engine: \\w+", f"engine: {engine}", inner, count=1)
    return ""


def inner_hint(paths: list[str], node: Node, setting: Setting) -> str:
    """Returns one hint for a group of unknown keys, or for a text of options (`-N 2 -G 4`)."""
    if isinstance(node, Seq) and not paths and (pairs := dict(named_values(node))):
        node = Map(node.mark, pairs, dict.fromkeys(pairs, node.mark))
    if isinstance(node, Seq) and len(node.items) == 1 and isinstance(node.items[0], Map):
        node = node.items[0]
    text = getattr(node, "text", "")
    is_options = paths in (*_OF_OPTIONS, []) and bool(_OPTIONS.match(text))
    is_short = len(as_flow(node)) < _MOST  # the hint for each key takes a while
    named = dict(named_values(node)) if is_short and (is_options or isinstance(node, Map)) else {}
    hints, group = [], f"{path_of(paths[0])}." if len(paths) == 1 and not is_options else ""
    for each, value in sorted(named.items(), key=lambda it: it[0] != "image")[:12]:
        hint = key_hint(f"{group}{each}", value, setting)
        if not hint and paths in _OF_OPTIONS:
            line = json.dumps(f"--{each}={getattr(value, 'text', '')}")
            item = f"{{{each}: {as_flow(value)}}}" if paths == _OF_OPTIONS[1] else f"[{line}]"
            hint = f"write {line_for(paths[0], item, setting)}"
        hints += [hint] * (bool(hint) and "…" not in hint.partition("; or ")[0])
    if not setting.group and any(re.search("(?:of|below) `", each) for each in hints):
        hints = [re.sub(r"^write `\w+: [^`{}]+`$", r"\g<0> at the top level", it) for it in hints]
    return together(hints)


def _other_hint(name: str, node: Node, setting: Setting) -> str:
    """Returns what to write instead of a key that has no place in a profile."""
    is_manifest = "defaults.set" in setting.rows
    group = setting.group or "defaults"
    if is_manifest and (words := _OPTIONS_OF_BUILD.get(name.replace("-", "_"))):
        return f"an option of build: jobgen build {words}"
    for path in map(path_of, answers("keys", name) if is_manifest else ()):
        if path == "extends":
            return "a manifest is one file: put what several jobs have below `defaults:`"
        return f"write `set: {{{path}: {as_flow(node)}}}`"
    for option in answers("options", name):
        key = option.split(" ")[0].lstrip("-") or "program"
        if is_manifest and f"{group}.{key}" in setting.rows:
            return f"write {placed(f'{group}.{key}', node, setting, name)}"
        if program := re.fullmatch(PROGRAM, getattr(node, "text", "")):
            option = f"-- {program[1]}" if option == "-- PROGRAM" else option
        option = option.replace(" NAME", f" {quote(as_flow(node))}")
        text = re.sub("^after(ok|any)?:", "", getattr(node, "text", ""))
        if re.fullmatch(r"\d+" if option.endswith(("ID", "=N")) else r"\d[\d,]*-[\d,%:-]+", text):
            option = re.sub("FIRST-LAST$|ID$|(?<==)N$", text, option)
        if option == "--profile PROFILE" and not is_manifest:
            return "this file is the profile of the cluster: leave it out"
        if is_manifest and option in ("--submit", "--wait"):
            return f"an option of build: jobgen build {option}"
        return "a job's name is its key" if is_manifest else f"it is each job's own: {option}"
    if sentences := answers("sentences", name):
        return sentences[0]
    last = name.rpartition(".")[2]
    if re.fullmatch(_VARIABLE, last):
        value = f"{{{last.upper()}: {as_flow(node)}}}"
        return f"write {line_for('network.environment', value, setting)}"
    return ""

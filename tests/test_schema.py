"""The JSON Schema and the checker come from the same rows, and accept the same files.

The schema cannot see three kinds of mistake: what is wrong as YAML (duplicates, anchors), what
only a profile with all its bases shows (missing bases, values that exclude each other), and a time
with a unit that is out of range (`stall: 20d`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen.errors import JobgenError, Mark
from jobgen.paths import bundled
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Record, rows_of
from jobgen.profiles.schema.document import FILE, schema_document
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, parse
from tests.helpers import jobgen
from tests.language_server import Editor

SCHEMA = schema_document()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
OFFER = Path(__file__).parent.parent / "packaging/schemastore"
BAD = Path(__file__).parent / "errors"
STRUCTURE_IS_RIGHT = {
    "bad-extends",
    "bad-base",
    "names-base-path",
    "cycle-a",
    "cycle-b",
    "conflicts",
    "cores",
    "ce",
    "engines",
    "good",
    "jobs-constraint",
    "jobs-limits",
    "jobs-memory",
    "jobs-name",
    "jobs-option",
    "jobs-pbs",
    "jobs-several",
    "jobs-slurm",
    "jobs-torque",
    "jobs-without-select",
    "keys",
    "keys-directive",
    "names-own-variables",
    "names-pbs-lines",
    "keys-numa",
    "keys-option",
    "keys-pbs",
    "keys-pbs-gpus",
    "keys-starter",
    "lock",
    "pyxis",
    "torque-whole",
    "without-select",
}


def plain(node: Node) -> Any:
    """The data that a YAML reader of the same rules would give."""
    if isinstance(node, Map):
        return {name: plain(child) for name, child in node.items.items()}
    return [plain(child) for child in node.items] if isinstance(node, Seq) else node.value


def accepted(tree: Node) -> bool:
    problems = ProblemList()
    ROOT.read(tree, problems)
    return not problems.found


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", sorted(bundled("profiles").rglob("*.yaml")), ids=lambda f: f.stem)
def test_both_accept_the_bundled_profiles(file: Path) -> None:
    tree = parse(file.read_bytes(), file.name)
    assert (accepted(tree), VALIDATOR.is_valid(plain(tree))) == (True, True)


@pytest.mark.parametrize("file", sorted(BAD.glob("*.yaml")), ids=lambda f: f.stem)
def test_both_refuse_wrong_profiles(file: Path) -> None:
    try:
        tree = parse(file.read_bytes(), file.name)
    except JobgenError:
        return  # wrong as YAML: the schema gets no data
    is_right = file.stem in STRUCTURE_IS_RIGHT
    assert (accepted(tree), VALIDATOR.is_valid(plain(tree))) == (is_right, is_right)


def test_every_row_is_documented() -> None:
    def walk(cls: type) -> None:
        for name, row in rows_of(cls):
            assert row.doc.endswith("."), (cls, name)
            if isinstance(row.kind, Record):
                walk(row.kind.cls)

    walk(ROOT.cls)


WORDS = ["slurm", "local", "nvidia", "none", "gres", "all", "440G", "1:30:00", "90", "2-12", "x/y"]
WORDS += ["10m", "10 min", "1d12h30", "100GB", "100 GiB", "1.5T", "0.0T", "64k"]
WORDS += [
    "-x",
    "a b",
    "",
    "null",
    "c10d",
    "/a:/b",
    "a\nb",
    "a\n",
    "hsn0",
    "0",
    "1-2-3",
    "é",
    "\x00",
]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 70000), st.sampled_from(WORDS)),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=2)
    ),
    max_leaves=4,
)


def data_like(kind: Any) -> st.SearchStrategy[Any]:
    """Data that a kind may take, or nearly."""
    if isinstance(kind, Record):
        rows = {name: data_like(row.kind) for name, row in rows_of(kind.cls)}
        return st.fixed_dictionaries({}, optional={**rows, "unknown": VALUES}) | VALUES
    if inner := getattr(kind, "item", None):
        return st.lists(data_like(inner), max_size=3) | VALUES
    if inner := getattr(kind, "value", None):
        return st.dictionaries(
            st.sampled_from(["A", "NCCL_NET", "a-b"]), data_like(inner), max_size=2
        )
    words = getattr(kind, "words", None)
    return st.sampled_from(words) | VALUES if words else VALUES


def tree_of(data: Any) -> Node:
    mark = Mark("generated")
    if isinstance(data, dict):
        return Map(mark, {k: tree_of(v) for k, v in data.items()}, dict.fromkeys(data, mark))
    if isinstance(data, list):
        return Seq(mark, [tree_of(item) for item in data])
    words = {None: "null", True: "true", False: "false"}
    special = data is None or isinstance(data, bool)
    return Scalar(mark, words[data] if special else str(data), data)


@pytest.mark.slow
@settings(max_examples=400)
@given(data_like(ROOT))
def test_both_agree_on_any_data(data: Any) -> None:
    assert accepted(tree_of(data)) == VALIDATOR.is_valid(data)


def parts(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, with its path."""
    if isinstance(schema, dict):
        yield path, schema
        for name, child in schema.items():
            yield from parts(child, f"{path}/{name}")
    elif isinstance(schema, list):
        for child in schema:
            yield from parts(child, path)


def test_no_message_says_only_that_nothing_fits() -> None:
    """The message "is not valid under any of the given schemas" comes from these words."""
    for path, part in parts(SCHEMA):
        assert not {"anyOf", "oneOf", "not", "allOf"} & set(part), path


def test_every_key_has_a_description_and_an_example_that_is_right() -> None:
    count = 0
    for path, part in parts(SCHEMA):
        if not path.endswith("/properties"):
            continue
        for name, key in part.items():
            assert key["description"].endswith("."), name
            if "properties" in key:  # a group
                continue
            (example,) = key["examples"]
            jsonschema.Draft7Validator(key).validate(example)
            jsonschema.Draft7Validator(key).validate(key.get("default"))
            count += 1
    assert count > 70
    for snippet in SCHEMA["defaultSnippets"]:
        VALIDATOR.validate(snippet["body"])


# A wrong profile, the path of the wrong value, and what a message about it says.
WRONG = {
    "scheduler: slurmm": ("scheduler", "expected one of: slurm, pbs, local"),
    "nod: {gpus: 4}": ("", "('nod' was unexpected)"),
    "node: {gpu: 4}": ("node.gpu", "expected one of: nvidia, amd, intel, none"),
    "node: {cpus: many}": ("node.cpus", "expected a whole number, 1 to 65533"),
    "node: {memory: 64}": ("node.memory", "expected a size, such as 512G"),
    "partition: -x": ("partition", "expected text without blanks that does not begin with -"),
    "account: $ME": ("account", "$NAME is not replaced in it"),
    "limits: {time: [1]}": ("limits.time", "expected a walltime: 90m, 24h, 1d12h, 1:30:00 or"),
    "request: {time: 1h30}": ("request.time", "expected a walltime: 90m, 24h, 1d12h, 1:30:00"),
    'request: {memory: "64"}': ("request.memory", "expected `all`, or a size such as 440G"),
    "request: {exclusive: 3}": ("request.exclusive", "expected true or false"),
    "request: {mail_on: now}": ("request.mail_on", "expected some of: begin, end, fail"),
    "network: {interface: a b}": ("network.interface", "a network interface, such as hsn0"),
    "network: {port: 80}": ("network.port", "80 is less than the minimum of 1024"),
    "network: {environment: {A-B: 1}}": ("network.environment", "the name of a variable: letters"),
    "network: {environment: {A: {valu: 1}}}": ("network.environment.A", "('valu' was unexpected)"),
    "software: {modules: python}": ("software.modules", "expected a list, as [a, b]"),
    "software: {venv: [a]}": ("software.venv", "expected a path without `:`"),
    "launch: {launcher: mpirun}": ("launch.launcher", "expected one of: torchrun, srun, mpiexec"),
    "workspace: {commit: main}": ("workspace.commit", "a whole commit id"),
    "extends: [a, {}]": ("extends.1", "expected text without blanks"),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_value_has_a_message_with_its_key_and_what_is_right(text: str) -> None:
    """jsonschema shows the part of the schema; an editor shows its `errorMessage` alone."""
    path, message = WRONG[text]
    (error,) = VALIDATOR.iter_errors(plain(parse(text.encode(), "wrong")))
    assert ".".join(map(str, error.absolute_path)) == path
    assert message in " ".join((error.message, error.schema.get("errorMessage", "")))


def test_the_offer_for_schemastore_is_what_jobgen_prints(update: bool) -> None:
    """It follows the rules of SchemaStore's CONTRIBUTING.md and cli.js."""
    schema = OFFER / "jobgen-profile.json"
    entry = json.loads((OFFER / "catalog-entry.json").read_text())
    printed = jobgen("profiles", "schema").stdout
    if update:
        schema.write_bytes(printed)
    assert schema.read_bytes() == printed
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert SCHEMA["$id"] == entry["url"] == f"https://json.schemastore.org/{schema.name}"
    assert set(entry) == {"name", "description", "fileMatch", "url"}
    for text in (entry["name"], entry["description"]):
        assert "schema" not in text.lower()
        assert text[-1] not in ",. -"
    assert all(glob.startswith("**/") for glob in entry["fileMatch"])
    options = json.loads((OFFER / "schema-validation.json").read_text())
    assert options["ajvNotStrictMode"] == [schema.name]
    assert list(options["options"]) == [schema.name]


def test_javascript_reads_every_pattern(tmp_path: Path) -> None:
    """Editors do: with and without the flag `u`."""
    if not shutil.which("node"):
        pytest.skip("no node on this machine")
    patterns = sorted({part["pattern"] for _, part in parts(SCHEMA) if "pattern" in part})
    assert len(patterns) > 10
    code = f"for (const p of {json.dumps(patterns)}) {{ new RegExp(p); new RegExp(p, 'u') }}"
    subprocess.run(["node", "-e", code], check=True)


@pytest.mark.slow
def test_an_editor_shows_these_messages(tmp_path: Path) -> None:
    """yaml-language-server itself, with the line and the file of `jobgen detect`."""
    if not shutil.which("yaml-language-server"):
        pytest.skip("no yaml-language-server on this machine (npm install -g yaml-language-server)")
    (tmp_path / FILE).write_text(json.dumps(SCHEMA))
    texts = [text for text, (path, _) in WRONG.items() if path and "valu" not in text]
    with Editor(["yaml-language-server", "--stdio"], tmp_path) as editor:
        for number, text in enumerate(texts):
            line = f"# yaml-language-server: $schema={FILE}\n{text}\n"
            (message,) = editor.messages(f"{number}.yaml", line)
            expected = WRONG[text][1].replace("80 is less than", "Value is below")
            assert expected in message, text
        head = f"# yaml-language-server: $schema={FILE}\n"
        assert editor.messages("good.yaml", f"{head}scheduler: slurm\n") == []
        assert "Property nod is not allowed" in editor.messages("key.yaml", f"{head}nod: 1\n")[0]
        editor.messages("hover.yaml", f"{head}network: {{interface: a}}\n")
        assert "The interface for the addresses" in editor.hover("hover.yaml", 1, 12)

"""The whole JSON Schema of a profile, with the keywords that editors understand.

No part of it is an `anyOf`: for a wrong value, an editor would say only that it is "not valid
under any of the given schemas". `errorMessage`, `markdownDescription` and `defaultSnippets` are of
yaml-language-server and Visual Studio Code; other editors ignore them, or show them in the error.
"""

from jobgen.profiles.kinds import Bool, Choice, Int, Kind, Schema, SomeOf
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Key, ListOf, MapOf, Record, rows_of
from jobgen.profiles.yaml_tree import parse, plain_value

# SchemaStore's rule for the name of a schema that it serves; see packaging/schemastore.
ID = "https://json.schemastore.org/jobgen-profile.json"
FILE = "jobgen.schema.json"  # `jobgen detect` writes this file beside a profile
_SNIPPETS = {
    "A cluster with Slurm": {"scheduler": "slurm", "partition": "gpu"},
    "A cluster with PBS": {"scheduler": "pbs", "queue": "gpu"},
}
_NODE = {"cpus": 64, "gpus": 4, "gpu": "nvidia"}


def schema_document() -> Schema:
    """The JSON Schema (draft 7, which most editors have) of a profile's file."""
    schema = ROOT.schema()
    _describe(schema, ROOT.cls)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ID,
        "title": "jobgen profile",
        "description": "A cluster, for which jobgen writes batch scripts of PyTorch jobs.",
        "defaultSnippets": [
            {"label": label, "description": label, "body": {**body, "node": _NODE}}
            for label, body in _SNIPPETS.items()
        ],
        **schema,
    }


def _describe(schema: Schema, cls: type) -> None:
    """Add to each key of a record its example, its default, and its description as Markdown."""
    for name, row in rows_of(cls):
        child = schema["properties"][name]
        if "`" in child["description"]:
            child["markdownDescription"] = child["description"]
        if isinstance(row.kind, Record):
            _describe(child, row.kind.cls)
            continue
        text = row.example or _example_of(row.kind, str(row.default))
        child["examples"] = [plain_value(parse(text.encode(), "example"))]
        if row.default not in (None, "", (), {}):
            child["default"] = row.default
        if isinstance(row.kind, MapOf) and isinstance(row.kind.value, Record):
            _describe(child["additionalProperties"], row.kind.value.cls)


def example(key: Key) -> str:
    """Returns an example of a key's value, as YAML."""
    return key.row.example or _example_of(key.row.kind, key.default)


def _example_of(kind: Kind, default: str) -> str:
    if isinstance(kind, SomeOf):
        return f"[{', '.join(kind.words[-2:])}]"
    if isinstance(kind, Choice):
        return next(word for word in kind.words if word != default)
    if isinstance(kind, Bool):
        return "false" if default == "true" else "true"
    if isinstance(kind, Int):
        return str(min(max(kind.low, 4), kind.high or 4))
    assert isinstance(kind, ListOf), "the row of a text needs an example"
    return f"[{_example_of(kind.item, '')}]"

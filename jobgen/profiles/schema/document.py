"""The whole JSON Schema, in the words that editors understand.

No part of it is an `anyOf`: of a wrong value, a reader would learn that it is "not valid under any
of the given schemas". `errorMessage`, `markdownDescription` and `defaultSnippets` are of
yaml-language-server and Visual Studio Code; others pass them over, or show them with the error.
"""

from __future__ import annotations

from typing import Any

from jobgen.profiles.kinds import Schema
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Key, MapOf, Record, Row, rows_of
from jobgen.profiles.schema.examples import example
from jobgen.profiles.yaml_tree import parse, plain_value

# SchemaStore's rule for the name of a schema that it serves; see packaging/schemastore.
ID = "https://json.schemastore.org/jobgen-profile.json"
FILE = "jobgen.schema.json"  # the name that `jobgen detect` gives it, beside a profile
# Of the keys below a free name, which have no page of their own.
_INNER_EXAMPLES = {
    "value": "INFO",
    "why": "NCCL's choice of a network is in the output.",
    "nodes": "several",
}
_SNIPPETS = {
    "A cluster with Slurm": {"scheduler": "slurm", "partition": "gpu"},
    "A cluster with PBS": {"scheduler": "pbs", "queue": "gpu"},
}
_NODE = {"cpus": 64, "gpus": 4, "gpu": "nvidia"}


def schema_document() -> Schema:
    """The JSON Schema (draft 7, which most editors have) of a profile's file."""
    schema = ROOT.schema()
    _describe(schema, ROOT.cls, "")
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


def _describe(schema: Schema, cls: type, path: str) -> None:
    """Add to each key of a record its example, its default, and its description as Markdown."""
    for name, row in rows_of(cls):
        key, child = f"{path}{name}", schema["properties"][name]
        if "`" in child["description"]:
            child["markdownDescription"] = child["description"]
        if isinstance(row.kind, Record):
            _describe(child, row.kind.cls, f"{key}.")
            continue
        child["examples"] = [_example(key, name, row)]
        if row.default not in (None, "", (), {}):
            child["default"] = row.default
        if isinstance(row.kind, MapOf) and isinstance(row.kind.value, Record):
            _describe(child["additionalProperties"], row.kind.value.cls, f"{key}.NAME.")


def _example(path: str, name: str, row: Row) -> Any:
    text = _INNER_EXAMPLES[name] if ".NAME." in path else example(Key(path, row, str(row.default)))
    return plain_value(parse(text.encode(), "example"))

"""jobgen writes the batch script for a multi-node PyTorch job.

In Python: `jobgen.script`, `jobgen.plan`, `jobgen.advice` and `jobgen.submit`; docs/api.md explains
them, and `__init__.pyi` has their types.
"""

__version__ = "1.1.0"
__all__ = [
    *("End", "JobgenError", "Plan", "Problem", "SubmittedJob", "Verdict", "__version__"),
    *("advice", "plan", "script", "submit"),
]

_MODULES = {
    "advice": "jobgen.api.calls",
    "plan": "jobgen.api.calls",
    "script": "jobgen.api.calls",
    "submit": "jobgen.api.calls",
    "End": "jobgen.api.job",
    "SubmittedJob": "jobgen.api.job",
    "Verdict": "jobgen.api.job",
    "JobgenError": "jobgen.errors",
    "Problem": "jobgen.errors",
    "Plan": "jobgen.planning.plan",
}


def __getattr__(name: str) -> object:
    """A public name, imported when it is first used: `import jobgen` alone imports nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'jobgen' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names, too, for the completion of an interactive Python."""
    return sorted({*globals(), *__all__})

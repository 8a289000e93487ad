"""Jinja's environments: a fast one for jobgen's own templates, a sandbox for all others."""

from __future__ import annotations

from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.sandbox import ImmutableSandboxedEnvironment

from jobgen.planning.plan import Launch, Network, Node, Plan, Request, Software, Variable
from jobgen.planning.program import Program
from jobgen.profiles.software_keys import Container, Workspace
from jobgen.scripts.compiled_templates import CompiledTemplates
from jobgen.scripts.filters import FILTERS, Raw, print_value

# Records whose attributes a template may read directly: they have no method that changes anything.
_RECORDS = frozenset(
    (Plan, Node, Request, Software, Network, Launch, Variable, Program, Container, Workspace)
)


def _joined(pieces: Any) -> Raw:
    """Jinja joins the pieces of a block, a macro or `super()`: what a template wrote itself."""
    return Raw("".join(pieces))


class _DirectAttributes(CodeGenerator):
    """Compiles `a.b` to Python's own: Jinja calls a function for each, some hundred a script."""

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        self.visit(node.node, frame)
        self.write(f".{node.attr}")


class _Environment(jinja2.Environment):
    """Records which templates a script is made of, those that it extends and includes, too."""

    concat = staticmethod(_joined)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.used: list[str] = []

    def get_template(self, name: Any, *others: Any, **more: Any) -> jinja2.Template:
        self.used.append(str(name))
        return super().get_template(name, *others, **more)


class OwnEnvironment(_Environment):
    """For jobgen's own templates: asking a sandbox takes most of the time of a script."""

    code_generator_class = _DirectAttributes


class SandboxedEnvironment(_Environment, ImmutableSandboxedEnvironment):
    """For templates of a project, of a user, or of --template."""

    intercepted_binops = frozenset({"**"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An attribute of a plan's record, or what the sandbox answers.

        Asking the sandbox takes most of the time of a script.
        """
        if type(obj) in _RECORDS and attribute[0] != "_":
            try:
                return getattr(obj, attribute)
            except AttributeError:  # the sandbox's message names it
                pass
        return super().getattr(obj, attribute)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """A power, but not one of thousands of digits, which no time limit could interrupt."""
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > 4096:
            raise OverflowError("a power of more than 4096 bits")
        return super().call_binop(context, operator, left, right)


def make_environment(
    loader: jinja2.BaseLoader, is_own: bool, in_memory: bool = False
) -> OwnEnvironment | SandboxedEnvironment:
    """The environment for jobgen's own templates, or for others; see `CompiledTemplates`."""
    kind = OwnEnvironment if is_own else SandboxedEnvironment
    environment = kind(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        finalize=print_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=CompiledTemplates("own" if is_own else "sandboxed", in_memory),
    )
    environment.filters.update(FILTERS)
    # A script comes out the same each time.
    del environment.filters["random"], environment.globals["lipsum"]
    return environment

"""The script ends while its run is still in the background."""

from jobgen.lint.rules import Findings, Script, finding_at

_NO_WAIT = ("echo", "date", "printf", "true", ":", "exit", "deactivate")
# Where a function, or a branch that is not taken, may hold what seems to be last.
_UNCERTAIN = {"function_definition", "if_statement", "case_statement", "command_substitution"}


def check(script: Script) -> Findings:
    own = script.own_commands
    if not script.active_directives or any(command.name in ("wait", "fg") for command in own):
        return
    others = [command for command in own if command.name not in _NO_WAIT]
    last = max(others, key=lambda command: command.offset, default=None)
    if last and "background" in last.enclosing and not last.enclosing & _UNCERTAIN:
        text = f"the script ends here, and the job with it: nothing waits for `{last.name}`"
        yield finding_at(last, text, "add `wait` at the end")

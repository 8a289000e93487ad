"""Writes jobgen/lint/options/TOOL.txt: the options of a tool, and the versions that have them.

The options are read from the tool's sources, in a clone with its tags or branches:

    python packaging/options.py slurm FOLDER > jobgen/lint/options/slurm.txt

TOOL is slurm, openpbs, torque, torch, accelerate or deepspeed. Of each version, the newest release
is read. An option that was changed is written as in the newest version that has it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

NO_VALUE = {"store_true", "store_false", "store_const", "count", "help", "version", "check_env"}


class Option(NamedTuple):
    """An option: its name, what is written behind it ("", "=" or "[=]"), and its letter."""

    name: str
    argument: str
    letter: str = ""


Parse = Callable[[str, str], Iterable[Option]]  # from a file's text and the command's name


class Tool(NamedTuple):
    """Where a tool's options are: `files` has the path and the parser for each command."""

    title: str
    release: str  # the pattern of a release's tag or branch; its groups make the version
    files: dict[str, tuple[tuple[str, Parse], ...]]


_ARGUMENTS = {"no": "", "required": "=", "optional": "[=]"}


def slurm_options(text: str, command: str) -> Iterator[Option]:
    """The options in slurm_opt.c that a command has."""
    for body in re.findall(r"slurm_cli_opt_t slurm_opt_\w+ = \{(.*?)\n\};", text, re.DOTALL):
        # A name that stands in #else is that of a Slurm without the option.
        fields = dict(reversed(re.findall(r"\.(\w+)\s*=\s*([^,\n]+)", body)))
        name = fields["name"].strip('"')
        if name != "NULL" and fields.keys() & {"set_func", f"set_func_{command}"}:
            argument = _ARGUMENTS[fields["has_arg"].partition("_")[0]]
            letter = re.fullmatch("'(.)'", fields["val"])
            yield Option(f"--{name}", argument, letter[1] if letter else "")


def long_options(text: str, command: str) -> Iterator[Option]:
    """The options in a table of getopt_long(3); sbatch has another table for PBS's options."""
    table = re.search(r"\blong_options\[\] = \{(.*?)\n\s*\};", text, re.DOTALL)
    row = r"\{\s*\"([\w-]+)\"\s*,\s*(no|required|optional)_argument\s*,[^,]*,\s*(?:'(\w)')?"
    for name, argument, letter in re.findall(row, table[1] if table else ""):
        yield Option(f"--{name}", _ARGUMENTS[argument], letter)


def letters(text: str, command: str) -> Iterator[Option]:
    """The options in a string for getopt(3); several strings are for several systems."""
    for string in re.findall(r"GETOPT_ARGS\w*(?:\[\] =)? \"([\w:-]+)\"", text):
        for letter, colon in re.findall(r"(\w)(:?)", string):
            yield Option(f"-{letter}", "=" if colon else "")


def resources(text: str, command: str) -> Iterator[Option]:
    """The resources that the server itself knows; a site may add others."""
    names = re.findall(r"<member_name>\s*(?:<both>)?\"(\w+)\"", text)
    names = names or re.findall(r"(?m)^ *\{?\s*\"(\w+)\"\s*,", text)
    return (Option(name, "=") for name in names if not name.startswith("|"))


def argparse_options(text: str, command: str) -> Iterator[Option]:
    """The options that a program adds to a parser of argparse."""
    has_hyphens = "CustomArgumentParser" in text  # accelerate's takes --num-machines, too
    if text and "add_help=False" not in text:
        yield Option("--help", "", "h")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "add_argument":
            continue
        names = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
        words = {word.arg: ast.unparse(word.value).strip("'\"") for word in node.keywords}
        has_value = words.get("action", "store") not in NO_VALUE and words.get("nargs") != "0"
        letter = next((name[1:] for name in names if re.fullmatch("-[A-Za-z]", name)), "")
        for name in [name for name in names if name.startswith("--")]:
            own_letter, letter = letter, ""  # the first name has it
            yield Option(name, "=" if has_value else "", own_letter)
            if has_hyphens and "_" in name:
                yield Option(name.replace("_", "-"), "=" if has_value else "")


def _of_slurm(command: str, folder: str) -> tuple[tuple[str, Parse], ...]:
    return ("src/common/slurm_opt.c", slurm_options), (f"src/{folder}/opt.c", long_options)


TOOLS = {
    "slurm": Tool(
        "Slurm",
        r"slurm-(\d+-\d+)-(\d+)-\d+",
        {
            "sbatch": _of_slurm("sbatch", "sbatch"),
            "salloc": _of_slurm("salloc", "salloc"),
            "srun": _of_slurm("srun", "srun/libsrun"),
        },
    ),
    "openpbs": Tool(
        "OpenPBS, and PBS Professional up to 19.1",
        r"v(\d+\.\d+)\.(\d+)",
        {
            "qsub": (("src/cmds/qsub.c", letters), ("src/cmds/qsub_sup.c", letters)),
            "qsub -l": tuple(
                (f"src/{folder}/master_resc_def_all.xml", resources)
                for folder in ("lib/Libattr", "server")
            ),
        },
    ),
    "torque": Tool(
        "Torque",
        r"(\d+\.\d+)\.(\d+)",
        {
            "qsub": (("src/cmds/qsub_functions.c", letters), ("src/cmds/qsub.c", letters)),
            "qsub -l": (("src/server/resc_def_all.c", resources),),
        },
    ),
    "torch": Tool(
        "torchrun and torch.distributed.launch",
        r"v(\d+\.\d+)\.(\d+)",
        {
            "torchrun": (
                ("torch/distributed/run.py", argparse_options),
                ("torch/distributed/launch.py", argparse_options),
            )
        },
    ),
    "accelerate": Tool(
        "accelerate launch",
        r"v(\d+\.\d+)\.(\d+)",
        {"accelerate launch": (("src/accelerate/commands/launch.py", argparse_options),)},
    ),
    "deepspeed": Tool(
        "deepspeed",
        r"v(\d+\.\d+)\.(\d+)",
        {"deepspeed": (("deepspeed/launcher/runner.py", argparse_options),)},
    ),
}


def git(folder: str, *words: str) -> str:
    """What git says; "" for a file that is not there."""
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


def newest_releases(refs: Iterable[str], pattern: str) -> dict[str, str]:
    """The tag or branch of the newest release of each version, in the order of the versions."""
    newest: dict[tuple[int, ...], tuple[int, str]] = {}
    for ref in refs:
        if found := re.fullmatch(f"refs/(?:tags|heads|remotes/origin)/{pattern}", ref):
            version = tuple(int(number) for number in re.findall(r"\d+", found[1]))
            newest[version] = max(newest.get(version, (-1, "")), (int(found[2]), ref))
    numbers = {version: re.findall(r"\d+", newest[version][1]) for version in newest}
    return {".".join(numbers[each][:2]): newest[each][1] for each in sorted(newest)}


def lines(command: str, found: dict[str, list[Option]]) -> Iterator[str]:
    """The lines of a command; `found` has its options in each version."""
    versions = list(found)
    newest = {option.name: option for version in versions for option in found[version]}
    yield f"\n{command}"
    for name, option in sorted(newest.items(), key=lambda each: (each[0].lower(), each[0])):
        having = [each for each in versions if name in {one.name for one in found[each]}]
        line = f"{name}{option.argument}" + f" -{option.letter}" * bool(option.letter)
        line += f" since {having[0]}" * (having[0] != versions[0])
        yield line + f" until {having[-1]}" * (having[-1] != versions[-1])


def text_of(name: str, folder: str) -> str:
    """The text of a tool, from a clone of its repository."""
    tool = TOOLS[name]
    refs = git(folder, "for-each-ref", "--format=%(refname)").split()
    releases = newest_releases(refs, tool.release)
    found: dict[str, dict[str, list[Option]]] = {command: {} for command in tool.files}
    for version, ref in releases.items():
        for command, files in tool.files.items():
            options = [
                option
                for path, parse in files
                for option in parse(git(folder, "show", f"{ref}:{path}"), command)
            ]
            if options:
                found[command][version] = options
    versions = [each for each in releases if all(each in one for one in found.values())]
    paths = dict.fromkeys(path for files in tool.files.values() for path, _ in files)
    text = f"The options of {tool.title}, from {', '.join(paths)}.\n"
    text += f"packaging/options.py {name} writes this file; lint/options reads it.\n\n"
    text += f"versions {' '.join(versions)}\n"
    for command, by_version in found.items():
        by_version = {version: by_version[version] for version in versions}
        text += "".join(f"{line}\n" for line in lines(command, by_version))
    return text


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in TOOLS:
        sys.exit(f"usage: options.py {'|'.join(TOOLS)} FOLDER")
    sys.stdout.write(text_of(*sys.argv[1:]))

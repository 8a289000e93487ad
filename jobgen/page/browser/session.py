"""Answers the page's questions: a form's script, drawing, defaults and limits; lint's findings."""

import io
import json
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.errors import JobgenError
from jobgen.generator import Generator, find_profiles
from jobgen.page.browser.fields import all_fields
from jobgen.page.browser.form import OwnProfile, clean, command_of, messages, words_of
from jobgen.page.browser.syntax_tree import install
from jobgen.planner.amounts import gpus_per_node
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.parser import parse_command
from jobgen.profiles.model import Profile
from jobgen.profiles.records import value_at
from jobgen.profiles.resolve import Resolved
from jobgen.quoting import quote

MACHINERY = "# ==== machinery of jobgen"  # begins the part of a script that people need not read
LINTED = "script.sh"  # the name of a pasted script in findings


class Output(NamedTuple):
    """The exit code and the output of a command."""

    exit_code: int
    stdout: str
    stderr: str


class Session:
    """Runs jobgen in this process; `run` is the main function, which reads sys.argv and exits."""

    def __init__(self, run: Callable[[], object], parse: Any = None) -> None:
        self._run = run
        self._own_profile = OwnProfile()
        if parse is not None:
            install(parse)

    def answer(self, question: str) -> str:
        """The answer to a question, both as JSON; the question's `kind` is `form` or `lint`."""
        fields = json.loads(question)
        try:
            found = {"form": self.form, "lint": self.lint}[fields["kind"]](fields)
        except Exception:  # a bug in jobgen: the page shows the traceback
            found = {"fault": traceback.format_exc()}
        return json.dumps(found)

    def form(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The script of a form with its command and drawing, or messages for its fields.

        The answer has the defaults and limits of the profile, too, unless the profile is wrong.
        """
        form = clean(question["form"])
        command, words = "sbatch", list[str]()
        beside: dict[str, Any] = {"defaults": {}, "limits": {}}
        try:
            profile = self._own_profile.name_of(form)
            command = command_of(profile)
            beside |= facts(profile, form) if profile else {}
            words = words_of(form, profile, command)
            output = self.run(words)
        except JobgenError as error:
            output = Output(error.exit_code, "", str(error))
        upper, mark, machinery = output.stdout.partition(MACHINERY)
        return {
            "drawing": None if output.exit_code else _drawing(words),
            **beside,
            "command": command,
            "line": " ".join(map(quote, words)),
            "exit": output.exit_code,
            "upper": upper,
            "machinery": mark + machinery,
            "messages": messages(output.stderr, form, output.exit_code != 0),
        }

    def lint(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The findings of lint in a script, and their summary."""
        text = clean({"text": question["text"]})["text"]
        Path(LINTED).write_text(text, encoding="utf-8", newline="")
        output = self.run(["jobgen", "lint", LINTED])
        summary = output.stderr.replace("jobgen: ", "")
        return {"exit": output.exit_code, "findings": output.stdout, "summary": summary}

    def run(self, words: Sequence[str]) -> Output:
        """Run a command line as the program does; returns its output and its exit code."""
        data, errors = io.BytesIO(), io.StringIO()
        with redirect_stdout(io.TextIOWrapper(data, "utf-8")) as out, redirect_stderr(errors):
            try:
                sys.argv = list(words)
                code: object = self._run()
            except SystemExit as end:
                code = end.code
        out.flush()
        text = data.getvalue().decode("utf-8")
        return Output(code if isinstance(code, int) else 0, text, errors.getvalue())


def _drawing(words: Sequence[str]) -> dict[str, Any]:
    """The data of a job's drawing: nodes, ranks, GPUs, and the rendezvous.

    `title` is the calculation of the number of ranks, and `text` describes the drawing in words.
    `gpus_per_node` is 0 for ranks on the CPU; `interface` is "" if the script finds it.
    """
    plan = Generator().plan(parse_command(words[1:]))
    request, launch, network = plan.request, plan.launch, plan.network
    numbers_ranks = launch.launcher != "node"  # which starts one program on each node, not ranks
    noun, ranks = ("rank", launch.processes_per_node) if numbers_ranks else ("program", 1)
    gpus = 0 if plan.node.gpu == "none" else request.gpus_per_node
    nodes, total = _count(request.nodes, "node"), _count(request.nodes * ranks, noun)
    interface = " or ".join(network.interface)
    port = str(network.port) if network.port else "from the job's id"

    title = f"{nodes} × {_count(*((gpus, 'GPU') if gpus == ranks else (ranks, noun)))} = {total}"
    if gpus != ranks:
        title += f", each node with {_count(gpus, 'GPU')}" if gpus else " on CPUs"
    place = _count(gpus, "GPU") if gpus else "the CPU"
    text = f"{nodes} with {_count(ranks, noun)} each on {place}: {total} in all."
    if plan.elastic:
        title += ", or fewer"
        text += f" The job continues with {request.min_nodes} if others are lost."
    if request.spares:
        text += f" {_count(request.spares, 'spare node')} beside them."
    if request.nodes > 1:
        way = f"{interface or 'the interface that the script finds'}, port {port}"
        text += f" Node 0 is the head: the others connect to it over {way}."
    return {
        "nodes": request.nodes,
        "spares": request.spares,
        "ranks_per_node": ranks,
        "gpus_per_node": gpus,
        "numbers_ranks": numbers_ranks,  # whether the drawing numbers the ranks, from node 0 on
        "interface": interface,
        "port": port,
        "title": title,
        "text": text,
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def facts(profile: str, form: Mapping[str, str]) -> dict[str, Any]:
    """The defaults and limits of a profile, by field; {} if the profile cannot be read."""
    try:
        resolved = find_profiles().load(profile)
        return {"defaults": defaults(resolved), "limits": limits(resolved.profile, form)}
    except (JobgenError, MemoryError, RecursionError):
        return {}  # the run of the command reports the error


def limits(profile: Profile, form: Mapping[str, str]) -> dict[str, str]:
    """The limits of a job, by field, in the place and QOS of the form, or of the profile."""
    profile = profile.with_place(form.get("partition") or form.get("queue"), form.get("qos"))

    nodes = form.get("nodes", "")
    of_nodes = int(nodes) if re.fullmatch("[0-9]{1,7}", nodes) else profile.request.nodes

    places = (profile.partition or profile.queue or "").split(",")

    def most(key: str) -> str:
        texts = []
        for place, each in zip(places, profile.limits_of_job, strict=True):
            path, value = each.find(key, of_nodes)
            of_qos = f" with {profile.request.qos}" * path.startswith("limits.qos.")
            of_place = f" on {place}" * path.startswith("limits.partitions.")
            texts += [f"{value}{of_qos}{of_place}"] if value else []
        return " or ".join(texts)

    gpus = profile.most_gpus_per_node[1]
    texts = {"nodes": most("nodes"), "gpus_per_node": str(gpus or ""), "time": most("time")}
    found = {name: f"at most {text}" for name, text in texts.items() if text}
    if fewest := most("min_nodes"):
        found["nodes"] = ", ".join(filter(None, (f"at least {fewest}", found.get("nodes"))))
    if most_gpus := most("gpus"):
        found["gpus_per_node"] = f"{found['gpus_per_node']}; of the job, at most {most_gpus}"
    if not profile.request.exclusive and profile.has_whole_nodes:
        found["exclusive"] = "the site gives whole nodes"
    if names := ", ".join(profile.limits.partitions):
        found |= {"partition": f"such as {names}", "queue": f"such as {names}"}
    if names := ", ".join(profile.limits.qos):
        found["qos"] = f"such as {names}"
    return found


def defaults(resolved: Resolved) -> dict[str, str]:
    """The profile's values for fields that the user leaves empty; a switch is `on` or missing."""
    values = {
        each.name: value_at(resolved.profile, each.path) for each in all_fields() if each.path
    }
    values["gpus_per_node"] = gpus_per_node(resolved)
    del values["shared"]  # a site may give whole nodes to jobs that do not request them
    texts = {name: _default(name, value) for name, value in values.items()}
    return {name: text for name, text in texts.items() if text}


def _default(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if str(value).lower() == OPTIONS[name].flag_value else ""
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)

"""Programs that are refused: those that would start ranks, or several runs, in each rank."""

import re
from itertools import pairwise, takewhile

from jobgen.errors import problem
from jobgen.planner.launcher_words import MPI, LauncherWords, launcher_words
from jobgen.planning.plan import Plan
from jobgen.planning.program import AGENT, OtherLauncher, Program, find_launcher, multirun
from jobgen.profiles.resolve import Resolved
from jobgen.quoting import quote

_WAYS_OF_MPI = {"slurm": "srun", "pbs": "mpiexec"}  # the launchers of processes that MPI numbers


def check_program(program: Program, base: Plan, resolved: Resolved, by_hand: bool) -> None:
    """Raise JobgenError for a program that the launcher of `base`, the plan so far, cannot start.

    A program that is itself a launcher would start a world of its own in each rank.
    """
    launcher = base.launch.launcher
    if launcher == "node" and program.kind == "trainer":
        text = "the launcher node starts a program once on each node; a trainer is started as ranks"
        hint = "give a program: -- PROGRAM ARGS…, or use the launcher torchrun"
        raise resolved.conflict("launch.launcher", text, hint)
    found = find_launcher(program)
    if found and found.name != AGENT:
        others = launcher_words(found, base, resolved.profile.node.gpus)
        if by_hand:  # the hosts are the nodes
            others = others._replace(sizes=[each for each in others.sizes if each[:2] != "-N"])
        _check_own_launcher(program, found, others, base, by_hand)
    ranks = base.request.nodes * base.launch.processes_per_node
    if launcher != "node" and ranks > 1:
        _check_runs(program, found, ranks)
    words = (program.name, *program.arguments)
    variables = [*takewhile(re.compile(r"[A-Za-z_]\w*=[^/]*").fullmatch, words)]
    if 0 < len(variables) < len(words):
        options = "".join(f"-e {quote(word)} " for word in variables)
        rest = " ".join(map(quote, words[len(variables) :]))
        text = f"{program.name!r:.80} is a variable, and would be started as a program"
        raise problem("--", text, "value", f"write: {options}-- {rest}")
    if program.kind == "command" and launcher != "torchrun" and "=" in program.name:
        hint = "give it another name, or use the launcher torchrun"
        text = f"the program {program.name!r:.80} has a = in its name"
        raise problem("--", text, "value", hint)


def _check_own_launcher(
    program: Program, found: OtherLauncher, words: LauncherWords, base: Plan, by_hand: bool
) -> None:
    inner = " ".join(map(quote, found.inner))
    before = "".join(f"{quote(word)} " for word in found.before)
    rest = " ".join((*words.own, inner or "…"))
    on_nodes = before * ("…" in found.template) + found.template.replace("…", rest)
    given = [value for flag, value in pairwise(found.options) if flag in ("--hostfile", "-H")]
    on_nodes = on_nodes.replace("FILE", quote(given[0])) if given else on_nodes
    if base.launch.launcher == "node":
        text = " ".join(program.arguments)
        is_told = re.search("%[nh]|JOBGEN_", text) or "%n" not in found.template
        if base.request.nodes > 1 and not is_told:
            text = f"{found.name} is not told which node it is on, and would train on each alone"
            hint = f"write: {' '.join((*words.sizes, '--', on_nodes))}"
            raise problem("--", text, "conflict", hint)
        return
    text = f"{found.name} starts ranks itself, and would be started for each rank"
    has_other = bool(found.template) and not by_hand
    hints = ["give the program that it starts"] * (not words.lost or not has_other)
    if inner and hints:
        python = "python " * bool(before)
        line = " ".join((*words.sizes, *words.options, "--", f"{before}{python}{inner}"))
        without = f", which is then without {' '.join(words.lost)}" * bool(words.lost)
        hints = [f"{hints[0]}: {line}{without}"]
    if has_other:
        line = " ".join(("--launcher node", *words.sizes, "--", on_nodes))
        hints.append(f"start it once on each node: {line}")
    elif inner and found.name in MPI and not by_hand and (way := _WAYS_OF_MPI.get(base.scheduler)):
        line = " ".join((*words.sizes, "--", inner))
        hints.append(f"if it has its rank from MPI, as with Horovod: --launcher {way} {line}")
    raise problem("--", text, "conflict", ", or ".join(hints))


def _check_runs(program: Program, found: OtherLauncher | None, ranks: int) -> None:
    """Raise JobgenError for a program that does several runs, all of them in each rank."""
    if found:
        text = f"each of {ranks} ranks would be a {AGENT}, with runs of its own"
        words = " ".join(map(quote, (program.name, *program.arguments)))
        hint = f"one on each node: --launcher node -- {words}, and in the sweep `command:"
        hint += " [torchrun, --standalone, --nproc-per-node=gpu, '${program}', '${args}']`"
        raise problem("--", text, "conflict", hint)
    if run := multirun(program):
        text = f"a multirun of Hydra: each of {ranks} ranks would do all runs"
        hint = f"a job for each run, as -- {' '.join(map(quote, run))}; `jobgen build` makes them"
        raise problem("--", text, "conflict", f"{hint} of a `matrix`")

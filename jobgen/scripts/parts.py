"""Decides which parts of the machinery a script has, by one table for all schedulers.

A part is plain bash: a file in templates/machinery/, or a section of short.sh there if it has a few
lines. Its row says which scripts have the part, by the features of its plan (`features`), and
which values of the script's upper part it reads. A script has its parts in the order of the rows. A
new feature of jobgen adds rows, and changes none.
"""

from functools import cache
from typing import NamedTuple


class Part(NamedTuple):
    """A part of the machinery, with the scripts that have it and the values that it reads."""

    name: str  # of a section in short.sh, or of a file, without .sh
    having: str  # the part is in scripts with all these features, …
    without: str = ""  # … and with none of these
    values: str = ""  # values of the upper part that the part reads

    def is_for(self, found: frozenset[str]) -> bool:
        """Whether a script with these features has this part."""
        return found.issuperset(self.having.split()) and found.isdisjoint(self.without.split())


PARTS = (
    # ---- on any node: the node of this shell, and its number
    Part("path", "copied slurm"),
    Part("hosts", "copied hosts slurm", "ordered"),
    Part("hosts-in-order", "copied hosts slurm ordered", values="logs"),
    Part("path-pbs", "copied pbs"),
    Part("path-local", "local"),
    Part("one-node-begin", "one_torchrun"),
    Part("fail", "one_torchrun"),
    Part("one-node-enter", "one_torchrun"),
    Part("number-in-order", "checked copied srun ordered"),
    Part("task-number", "checked copied srun", "ordered"),
    Part("node-number", "plain copied srun", "in_engine ranks"),
    Part("node-number", "plain copied srun ranks", "in_engine named"),
    Part("node-zero", "plain in_engine", "named"),
    Part("lead-number", "copied lead"),
    Part("node/number-by-name", "copied other_starter", "lead"),
    Part("fail", "checked copied"),
    Part("fail", "plain mpi", "workspace"),
    Part("fail-local", "local"),
    Part("host-name", "plain workspace", "local"),
    Part("fail", "plain workspace", "local"),
    # ---- functions that nodes run
    Part("no-container", "checked torch", "container in_engine"),
    Part("stage/folder", "stage", "image"),
    Part("stage/image", "stage image"),
    Part("stage/copy", "stage"),
    Part("node/address-named", "copied named", values="interface"),
    Part("node/address-route", "copied", "named"),
    Part("node/check-gpus", "checked gpus", values="gpus gpu_api"),
    Part("node/check-torch", "checked torch", "gpus"),
    Part("no-torch", "checked", "torch gpus"),
    Part("find-plugin", "plugin"),
    Part("node/check-node", "roll_call", values="arch cores port program"),
    Part("node/run-node", "checked", "one_torchrun ranks", values="logs"),
    Part("node/run-rank", "checked ranks", "in_engine", values="logs"),
    Part("node/own-step", "checked own_step"),
    Part("node/pyxis", "checked pyxis"),
    Part("show-place", "picks_nodes srun"),
    Part("own-id", "may_lose srun"),
    Part("node/head-lost", "may_lose srun"),
    Part("node/evidence", "roll_call"),
    Part("no-core", "stalls"),
    Part("python", "keeper"),
    Part("node/keep", "keeper", "lead", values="stop_grace"),
    Part("node/end-by-order", "keeper ends_by_order"),
    Part("older-ranks", "chain keeper"),
    Part("node/local-files", "local_files", values="rank_files"),
    # ---- the batch script, from here on
    Part("job/record", "checked", values="job logs"),
    Part("job/end-job", "checked", values="job logs keep_logs jobgen"),
    Part("job/show-set-up", "checked", "local"),
    Part("enter-by-srun", "checked copied srun"),
    Part("enter", "checked copied other_starter"),
    Part("job/chain", "chain", values="stop_grace logs keep_logs"),
    Part("first-node-in-order", "roll_call ordered", values="nodes"),
    Part("first-node", "roll_call", "ordered", values="nodes"),
    Part("plain-enter", "plain copied", "in_engine"),
    Part("plain-end", "plain leaves_files", values="job logs"),
    Part("copy-script", "checked copied srun"),
    Part("copy-script", "plain copied srun", "in_engine"),
    Part("pack", "stage other_starter"),
    Part("start/copy-environment", "copied other_starter"),
    Part("host-file", "ordered"),
    Part("task-file", "ordered ranks"),
    Part("node-folders", "checked copied", "local_files"),
    Part("node-links", "local_files"),
    Part("start/lead", "lead", values="starter stop_grace join_timeout"),
    Part("start/mpiexec", "mpi"),
    Part("note-software", "mpi", "stage", values="start_ranks"),
    Part("note-software-staged", "mpi stage", values="start_ranks"),
    Part("software-noted", "mpi"),
    Part("start-there", "mpi"),
    Part("start-nodes-there", "mpi checked", values="each_node"),
    Part("each-node", "copied checked", "lead in_engine", values="each_node start_ranks"),
    Part("each-node-in-engine", "checked in_engine", values="each_node"),
    Part("each-rank", "plain copied", "one_by_one in_engine", values="start_ranks"),
    Part("ends-on-slurm", "roll_call srun"),
    Part("ends", "roll_call other_starter", values="stop_grace"),
    Part("own-id", "requeues", "may_lose"),
    Part("own-id", "checked slurm array", "requeues may_lose chain"),
    Part("record-code", "checked workspace"),
    Part("begin-record", "roll_call"),
    Part("end-all", "keeper ends_by_order"),
    Part("keeper", "keeper", "lead"),
    Part("agent", "agent"),
    Part("trainer", "trainer", values="job logs"),
    Part("end-older-ranks", "chain keeper"),
    Part("job/one-node", "one_torchrun"),
    Part("job/workspace", "workspace", "code", values="job"),
    Part("job/code", "code"),
    Part("check-code", "code", "chain"),
    Part("check-code-of-chain", "code chain"),
    Part("one-node-ready", "one_torchrun"),
    Part("one-node-ranks", "one_torchrun", values="start_ranks"),
    Part("pack", "stage", "other_starter"),
    Part("stage/send", "stage srun"),
    Part("job/exclude-nodes", "excludes", values="exclude_at_most"),
    Part("pyxis-end", "checked pyxis"),
    Part("job/roll-call", "roll_call", values="nodes join_timeout"),
    Part("address-in-order", "ordered"),
    Part("ready-nodes", "picks_nodes"),
    Part("nodes-in-order", "picks_nodes srun"),
    Part("neighbours", "spares srun"),
    Part("first-address", "picks_nodes"),
    Part("job/choose-nodes", "spares"),
    Part("chosen-nodes", "spares srun", "may_lose"),
    Part("chosen-nodes-by-lead", "spares lead", "may_lose"),
    Part("all-ready-nodes", "may_lose lead"),
    Part("warn-on-slurm", "warns slurm", "in_engine"),
    Part("warn-in-engine", "warns in_engine"),
    Part("job/warn-pbs", "warns pbs", values="warn_after"),
    Part("ask-nccl", "asks_nccl", values="ras_port"),
    Part("job/stall", "stalls", values="stall"),
    Part("watch-chain", "chain"),
    Part("job/run", "roll_call", "supervised"),
    Part("job/run-ranks", "supervised", "may_lose in_engine"),
    Part("job/run-ranks", "may_lose lead"),
    Part("job/run-with-spares", "may_lose srun"),
    Part("plain-in-engine", "plain in_engine"),
    Part("job/run-in-engine", "in_engine", values="logs nodes port start_ranks"),
    Part("ended-for-good", "starts_again"),
    Part("job/restart", "restarts_all torchrun", "local", values="max_restarts"),
    Part("job/restart-program", "restarts_all program_on_nodes", values="max_restarts"),
    Part("no-other-start", "starts_again"),
    Part("no-other-requeue", "requeues"),
    Part("job/requeue", "requeues warns"),
    Part("say-time-is-up", "warns", "requeues chain"),
    Part("exit", "supervised"),
    Part("remove-files", "local_files"),
    # ---- without a roll call
    Part("plain-one-node", "plain", "copied"),
    Part("exit", "plain in_engine"),
    Part("plain-start", "plain copied", "one_by_one in_engine"),
    Part("plain/start-one-by-one", "plain copied one_by_one", values="starter"),
    Part("start/local", "local", values="nodes port program"),
    Part("start/wait-local", "local", "elastic"),
    Part("wait-local-some", "local elastic"),
)


@cache  # most scripts of a repository have the same features
def chosen_parts(found: frozenset[str]) -> tuple[Part, ...]:
    """The parts of a script with these features, in their order."""
    return tuple(part for part in PARTS if part.is_for(found))


@cache
def used_values(parts: tuple[Part, ...]) -> frozenset[str]:
    """The values of the upper part that these parts read."""
    return frozenset(" ".join(part.values for part in parts).split())

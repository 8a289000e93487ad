"""A process was killed by signal 9, and nothing says by whom.

SIGKILL cannot be caught: the process prints nothing. Its parent notices (`exitcode: -9`, `Signal
9 (SIGKILL) received by PID`, bash's `Killed`, exit code 137). Who sent it stands outside of the
program: the kernel when memory ran out (by far the most frequent), Slurm or PBS at a limit, an
administrator, or a launcher that ended what was left after another failure.

One sees: which rank, when, and perhaps a growing memory before. To know more, look at `sacct -j
ID -o state,exitcode,maxrss,node`, at `seff ID`, at the kernel's log of the node (`dmesg -T |
grep -i oom`), and at the memory of each process over time.

What misleads: the order of the lines, since launchers print the summary of the killed rank last;
`Unable to shutdown process … forcefully exiting via Signals.SIGKILL` (or `via 9`), where torchrun
itself is the killer, after something else had failed.

Cure: treat it as memory until something else is shown: `--set request.memory=all`, fewer
DataLoader workers, a checkpoint that is loaded once a node. jobgen's scripts note the kernel's
oom_kill counter of each node, which `jobgen why FOLDER` compares with the one at the start.

Sources:
https://github.com/pytorch/pytorch torch/distributed/elastic/multiprocessing/errors/__init__.py
https://github.com/zai-org/ChatGLM2-6B/issues/525
https://github.com/meta-llama/llama-models/issues/334
https://github.com/yangjianxin1/Firefly/issues/171
"""

from jobgen.diagnosis.signs import FAILED_FIRST, Role, Sign

# As torchrun's agent logs it; else it is a page that quotes it.
_AGENT = r"(?:(?<!# )\bERROR:torch[\w.]*:|E\d{4} [\d:.]+ \d+ \S*\] |\[ERROR\] |^\s*ERROR\s+)failed "

SIGNS = (
    Sign(
        _AGENT + r"\(exitcode: -9\) local_rank: (?P<local_rank>\d+)",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"^\s*(traceback *: )?[Ss]ignal 9 \(SIGKILL\) received by PID|^\s*exitcode *: -9 \(pid",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"died with <Signals\.SIGKILL: 9>|terminated with signal SIGKILL"
        r"|exits with return code = -9\b",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Killed",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONSEQUENCE,
        certainty="possible",
    ),
    Sign(
        r"^\S+: line \d+: +\d+ Killed\b|^Killed$|^zsh: killed +\S"
        r"|^\[\d+\]\s?[+-]? +(\d+ )?[Kk]illed +\S",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONSEQUENCE,
        certainty="possible",
    ),
    Sign(
        r"process rank (?P<rank>\d+) with PID \d+ on node (?P<node>[\w.-]+) exited on signal 9\b",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"Process finished with exit code 137|command terminated with exit code 137",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(  # its keeper's
        r"^jobgen: (?P<node>[\w.-]+): rank (?P<rank>\d+) .*\bended with status (?:-9|137)\b",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(  # torchrun, or the program of a node: srun or a keeper says it
        r"^jobgen: (?P<node>[\w.-]+): (?!rank).*\b(?:ended with status (?:-9|137)"
        r"|was killed by signal 9)\b",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONSEQUENCE,
        certainty="possible",
    ),
    Sign(
        FAILED_FIRST + r"killed by signal 9",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
    ),
    Sign(
        r"forcefully exiting via (?:Signals\.SIGKILL|9\b)|Killing subprocess \d+|Sending SIGKILL",
        "the launcher ended what was left",
        Role.TEARDOWN,
    ),
    Sign(
        r"^(?P<node>[\w.-]+): rank (?P<rank>\d+) died from signal 9\b"
        r"|^ *exit status of rank \d+: killed by signal 9\b"
        r"|^=? +EXIT CODE: (?:9|137)$|^Application \d+ exit signals: Killed",
        "killed by signal 9; nothing in the log says by whom",
        Role.CONFIRMATION,
        certainty="likely",
    ),
)
CURE = (
    "most often the node's memory: look at sacct's MaxRSS and at dmesg, and try"
    " --set request.memory=all with fewer DataLoader workers"
)
MISLEADS = "lost peers and timeouts of the other ranks: they noticed it later"
EXPLAINS = ("peer-lost", "collective-timeout", "rendezvous", "fabric", "cancelled")

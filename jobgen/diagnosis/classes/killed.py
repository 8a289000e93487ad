"""A process was killed by signal 9, and nothing says by whom.

SIGKILL cannot be caught: the process prints nothing. Its parent notices (`exitcode: -9`, `Signal
9 (SIGKILL) received by PID`, bash's `Killed`, exit code 137). Who sent it stands outside of the
program: the kernel when memory ran out (by far the most frequent), Slurm or PBS at a limit, an
administrator, or a launcher that ended what was left after another failure.

One sees: which rank, when, and perhaps a growing memory before. To know more, look at `sacct -j
ID -o state,exitcode,maxrss,node`, at `seff ID`, at the kernel's log of the node (`dmesg -T |
grep -i oom`), and at the memory of each process over time.

Launchers print the summary of the killed rank last. After `Unable to shutdown process … forcefully
exiting via Signals.SIGKILL` (or `via 9`), torchrun itself is the killer: something else had failed
before.

A checkpoint that is loaded once a node needs less memory. jobgen's scripts note the kernel's
oom_kill counter of each node, which `jobgen why FOLDER` compares with the one at the start.

Cure: most often the node's memory: look at sacct's MaxRSS and at dmesg, and try --set
request.memory=all with fewer DataLoader workers

Not this: lost peers and timeouts of the other ranks: they noticed it later

Sources:
https://github.com/pytorch/pytorch torch/distributed/elastic/multiprocessing/errors/__init__.py
https://github.com/zai-org/ChatGLM2-6B/issues/525
https://github.com/meta-llama/llama-models/issues/334
https://github.com/yangjianxin1/Firefly/issues/171
"""

SIGNS = r"""
likely confirmation: killed by signal 9; nothing in the log says by whom
    <AGENT_FAILED>\(exitcode: -9\) local_rank: (?P<local_rank>\d+)
    ^\s*(traceback *: )?[Ss]ignal 9 \(SIGKILL\) received by PID|^\s*exitcode *: -9 \(pid
    died with <Signals\.SIGKILL: 9>|terminated with signal SIGKILL
    exits with return code = -9\b
    process rank (?P<rank>\d+) with PID \d+ on node (?P<node>[\w.-]+) exited on signal 9\b
    Process finished with exit code 137|command terminated with exit code 137
    # Its keeper's.
    ^jobgen: (?P<node>[\w.-]+): rank (?P<rank>\d+) .*\bended with status (?:-9|137)\b
    ^(?P<node>[\w.-]+): rank (?P<rank>\d+) died from signal 9\b
    ^ *exit status of rank \d+: killed by signal 9\b|^=? +EXIT CODE: (?:9|137)$
    ^Application \d+ exit signals: Killed
possible consequence: killed by signal 9; nothing in the log says by whom
    srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Killed
    ^\S+: line \d+: +\d+ Killed\b|^Killed$|^zsh: killed +\S
    ^\[\d+\]\s?[+-]? +(\d+ )?[Kk]illed +\S
    # Torchrun, or the program of a node: srun or a keeper says it.
    ^jobgen: (?P<node>[\w.-]+): (?!rank).*\b(?:ended with status (?:-9|137)|was killed by signal[ ]
        9)\b
sure confirmation: killed by signal 9; nothing in the log says by whom
    <FAILED_FIRST>killed by signal 9
teardown: the launcher ended what was left
    forcefully exiting via (?:Signals\.SIGKILL|9\b)|Killing subprocess \d+|Sending SIGKILL
"""
EXPLAINS = "peer-lost collective-timeout rendezvous fabric cancelled"
TRAITS = "general process"

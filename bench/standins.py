"""Runs a script with stand-ins for the commands of its scheduler, and notes the time of its steps.

Every node is ready at once, and the ranks end at once: only the work of the script itself is left.
A stand-in appends a line to the file `moments`: a name and the time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

NOTE = """\
#!/bin/bash
note() { echo "$1 $EPOCHREALTIME" >> "$STAGE/moments"; }
"""
# The script starts all nodes twice: for the roll call, and for the ranks.
START_ALL = f"""\
{NOTE}
case " $* " in
  *" check_node "*)
    note check_node
    cat "$STAGE/answers"
    note answered ;;
  *) note run_node ;;
esac
"""
STAND_INS = {
    # A node's name; the last node's for the copy of the script that is to find its number.
    "uname": "#!/bin/sh\necho ${NAME_OF_NODE:-frontier00000}\n",
    "getent": "#!/bin/sh\necho 127.0.0.1 STREAM frontier00000\n",
    "ip": """\
#!/bin/sh
case "$*" in
  *route*) echo '10.0.0.1 dev hsn0 src 127.0.0.1 uid 0' ;;
  *) echo 'hsn0 UP 127.0.0.1/8' ;;
esac
""",
    "scontrol": '#!/bin/sh\ncat "$STAGE/hosts"\n',
    "srun": START_ALL,
    # Then what the last node does before anything else: it searches for its number.
    "mpiexec": f"""\
{START_ALL}
[[ " $* " == *" check_node "* ]] || exit 0
note shell
NAME_OF_NODE=$(tail -n 1 "$STAGE/hosts") bash "${{*: -2:1}}" true
note numbered
""",
    # A node, and its agent: HOST PYTHON … agent JOIN FOLDER HOST NUMBER. The agent is bash, since
    # all nodes share the cores of this machine here, and Python takes ten times as long to start.
    "pbs_tmrsh": f"""\
{NOTE}
join=${{*: -4:1}} number=${{*: -1}} text=$(< "$join")
[[ $text =~ ^\\[\\[\\"(.*)\\",\\ ([0-9]+)\\],\\ \\"([0-9a-f]+)\\" ]]
word=run_node
[[ $text != *check_node* ]] || word=check_node
note "$word"
exec 3<> "/dev/tcp/${{BASH_REMATCH[1]}}/${{BASH_REMATCH[2]}}"
echo "${{BASH_REMATCH[3]}} $number" >&3
read -r <&3
[[ $word == run_node ]] || echo "jobgen: $1 is ready, 10.0.0.1 on hsn0: torch 2, 4 cores" >&3
printf '\\0000' >&3
""",
}


def moments(script: str, nodes: int) -> dict[str, float]:
    """The seconds from the start of a script to each moment, and to its `end`.

    Of a moment that comes several times, the first has its name, and the last is `last NAME`.
    Exits if the script fails.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        stage = Path(name)
        _write_stage(stage, script, nodes)
        start = time.time()
        with (stage / "log").open("wb") as log:
            process = subprocess.Popen(
                ["bash", "job.sh"], cwd=stage, env=_environment(stage, nodes),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            process.wait()
            end = time.time()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        times = _moments_noted(stage)
        if process.returncode or "run_node" not in times:
            raise SystemExit((stage / "log").read_text()[-2000:])
    return {moment: seconds - start for moment, seconds in {**times, "end": end}.items()}


def _moments_noted(stage: Path) -> dict[str, float]:
    times: dict[str, float] = {}
    for line in (stage / "moments").read_text().splitlines():
        moment, seconds = line.split()
        first, last = times.get(moment, float(seconds)), times.get(f"last {moment}", 0)
        times[moment] = min(first, float(seconds))
        times[f"last {moment}"] = max(last, float(seconds))
    return times


def _write_stage(stage: Path, script: str, nodes: int) -> None:
    """Write the stand-ins, the script and what they read."""
    (stage / "bin").mkdir()
    for program, text in STAND_INS.items():
        (stage / "bin" / program).write_text(text)
        (stage / "bin" / program).chmod(0o755)
    hosts = [f"frontier{number:05}" for number in range(nodes)]
    answers = [f"jobgen: {host} is ready, 10.0.0.1 on hsn0: torch 2, 4 cores" for host in hosts]
    (stage / "hosts").write_text("\n".join(hosts) + "\n")
    (stage / "answers").write_text("\n".join(answers) + "\n")
    (stage / "job.sh").write_text(script)
    (stage / "moments").touch()


def _environment(stage: Path, nodes: int) -> dict[str, str]:
    """What the stand-ins need, and what Slurm and PBS set."""
    return {
        "PATH": f"{stage}/bin:{os.environ['PATH']}",
        "HOME": str(stage),
        "STAGE": str(stage),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NODELIST": "all",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_CPUS_PER_TASK": "128",
        "SLURMD_NODENAME": "frontier00000",
        "SLURM_NODEID": "0",
        "PBS_JOBID": "4711.server",
        "PBS_NODEFILE": str(stage / "hosts"),
        "PBS_O_WORKDIR": str(stage),
    }

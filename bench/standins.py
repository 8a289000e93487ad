"""Runs a script with stand-ins for the commands of its scheduler, and notes the time of its steps.

Every node is ready at once, and the ranks end at once: only the work of the script itself is left.
A stand-in appends a line to the file `moments`: a name and the time.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

MANY = 16_384
NOTE = '#!/bin/bash\nnote() { echo "$1 $EPOCHREALTIME" >> "$STAGE/moments"; }\n'
STAND_INS = {
    "hostname": "#!/bin/sh\necho frontier00000\n",
    "getent": "#!/bin/sh\necho 10.0.0.1 STREAM frontier00000\n",
    "ip": """\
#!/bin/sh
case "$*" in
  *route*) echo '10.0.0.1 dev hsn0 src 10.0.0.1 uid 0' ;;
  *) echo '2: hsn0 inet 10.0.0.1/16 scope global hsn0' ;;
esac
""",
    "scontrol": '#!/bin/sh\ncat "$STAGE/hosts"\n',
    # The script starts one step for the roll call, and one for the ranks.
    "srun": f"""\
{NOTE}
note "${{*: -1}}"
[[ ${{*: -1}} != check_node ]] || cat "$STAGE/answers"
""",
    # A node, as long as the job. The words are those of a guard, NODE, or of a branch of a tree,
    # FAN_OUT NODE. Nodes of a tree start others at the same time, but here they share the cores:
    # so only node 0 starts those below it by the script's functions; below the others, `guard`
    # writes what the nodes would. dash starts faster than bash, and thousands of these may run.
    "pbs_tmrsh": """\
#!/bin/sh
for node; do :; done
[ "$4" = start_branch ] || exec guard "$3" "$node"
[ "$node" -gt 0 ] || { shift; exec "$@"; }
[ "$node" -lt "$5" ] || exec guard "$3" "$node"
exec guard "$3" "$node" $(seq $(($5 * (node + 1))) $(($5 * (node + 2) - 1)))
""",
    "setsid": """\
#!/bin/sh
shift 2
exec guard "$1" "$3"
""",
    # The pipe `gate` opens when the ranks may start.
    "guard": """\
#!/bin/sh
folder=${1%/*}
shift
for node; do
  [ "$node" -lt "$NODES" ] || break
  [ -e "$folder/begun.$node" ] || : > "$folder/begun.$node"
  echo "jobgen: n is ready, 10.0.0.1, node $node, clock $CLOCK" > "$folder/answer.$node"
done
: < "$STAGE/gate"
for node; do
  [ "$node" -lt "$NODES" ] || break
  echo 0 > "$folder/ended.$node"
done
""",
    # What the last node does before its guard: it reads node.sh, and searches for its number.
    "mpiexec": f"""\
{NOTE}
note mpiexec
HOSTNAME=$(tail -n 1 "$PBS_NODEFILE") bash "${{*: -2:1}}" echo > /dev/null
note numbered
""",
}


def moments(script: str, nodes: int, last: str = "end") -> dict[str, float]:
    """The seconds from the start of a script to each moment, up to the moment `last`.

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
            _wait(process, stage, last)
            end = time.time()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        times = _moments_noted(stage)
        if last not in {*times, "end"} or (last == "end" and process.returncode):
            raise SystemExit((stage / "log").read_text()[-2000:])
    return {moment: seconds - start for moment, seconds in {**times, "end": end}.items()}


def _wait(process: subprocess.Popen[bytes], stage: Path, last: str) -> None:
    """Wait until the script ends or reaches `last`; open the gate when it starts the ranks."""
    gate = None
    order = stage / ".jobgen.4711.server/orders/start"
    try:
        while process.poll() is None and last not in _moments_noted(stage):
            if gate is None and order.exists():
                begun = _begun(order.parent.parent)
                with (stage / "moments").open("a") as file:
                    if begun:
                        print("first_node", min(begun), file=file)
                        print("last_node", max(begun), file=file)
                    print("order", order.stat().st_mtime, file=file)
                gate = os.open(stage / "gate", os.O_RDWR)
            time.sleep(0.002)
    finally:
        if gate is not None:
            os.close(gate)


def _begun(folder: Path) -> list[float]:
    """When nodes began that the script started, or node 0 in a tree."""
    fan_out = re.search(r"^fan_out=(\d+)", (folder.parent / "job.sh").read_text(), re.MULTILINE)
    count = 2 * int(fan_out[1]) if fan_out else MANY
    nodes = sorted(folder.glob("begun.*"), key=lambda file: int(file.suffix[1:]))
    return [file.stat().st_mtime for file in nodes[:count]]


def _moments_noted(stage: Path) -> dict[str, float]:
    lines = (stage / "moments").read_text().splitlines()
    return {moment: float(seconds) for moment, seconds in map(str.split, lines)}


def _write_stage(stage: Path, script: str, nodes: int) -> None:
    """Write the stand-ins, the script and what they read."""
    (stage / "bin").mkdir()
    for program, text in STAND_INS.items():
        (stage / "bin" / program).write_text(text)
        (stage / "bin" / program).chmod(0o755)
    hosts = [f"frontier{number:05}" for number in range(nodes)]
    answers = [f"jobgen: {host} is ready, 10.0.0.1 on hsn0, with torch" for host in hosts]
    (stage / "hosts").write_text("\n".join(hosts) + "\n")
    (stage / "answers").write_text("\n".join(answers) + "\n")
    (stage / "job.sh").write_text(script)
    (stage / "moments").touch()
    os.mkfifo(stage / "gate")


def _environment(stage: Path, nodes: int) -> dict[str, str]:
    """What the stand-ins need, and what Slurm and PBS set."""
    return {
        "PATH": f"{stage}/bin:{os.environ['PATH']}",
        "HOME": str(stage),
        "STAGE": str(stage),
        "NODES": str(nodes),
        "CLOCK": str(int(time.time())),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NODELIST": "all",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "PBS_JOBID": "4711.server",
        "PBS_NODEFILE": str(stage / "hosts"),
        "PBS_O_WORKDIR": str(stage),
    }

"""How job scripts are read: directives as the schedulers read them, commands with their places."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.bounds import LINT_NESTING, LINT_VALUE_CHARACTERS
from jobgen.lint.launchers import launchers, torchruns
from jobgen.lint.reader.directives import chunks
from jobgen.lint.reader.parse import parse
from jobgen.lint.reader.script import Script
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings


def read(*lines: str) -> Script:
    return parse("\n".join(["#!/bin/bash", *lines, ""]), "job.sh")


def with_interpreter(text: str) -> str:
    return text.lstrip() if text.startswith("\n#!") else f"#!/bin/bash{text}"


def test_directives_are_split_as_sbatch_splits_them() -> None:
    script = read('#SBATCH -N2 --job-name="a b" -p gpu # -n 4', "#SBATCH --exclusive -G 4")
    options = [(each.option, each.value, each.line, each.column) for each in script.directives]
    assert options == [
        *(("nodes", "2", 2, 9), ("job-name", "a b", 2, 13), ("partition", "gpu", 2, 30)),
        *(("exclusive", "", 3, 9), ("gpus", "4", 3, 21)),
    ]
    assert (script.scheduler, script.nodes) == ("slurm", 2)


def test_chunks_of_pbs() -> None:
    script = read("  #PBS -l select=2:ncpus=4+1:ncpus=8:ngpus=1,walltime=1:00:00 -j oe")
    assert (script.scheduler, script.nodes) == ("pbs", 3)
    assert [each.option for each in script.directives] == ["l", "j"]
    assert chunks("ncpus=4") == [(1, {"ncpus": "4"})]


@pytest.mark.parametrize(
    ("request_of", "nodes", "gpus"),
    [("2:ppn=8:gpus=4:bigmem", 2, 4), ("a1:ppn=8+a2:ppn=8", 2, None), ("3#excl", 3, None)],
)
def test_nodes_as_torque_has_them(request_of: str, nodes: int, gpus: int | None) -> None:
    script = read(f"#PBS -l nodes={request_of},walltime=1:00:00")
    assert script.nodes == nodes
    assert (script.gpus_per_node.count if script.gpus_per_node else None) == gpus


def test_string_for_another_shell_is_read_at_its_place() -> None:
    script = read(
        "NODES=2",
        "srun bash -c 'echo é; torchrun --nnodes=$SLURM_NNODES x.py' | tee log",
        'srun bash -c "cd \\$HOME && torchrun --nnodes=$NODES \\',
        '  --rdzv-id=\\$RANDOM x.py"',
    )
    first, second = torchruns(script)
    assert (first.word.line, first.word.column, first.starter) == (3, 23, "srun")
    assert first.options["nnodes"].variables == ("SLURM_NNODES",)
    assert (second.number("nnodes"), second.starter) == (2, "srun")
    assert second.options["rdzv-id"].text == "$RANDOM"
    assert (second.options["rdzv-id"].line, second.options["rdzv-id"].column) == (5, 3)


def test_command_in_a_substitution_is_no_arithmetic() -> None:
    script = read(
        "A=$(hostname)",
        'srun bash -c "torchrun --rdzv-conf=is_host=\\$(((SLURM_NODEID)) && echo 0 || echo 1) \\',
        "  --rdzv-endpoint=$A:29500 \\",
        '  $(which x.py) --nnodes=\\$(((2)*1))"',
    )
    (torchrun,) = torchruns(script)
    assert torchrun.value("rdzv-conf") == "is_host=$(((SLURM_NODEID)) && echo 0 || echo 1)"
    endpoint = torchrun.options["rdzv-endpoint"]
    assert (endpoint.text[1:], endpoint.line, endpoint.column) == ("A:29500", 4, 3)


def test_number_with_a_base_has_commands_and_variables() -> None:
    script = read("x=$((10#$(hostname -s) + 10#${A:-3}))")
    assert [command.name for command in script.commands] == ["hostname"]
    assert [(use.name, use.line) for use in script.variable_uses] == [("A", 2)]


def test_other_script_begins_at_its_interpreter() -> None:
    late_directive = "hostname\n#SBATCH --mem=4G\n"
    for text, codes in (
        (f"# of the group\n\n#!/bin/bash\n{late_directive}", ["JG201"]),
        (f"hostname\n#!/bin/bash\n{late_directive}", []),
    ):
        settings = Settings(select=("JG201",))
        assert [each.code for each in problems_in(text, "job.sh", settings)] == codes


def test_heredoc_has_no_commands_and_no_directives() -> None:
    script = read("cat > job.sh <<EOF", "#SBATCH --nodes=2", "torchrun --nnodes=2 x.py", "EOF")
    assert [command.name for command in script.commands] == ["cat"]
    assert script.directives == []


def test_variable_that_is_certainly_set_has_a_known_value() -> None:
    script = read(
        "A=1", "B=$A", "if x; then C=1; fi", "D=1", "D=2", "for E in 1; do :; done", "F+=1"
    )
    assert script.resolved("$A ${B} $C $D $E $F") == "1 1 $C 2 $E $F"


def test_array_that_is_certainly_set_has_known_items() -> None:
    script = read(
        "HOSTS=(a b)", "G=3", "OPTS=(--nnodes=2 --nproc-per-node $G)", "READ=(x)", "read -a READ",
        'torchrun "${OPTS[@]}" --rdzv-endpoint=${HOSTS[0]}:1 x.py',
    )  # fmt: skip
    assert script.resolved("${HOSTS[1]} ${#HOSTS[@]} $HOSTS ${HOSTS[7]}") == "b 2 a ${HOSTS[7]}"
    assert script.resolved("${READ[0]}") == "${READ[0]}"
    (torchrun,) = torchruns(script)
    assert (torchrun.number("nnodes"), torchrun.number("nproc-per-node")) == (2, 3)
    assert torchrun.value("rdzv-endpoint") == "a:1"


@pytest.mark.parametrize(
    ("line", "name", "nodes", "ranks"),
    [
        ("accelerate launch --num_machines 2 --num_processes=8 --multi_gpu x.py", None, 2, 4),
        ("srun python -m accelerate.commands.launch --num-machines=2 x.py", None, 2, None),
        ("deepspeed --num_nodes 2 --num_gpus 4 -H hosts x.py --num_gpus 1", "deepspeed", 2, 4),
        ("torchrun --nnodes 2 --nproc_per_node=gpu $HOME/x.py", "torchrun", 2, None),
    ],
)
def test_options_of_launchers_have_the_names_of_torchrun(
    line: str, name: str | None, nodes: int, ranks: int | None
) -> None:
    (launcher,) = launchers(read(line))
    assert launcher.name == (name or "accelerate launch")
    assert launcher.number("nnodes") == nodes
    assert (launcher.ranks_per_node and launcher.ranks_per_node.count) == ranks
    assert launcher.starter == ("srun" if line.startswith("srun") else "")


@pytest.mark.parametrize("line", ["docker build -t deepspeed -f x", "pip install deepspeed x.py"])
def test_other_command_with_the_name_of_a_launcher_is_none(line: str) -> None:
    assert launchers(read(line)) == []


BAD = {
    "accelerate counts the processes of all nodes": ("JG114", """
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
srun bash -c 'accelerate launch --num_machines 2 --num_processes 4 --machine_rank $RANK x.py'
"""),
    "accelerate on the first node only": ("JG101", """
#SBATCH --nodes=2
accelerate launch --num_machines=2 --num_processes=8 --rdzv_backend=c10d x.py
"""),
    "deepspeed for more nodes than the job has": ("JG102", """
#SBATCH --nodes=2
scontrol show hostnames > hosts
deepspeed --hostfile hosts --num_nodes 4 x.py
"""),
    "no node gets a rank": ("JG113", """
#SBATCH --nodes=2
srun --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 --master-addr=$HEAD x.py
"""),
    "the same number on every node": ("JG113", """
#SBATCH --nodes=2
srun --nodes=2 accelerate launch --num_machines 2 --machine_rank 0 --main_process_ip $HEAD x.py
"""),
    "two in the background with the same port": ("JG116", """
#SBATCH --nodes=1
PORT=29501
torchrun --nproc-per-node=2 --master-port=$PORT a.py &
torchrun --nproc-per-node=2 --master-port=29501 b.py &
wait
"""),
    "memory requested in two ways": ("JG211", """
#SBATCH --mem=4G --mem-per-cpu=1G
hostname
"""),
    "more hosts than nodes": ("JG211", """
#SBATCH --nodes=2 --nodelist=n[1-3]
hostname
"""),
    "a host that is requested and excluded": ("JG211", """
#SBATCH -w n[1-3] -x n3
hostname
"""),
    "more tasks than fit": ("JG211", """
#SBATCH --nodes=2 --ntasks=5 --ntasks-per-node=2
hostname
"""),
    "GPUs of the job and of a node": ("JG211", """
#SBATCH --nodes=2 --gpus=4 --gres=gpu:a100:4
hostname
"""),
    "whole nodes and shared ones": ("JG211", """
#SBATCH --exclusive
#SBATCH --oversubscribe
hostname
"""),
    "walltime given twice": ("JG206", """
#PBS -l select=1:ncpus=4,walltime=1:00:00
#PBS -l walltime=2:00:00
hostname
"""),
    "PBS without GPUs for NCCL": ("JG213", """
#PBS -l select=1:ncpus=4:mem=8gb
#PBS -q workq
export NCCL_DEBUG=INFO OMP_NUM_THREADS=2
torchrun --standalone --nproc-per-node=2 x.py
"""),
    "an image without a tag": ("JG603", """
#SBATCH --nodes=1
apptainer exec docker://rocm/pytorch python x.py
"""),
    "a word after the last directive's value": ("JG204", """
#SBATCH --nice 0
hostname
"""),
    "a typographic dash": ("JG204", """
#SBATCH –-nodes=2
hostname
"""),
    "a late part of a heterogeneous job": ("JG201", """
#SBATCH --nodes=1
hostname
#SBATCH hetjob
#SBATCH --nodes=2

# -n 4
#SBATCH -n 4
"""),
    "a late directive below a script in a heredoc": ("JG201", """
#SBATCH --nodes=1
cat > run.sh <<'END'
#!/bin/bash
python train.py
END
#SBATCH --mem=4G
bash run.sh
"""),
    "the first address in a number": ("JG108", """
#SBATCH --nodes=2
x=$((10#$(hostname -I | awk '{print $1}')))
./a $x
"""),
    "any placeholder in a directive": ("JG208", """
#SBATCH --time=<HH:MM:SS>  # of <4 hours>
hostname
"""),
    "a placeholder at the end of a line": ("JG001", """
#SBATCH --nodes=1
srun ./a.out <options>
"""),
    "several placeholders on a line": ("JG001", """
#SBATCH --nodes=1
srun -B <folder>:/mnt <path to a.sif> <folder>/run x
"""),
    "a folder for output and errors": ("JG210", """
#SBATCH --output=logs/%j.out --error=logs/%j.err
if [ -n "$A" ]; then mkdir -p logs; else sbatch b.sh; fi
"""),
    "only exit 0 after the run": ("JG305", """
#SBATCH --nodes=1
srun python train.py
echo done
exit 0
"""),
    "set -e after the run": ("JG305", """
#SBATCH --nodes=1
srun python train.py
set -e
sacct -j $SLURM_JOB_ID
"""),
    "pipefail after the pipe": ("JG304", """
#SBATCH --nodes=1
srun python train.py | tee log
set -o pipefail
"""),
    "a variable that a program reads": ("JG502", """
#SBATCH --nodes=1
FI_PROVIDER_PATH=/opt/fi
srun hostname
"""),
    "a static rendezvous at each node's own address": ("JG118", """
#SBATCH --nodes=2
srun bash -c "torchrun --nnodes 2 --node-rank \\$SLURM_NODEID --master-addr \\$(hostname -s) x.py"
"""),
    "a short option of PBS with =": ("JG215", """
#PBS -q=gpu
hostname
"""),
    "directives of a Python script": ("JG206", """
#!/usr/bin/env python3
#SBATCH --nodes=2
#SBATCH --nodes=4
print("it's")
"""),
    "a prompt with the host's name": ("JG214", """
#SBATCH --nodes=1
me@login1:~$ srun hostname
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_script_has_the_finding(name: str) -> None:
    code, text = BAD[name]
    found = problems_in(with_interpreter(text), "job.sh", Settings(select=(code,)))
    assert len(found) == (2 if code == "JG116" else 1)


GOOD = {
    "an id that is made once for all nodes": """
#SBATCH --nodes=2
export ID=$RANDOM
srun -n 2 bash -c 'torchrun --nnodes=2 --rdzv-id=$ID --rdzv-backend=c10d --rdzv-endpoint=$H x.py'
""",
    "jobs that are the nodes of one training, by hand": """
#SBATCH --nodes=1
torchrun --nnodes=4 --node_rank=3 --master_addr=10.0.0.1 --master_port=8999 x.py
""",
    "an option of the site with a value": """
#SBATCH --image docker:a/b
#SBATCH --nodes=2
srun hostname
""",
    "a message about usage": """
#SBATCH --nodes=1
echo "Usage: $0 <input path>"
""",
    "a comment after a directive": """
#SBATCH --account=physics  # the account of <project>
hostname
""",
    "commands in comments": """
#SBATCH --nodes=1
hostname
#sbatch --dependency=afterok:1 next.sh
""",
    "mails of several kinds": """
#SBATCH --mail-type=begin
#SBATCH --mail-type=end
hostname
""",
    "assignments on the line before a command": """
#SBATCH --nodes=1
DATA=a VIDEOS=b

# srun x
srun python main.py $DATA $VIDEOS
""",
    "a template": """
#SBATCH --nodes={{ nodes }}
{% if gpus %}
#SBATCH --gres=gpu:{{ gpus }}
{% endif %}
srun hostname
""",
    "started on each host over ssh": """
#SBATCH --nodes=2
for host in $(scontrol show hostnames); do
  ssh $host "torchrun --nnodes=2 --node-rank=$rank --master-addr=$head x.py" &
done
wait $!
""",
    "each node has its own rank, or needs none": """
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
srun bash -c 'torchrun --nnodes=2 --nproc-per-node=4 --node-rank=$SLURM_NODEID --master-addr=$H x'
srun bash -c "torchrun --nnodes=2 --nproc-per-node=4 --node-rank=\\$SLURM_NODEID x.py"
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$H:1234 x.py
srun -N 1 -w $H torchrun --nnodes=2 --nproc-per-node=4 --node-rank=0 --master-addr=$H x.py
""",
    "one job of the array at a time": """
#SBATCH --nodes=1
#SBATCH --array=0-9%1
torchrun --nproc-per-node=2 --master-port=29501 x.py
""",
    "jobs of an array that fill their nodes": """
#SBATCH --nodes=2
#SBATCH --array=0-9
#SBATCH --gres=gpu:8
srun --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=8 \
  --rdzv-backend=c10d --rdzv-endpoint=$H:29500 x.py
""",
    "one port, one launcher after the other, and as two nodes": """
#SBATCH --nodes=1
torchrun --nproc-per-node=2 --master-port=29501 a.py &
wait
torchrun --nproc-per-node=2 --master-port=29501 b.py &
wait
torchrun --nnodes=2 --node-rank=0 --nproc-per-node=2 --master-addr=$H --master-port=29501 c.py &
torchrun --nnodes=2 --node-rank=1 --nproc-per-node=2 --master-addr=$H --master-port=29501 c.py &
wait $!
""",
    "another program uses some of the GPUs": """
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
python serve.py &
torchrun --standalone --nproc-per-node=2 x.py
""",
    "GPUs by the partition": """
#SBATCH --nodes=1
#SBATCH --cpus-per-task=8
#SBATCH --partition=a100-long
export NCCL_DEBUG=INFO
torchrun --standalone --nproc-per-node=gpu x.py
""",
    "directives that fit": """
#SBATCH --nodes=2 --ntasks=4 --ntasks-per-node=2 --gpus=8 --gres=gpu:4 --nodelist=n[1-2] -x n3
#SBATCH --mem=0 --cpus-per-task=4 --exclusive
hostname
""",
    "variables for the next command": """
#SBATCH --nodes=1
set -e
srun python a.py
export LD_LIBRARY_PATH=$HOME/lib:$LD_LIBRARY_PATH
./report
""",
    "an image that was built here": """
#SBATCH --nodes=1
podman run localhost/ours:latest python x.py
enroot import dockerd://ours:latest
""",
    "a dollar sign that is no prompt": """
#SBATCH --nodes=1
awk '
  $ a == 1
' file
cat <<X
$ srun hostname
X
""",
    "a script of another shell": """
#!/usr/bin/tcsh -f
#SBATCH --nodes=1
if ($?A) then
  cat <in >out <user name>
endif
""",
    "dots for what is left out": """
#SBATCH --nodes=2
...
#SBATCH --time=1:00:00
hostname
""",
    "a shell with options": """
#!/usr/bin/env -S bash -l
#SBATCH --nodes=1
shopt -s extglob
rm -r !(*.err|*.out)
""",
    "another language after exit": """
#SBATCH --nodes=1
julia "$0"
exit
#SBATCH --nodes=2
println("Node: ", gethostname())
""",
    "a comment in a function": """
submit() {
  #PBS -t x-y: the array's bounds
  qsub job.sh
}
""",
    "other templates": """
#SBATCH --nodes=<%= nodes %>
#SBATCH --time=%(time)s
%(lines)s (
""",
    "the parts of a heterogeneous job": """
#SBATCH --nodes=1 --gres=gpu:4
#SBATCH packjob
#SBATCH --nodes=2
srun torchrun --nnodes=3 --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29500 x.py
""",
    "an e-mail address, and a message": """
#SBATCH --mail-user=<a.b@example.org>
cat <<X >job.sh
#SBATCH --time=<time>
X
: "${RUN:?set RUN to <your name>}"
""",
    "few hosts": """
#SBATCH --nodes=300
set -eo pipefail
A=$(scontrol show hostnames | head -n 1)
""",
    "a pipe in export, whose status is discarded": """
#SBATCH --nodes=500
export A=$(scontrol show hostnames | head -n 1)
set -eo pipefail
export B=$(scontrol show hostnames | head -n 1)
""",
    "Slurm's variables with their options, or tested": """
#SBATCH --nodes=1 --mem=4G -G 4
if [ -n "$SLURM_CPUS_PER_TASK" ]; then export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK; fi
srun python x.py $SLURM_GPUS ${SLURM_NTASKS_PER_NODE:-1}
""",
    "a node's own name, on one node": """
#SBATCH --nodes=2
srun -N 1 bash -c 'torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 x.py'
""",
    "privileges and images that are needed": """
#SBATCH --nodes=1
docker run --privileged alpine:3.20 sh -c "echo 3 > /proc/sys/vm/drop_caches"
apptainer build x.sif docker://rocm/pytorch
""",
    "tasks that start others": """
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:2
export WORLD_SIZE=4
srun python main.py
""",
}


@pytest.mark.parametrize("name", GOOD)
def test_good_script_has_no_finding(name: str) -> None:
    found = problems_in(with_interpreter(GOOD[name]), "job.sh", Settings())
    assert [str(problem) for problem in found] == []


def test_finding_on_the_empty_last_line_of_a_script_in_a_heredoc_has_a_place() -> None:
    text = "#!/bin/bash\nsbatch <<'EOF'\n#!/bin/bash\nrun() {\n"
    (found,) = problems_in(text, "job.sh", Settings())
    assert (found.code, found.mark[1:], found.end) == ("JG001", (5, 1), (5, 1))


def test_script_for_sbatch_in_a_heredoc_is_read_on_its_lines() -> None:
    text = """\
#!/bin/bash
N=2
jid=$(sbatch --parsable --export=$E <<EOF
#!/bin/bash
$MORE
#SBATCH --nodes=$N --error=\\$HOME/err
#SBATCH --output=$HOME/out --export=$E
echo $(date
) "é\\"" ; torchrun --nnodes=$N --rdzv-id=\\$RANDOM t.py
srun torchrun --nnodes=$N --rdzv-backend=c10d --rdzv-id=$RANDOM t.py
EOF
)
cat <<-'END' | sbatch
\t#!/bin/bash
\t#SBATCH --nodes=2
\ttorchrun --nnodes=2 t.py  # jobgen: ignore=JG101 why
\t torchrun --nnodes=2 t.py
\tEND
qsub -N a <<END
#PBS -l select=2:ngpus=4
torchrun --nnodes=2 t.py
END
cat > job.sh <<END
#!/bin/bash
#SBATCH --nodes=2
torchrun --nnodes=2 t.py
END
"""
    settings = Settings(ignore=("JG113", "JG114", "JG118"))
    found = problems_in(text, "job.sh", settings)
    assert [(each.code, each.mark.line, each.mark.column) for each in found] == [
        ("JG205", 6, 20),
        ("JG101", 9, 11),
        ("JG104", 9, 32),
        ("JG101", 17, 3),
        ("JG101", 21, 1),
    ]


def test_options_of_the_sbatch_command_replace_those_of_its_script() -> None:
    text = """\
#!/bin/bash
sbatch%s <<"END"
#!/bin/bash
#SBATCH --nodes=1 --gpus-per-node=4
srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$H t.py
END
"""
    codes = {problem.code for problem in problems_in(text % "", "job.sh", Settings())}
    assert {"JG102", "JG103"} <= codes
    assert problems_in(text % " -N 2 --gpus-per-node $G", "job.sh", Settings()) == []


def test_values_of_variables_are_bounded() -> None:
    chain = [f"V{i}={f'$V{i - 1}' * 10}" for i in range(1, 12)]
    script = read("V0=ab", *chain, "torchrun --nnodes=$V11 x.py")
    assert script.resolved("$V2") == "ab" * 100
    assert len(script.resolved("$V11$V5" * 9)) < 2 * LINT_VALUE_CHARACTERS


def test_list_of_too_many_hosts_is_ignored() -> None:
    text = f"#!/bin/bash\n#SBATCH --nodes=2 --nodelist={'a[1]' * 3000}\nhostname\n"
    assert problems_in(text, "job.sh", Settings(("JG211",))) == []


@pytest.mark.parametrize(
    ("place", "whole"),
    [
        *((place, True) for place in ("excl", "scatter:excl", "pack:exclhost:group=rack")),
        *((place, False) for place in ("scatter", "scatter:group=excl_rack", "group=r:shared")),
    ],
)
def test_a_place_of_whole_nodes(place: str, whole: bool) -> None:
    for line in (f"-l place={place}", f"-l select=2:ncpus=8,place={place}"):
        assert read(f"#PBS {line}").asks_for_whole_nodes == whole


def test_scripts_that_submit_scripts_are_read_to_a_bound() -> None:
    begins = [f"sbatch <<E{n}\n#!/bin/bash\n#SBATCH --nodess=2" for n in range(30)]
    ends = [f"E{n}" for n in reversed(range(30))]
    text = "\n".join(["#!/bin/bash", "#SBATCH --nodess=2", *begins, *ends, ""])
    found = problems_in(text, "job.sh", Settings(("JG203",)))
    assert len(found) == 1 + LINT_NESTING


def test_strings_that_run_strings_are_read_to_a_bound() -> None:
    command = "torchrun x.py"
    for _ in range(LINT_NESTING):
        command = f"eval {_quoted(command)}"
    assert len(torchruns(read(command))) == 1
    assert torchruns(read(f"eval {_quoted(command)}")) == []


def _quoted(command: str) -> str:
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("-j name", "sbatch has no option -j; did you mean -J, --job-name?"),
        ("-z name", "sbatch has no option -z; remove it"),
        (
            "-N 1 // nodes",
            "`//` is not an option: sbatch refuses the script; `//` begins no comment",
        ),
    ],
)
def test_message_says_what_a_stray_word_is(line: str, finding: str) -> None:
    (problem,) = problems_in(f"#!/bin/bash\n#SBATCH {line}\nhostname\n", "job.sh", Settings())
    assert f"{problem.text}; {problem.hint}".startswith(finding)


def test_deepspeed_is_started_once_with_a_hostfile() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=2\nsrun deepspeed --num_gpus=4 t.py\n"
    (problem,) = problems_in(text, "job.sh", Settings(select=("JG119",)))
    assert problem.hint == "start it once, without srun, with --hostfile"


def test_misspelt_option_in_quotes_has_no_mend() -> None:
    text = '#!/bin/bash\n#SBATCH "--partitionnn=gpu"\nhostname\n'
    (problem,) = problems_in(text, "job.sh", Settings())
    assert (problem.code, problem.edits) == ("JG203", ())

"""What is right, however unusual, has no finding; each case has once had a false one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.bounds import LINT_BYTES
from jobgen.lint.documents import scripts_in
from jobgen.lint.reader.parse import parse
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import rules
from jobgen.lint.run import lint, problems_in
from jobgen.lint.settings import Settings


def found_codes(script: str, file: str = "job.sh", profile: str | None = None) -> list[str]:
    return [each.code for each in problems_in(script, file, Settings((), (), profile))]


def document_codes(document: str) -> list[list[str]]:
    return [found_codes(script, "guide.rst") for script, _ in scripts_in(document)]


TWO_NODES = "#!/bin/bash\n#SBATCH --nodes=2\n"
NNODES = "torchrun --nnodes=8 --nproc-per-node=4"


@pytest.mark.parametrize(
    ("code", "before", "right", "wrong"),
    [
        (
            "JG103",
            "#!/bin/bash\n#SBATCH --gpus-per-node=1\n",
            "pair() {\n  torchrun --standalone --nproc-per-node=2 a.py\n  pair\n}\npython b.py\n",
            "pair() {\n  torchrun --standalone --nproc-per-node=2 a.py\n}\npair\n",
        ),
        (
            "JG103",
            "#!/bin/bash\n#SBATCH --gpus-per-node=1\n",
            "spare() { torchrun --standalone --nproc-per-node=2 a.py; }\nA=spar\n",
            'spare() { torchrun --standalone --nproc-per-node=2 a.py; }\nA=spare\n"$A"\n',
        ),
        (
            "JG102",
            TWO_NODES,
            f"index=$1\n{NNODES} --node-rank=$index --master-addr=n1 a.py\n",
            f"{NNODES} --rdzv-backend=c10d --rdzv-endpoint=n1:29500 a.py\n",
        ),
        (
            "JG102",
            "#!/bin/bash\n#SBATCH --nodes=16\n",
            f"for size in s m; do\n  {NNODES} --rdzv-endpoint=n1:29500 $size.py\ndone\n",
            f"{NNODES} --rdzv-endpoint=n1:29500 s.py\n",
        ),
        (
            "JG206",
            TWO_NODES,
            "#SBATCH --burst=a\n#SBATCH --burst=b\nsrun hostname\n",
            "#SBATCH --qos=a\n#SBATCH --qos=b\nsrun hostname\n",
        ),
        (
            "JG204",
            TWO_NODES,
            "#SBATCH --ntasks-per-node=4 \\\n#SBATCH ...\nsrun hostname\n",
            "#SBATCH --ntasks-per-node=4 \\ x\nsrun hostname\n",
        ),
        (
            "JG204",
            "#!/bin/bash\nmore=$1\nsbatch <<END\n#!/bin/bash\n",
            "#SBATCH --nodes=2 ${more} -p gpu\nhostname\nEND\n",
            "#SBATCH --nodes=2 more -p gpu\nhostname\nEND\n",
        ),
        (
            "JG601",
            "#!/bin/bash\n#PBS -N a\n",
            "cp a_$PBS_ARRAYID\\_b c\\_d\n",
            "cp a\\b c\\d\n",
        ),
        (
            "JG208",
            "#!/bin/bash\n",
            """evaluate --stop '{"until": ["Q:","<eot_id>", "<end_id>"]}'\n""",
            "evaluate --stop '<eot_id>'\n",
        ),
        (
            "JG405",
            "#!/bin/bash\n",
            "#SBATCH -N 2\nif [ $PBS_NODEFILE ]; then pbsdsh a.sh; else srun a.sh; fi\n",
            "#PBS -l select=2\npbsdsh a.sh\n",
        ),
        (
            "JG213",
            "#!/bin/bash\n#SBATCH --mem=64G\n",
            "# sbatch -N 2 -G 8 this.sh\ntorchrun --standalone --nproc-per-node=gpu a.py\n",
            "torchrun --standalone --nproc-per-node=gpu a.py\n",
        ),
        (
            "JG213",
            "#!/bin/bash\n#SBATCH --mem=64G\n",
            "export NCCL_DEBUG=INFO\nsrun torchrun --nnodes=$SLURM_NNODES a.py\n",
            "export NCCL_DEBUG=INFO\nsrun torchrun --nnodes=1 a.py\n",
        ),
        (
            "JG108",
            TWO_NODES,
            "ip=$(hostname -I | cut -d' ' -f 2)\nb=$(hostname -I | awk '{print $3}')\n./a $ip $b\n",
            "ip=$(hostname -I | cut -d' ' -f 1)\n./a $ip\n",
        ),
        (
            "JG113",
            f'{TWO_NODES}L="accelerate launch --num_machines 2 --main_process_ip $HEAD"\n',
            "srun bash -c 'set -x\n'\"$L\"' --machine_rank $SLURM_NODEID a.py'\n",
            "srun $L --machine_rank $SLURM_NODEID a.py\n",
        ),
        (
            "JG201",
            "#!/bin/bash\n#SBATCH --nodes=1\nsrun ./a\n",
            "#!/bin/bash\n#SBATCH --nodes=2\nsrun ./b\n",
            "#SBATCH --nodes=2\nsrun ./b\n",
        ),
        (
            "JG206",
            TWO_NODES,
            "#SBATCH --hint=nomultithread\n#SBATCH --hint=memory_bound\nsrun ./a\n",
            "#SBATCH --distribution=block\n#SBATCH --distribution=cyclic\nsrun ./a\n",
        ),
        (
            "JG507",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\n",
            "#SBATCH -J debug_loader\nexport CUDA_LAUNCH_BLOCKING=1\nsrun ./a\n",
            "#SBATCH -J loader\nexport CUDA_LAUNCH_BLOCKING=1\nsrun ./a\n",
        ),
        (
            "JG105",
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=8\n",
            "#SBATCH --ntasks=1\nsrun torchrun --nproc-per-node=8 a.py\n",
            "#SBATCH --ntasks=8\nsrun torchrun --nproc-per-node=8 a.py\n",
        ),
        (
            "JG210",
            "#!/bin/bash\n#SBATCH --output=logs/%j.out\nmkdir -p logs\n",
            'if [ "$SLURM_JOB_ID" ]; then exec ./a; fi\nexec sbatch "${BASH_SOURCE[0]}"\n',
            "exec sbatch next.sh\n",
        ),
        (
            "JG217",
            "#!/bin/bash\n",
            "#SBATCH --nodes=##count\n#SBATCH --gres=gpu:##gpus\nsrun ./a\n",
            "#SBATCH --nodes=  ##count\n#SBATCH --gres=gpu: ##gpus\nsrun ./a\n",
        ),
        (
            "JG204",
            TWO_NODES,
            "#SBATCH option_name=argument\nsrun ./a\n",
            "#SBATCH partition=gpu\nsrun ./a\n",
        ),
        (
            "JG304",
            f"{TWO_NODES}set -e\n",
            "srun python t.py > log\npython plot.py\n",
            "srun python t.py | tee log\npython plot.py\n",
        ),
        (
            "JG304",
            f"{TWO_NODES}",
            "make | grep -q done || exit 1\nls | head -n 1 || exit 1\n",
            "make -j 8 | tail -n 5 || exit 1\n",
        ),
        (
            "JG305",
            f"{TWO_NODES}mkdir -p a || true\n[ -e b ] || exit 1\n",
            "srun python t.py || exit 1\ndate\n",
            "srun python t.py\ndate\n",
        ),
        (
            "JG305",
            TWO_NODES,
            'srun python t.py\nexit "$(python check.py)"\n',
            'srun python t.py\necho "ended at $(date)"\n',
        ),
        (
            "JG305",
            f"{TWO_NODES}srun python t.py\n",
            "status=$?\necho done\nexit $status\n",
            "echo done, with the status $?\n",
        ),
        (
            "JG305",
            f"{TWO_NODES}srun -N 1 python t.py &\n",
            "wait $!\n",
            "wait\n",
        ),
        (
            "JG208",
            "#!/bin/bash\n",
            "#SBATCH -A myproject -p gpu --mail-user=a@my.org -w n[1-2] -o your_log\nsrun ./a\n",
            "#SBATCH -A my_account\nsrun ./a\n",
        ),
        (
            "JG208",
            "#!/bin/bash\n#PBS -q workq\n",
            "#PBS -A physics\nmpiexec ./a\n",
            "#PBS -A [project]\nmpiexec ./a\n",
        ),
        (
            "JG208",
            "#!/bin/bash\n",
            "#SBATCH --mail-user=someone@example.org\nsrun ./a\n",
            "#SBATCH --mail-user=your.name@example.org\nsrun ./a\n",
        ),
        (
            "JG210",
            "#!/bin/bash\n#SBATCH --output=logs/%j.out\n",
            "mkdir -p /scratch/logs results/logs\n./a\n",
            'mkdir -p "$SLURM_SUBMIT_DIR/logs/sub"\n./a\n',
        ),
        (
            "JG211",
            "#!/bin/bash\n#SBATCH --gres=gpu:4\n",
            "#SBATCH --gpus=4 --nodes=1\nsrun ./a\n",
            "#SBATCH --gpus-per-node=4\nsrun ./a\n",
        ),
        (
            "JG406",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=1 --cpus-per-task=32\n",
            "export OMP_NUM_THREADS=8\nsrun torchrun --nproc-per-node=4 a.py\n",
            "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun torchrun --nproc-per-node=4 a.py\n",
        ),
        (
            "JG406",
            "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --cpus-per-task=8\n",
            "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\ntorchrun --nproc-per-node=4 a.py\n",
            "export OMP_NUM_THREADS=16\ntorchrun --nproc-per-node=4 a.py\n",
        ),
        (
            "JG126",
            TWO_NODES,
            "srun --chdir src cdhit\nsrun bash -c 'cd a && ./b'\n",
            "srun -N 2 --mem 4G source env.sh\n",
        ),
        (
            "JG127",
            f"{TWO_NODES}srun python serve.py &\n",
            "wait $!\nsrun python client.py\n",
            "srun python client.py | tee log\n",
        ),
        (
            "JG127",
            TWO_NODES,
            "srun -N 1 python serve.py &\nsrun -N 1 python client.py\n",
            "srun --label python serve.py &\nsrun -N 1 python client.py\n",
        ),
        (
            "JG127",
            f"{TWO_NODES}srun python serve.py &\n",
            "srun --overlap nvidia-smi\n",
            "srun nvidia-smi\n",
        ),
        (
            "JG308",
            f"{TWO_NODES}srun -N 1 ray start --head --block &\nsrun -n 1 python t.py &\n",
            "wait $!\nray stop\n",
            "wait\necho done\n",
        ),
        (
            "JG609",
            "#!/bin/bash\n",
            "export HF_TOKEN=hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx WANDB_API_KEY=$KEY\n"
            "export RUN_TOKEN=experiment-2025-11-02-a100-run\n"
            "cd /data/run-sk-proj-with-a-long-name-of-many-words-and-a-number-0123456789\n",
            "export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\n",
        ),
        (
            "JG504",
            TWO_NODES,
            "A=b.txt\n\\cp -f $A c.txt\n",
            "A=b.txt cp -f $A c.txt\n",
        ),
    ],
)
def test_right_has_no_finding_and_wrong_has_one(
    code: str, before: str, right: str, wrong: str
) -> None:
    assert code not in found_codes(before + right)
    assert code in found_codes(before + wrong)


SEED = "#SEED=7\n"
USES_SEED = "srun python train.py --seed $SEED\n"


@pytest.mark.parametrize(
    "text",
    [
        f"#SEED=$1\n{USES_SEED}",
        f"#SEED=7 or another number\n{USES_SEED}",
        f"#SBATCH --export=ALL,SEED=7\n{SEED}{USES_SEED}",
        f"# sbatch --export=SEED=7 job.sh\n{SEED}{USES_SEED}",
        f"# who submits the job sets SEED\n{SEED}{USES_SEED}",
        f'{SEED}[ -z "$SEED" ] && exit 1\n{USES_SEED}',
    ],
)
def test_variable_that_is_given_from_outside_is_not_only_in_a_comment(text: str) -> None:
    assert "JG505" not in found_codes(TWO_NODES + text)
    assert "JG505" in found_codes(TWO_NODES + SEED + USES_SEED)


@pytest.mark.parametrize(
    ("profile", "option", "right", "wrong"),
    [
        ("sites/lumi-g", "#SBATCH -p small-g\n#SBATCH --time={}", "3-0", "3-01"),
        ("sites/lumi-g", "#SBATCH -p small-g\n#SBATCH --nodes={}", "4", "5"),
        ("sites/lumi-g", "#SBATCH --time={}", "48:00:00", "3-0"),
        ("sites/lumi-g", "#SBATCH -p small-g,dev-g\n#SBATCH -N {}", "32", "33"),
        ("sites/frontier", "#SBATCH -N 91\n#SBATCH --time={}", "2:00:00", "2:00:01"),
        ("sites/frontier", "#SBATCH -N 183\n#SBATCH --time={}", "6:00:00", "6:00:01"),
        ("sites/frontier", "#SBATCH -N 184\n#SBATCH -q debug\n#SBATCH -t {}", "2:00:00", "2:00:01"),
        ("sites/lumi-g", "#SBATCH -p bench\n#SBATCH -N {}", "2000", "many"),
        ("sites/polaris", "#PBS -q debug\n#PBS -l select=1,walltime={}", "01:00:00", "01:00:01"),
        ("sites/polaris", "#PBS -q debug\n#PBS -l select={}:ncpus=64", "2", "3"),
        ("sites/polaris", "#PBS -q debug\n#PBS -l nodes={}:ppn=64", "2", "3"),
    ],
)
def test_limits_are_those_of_the_script_s_partition(
    profile: str, option: str, right: str, wrong: str
) -> None:
    for value in (right, wrong):
        script = f"#!/bin/bash\n{option.format(value)}\nhostname\n"
        found = [code for code in found_codes(script, profile=profile) if code == "JG703"]
        assert found == ["JG703"] * (value == wrong and value != "many")


def test_options_that_are_new_in_slurm_or_of_a_site_are_no_mistakes() -> None:
    options = (
        *("segment=8", "requeue=expedite", "oom-kill-step", "stepmgr", "consolidate-segments"),
        *("spread-segments", "external", "resources=a:1", "mem-update=60@1", "gpu_cmode=shared"),
    )
    lines = "".join(f"#SBATCH --{option}\n" for option in options)
    steps = "srun --async --parsable ./a\nsrun --wait-for-children --oom-kill-step=1 ./b\n"
    assert found_codes(f"#!/bin/bash\n#SBATCH --nodes=16\n{lines}{steps}") == []


def test_option_for_gpus_is_not_wanted_where_the_profile_has_none() -> None:
    rule = rules()["JG702"]
    assert "JG702" in found_codes(rule.bad, profile=rule.profile)
    script = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:1\nhostname\n"
    assert "JG702" not in found_codes(script, profile="mi210")


@pytest.mark.parametrize(
    ("gpu_option", "directive", "cure"),
    [
        ("gres", "--nodes=2", "--gres=gpu:a100:8"),
        ("gpus-per-node", "--nodes=2", "--gpus-per-node=a100:8"),
        ("gpus-per-task", "--ntasks-per-node=4", "--gpus-per-task=a100:2"),
        ("gpus-per-task", "--nodes=2", "--gpus-per-task=a100:N"),
        ("gpus", "--nodes=2", "--gpus=a100:16 --gpus-per-node=a100:8"),
        ("gpus", "--nodes=1", "--gpus=a100:8"),
        ("gpus", "--time=1:00:00", "--gpus=a100:N --gpus-per-node=a100:8"),
    ],
)
def test_gpus_are_requested_by_the_option_of_the_profile(
    tmp_path: Path, gpu_option: str, directive: str, cure: str
) -> None:
    file = tmp_path / "site.yaml"
    node, request = "{gpus: 8, gpu: nvidia, gpu_type: a100}", f"{{gpu_option: {gpu_option}}}"
    file.write_text(f"scheduler: slurm\nnode: {node}\nrequest: {request}\n")
    script = f"#!/bin/bash\n#SBATCH {directive}\nhostname\n"
    found = problems_in(script, "job.sh", Settings((), (), str(file)))
    assert [each.hint for each in found if each.code == "JG702"] == [f"add #SBATCH {cure}"]


@pytest.mark.parametrize(
    ("option", "gpu_option", "request_of", "is_found"),
    [
        ("ncpus", "ngpus", "ncpus=96", True),
        ("ncpus", "ngpus", "ncpus=96\n#PBS -l ngpus=8", False),
        ("nodes", "gpus", "nodes=2:ppn=48", True),
        ("nodes", "gpus", "nodes=2:ppn=48:gpus=4", False),
        ("select", "ngpus", "ncpus=96", False),
    ],
)
def test_gpus_of_a_cluster_without_select(
    tmp_path: Path, option: str, gpu_option: str, request_of: str, is_found: bool
) -> None:
    keys = f"{{resource_option: {option}, gpu_option: {gpu_option}}}"
    file = tmp_path / "site.yaml"
    file.write_text(f"scheduler: pbs\nnode: {{cpus: 48, gpus: 4, gpu: nvidia}}\nrequest: {keys}\n")
    script = f"#!/bin/bash\n#PBS -l {request_of}\n#PBS -l walltime=1:00:00\nhostname\n"
    assert ("JG702" in found_codes(script, profile=str(file))) == is_found


# ---- documents ----

JOB = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH -p gpu fast\n"


def indented(text: str, blanks: int) -> str:
    return re.sub("^(?=.)", " " * blanks, text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "document",
    [
        ".. code-block:: bash\n   :linenos:\n   :caption: A job\n\n" + indented(JOB, 3),
        ".. code:: bash\n\n" + indented(JOB, 3),
        ".. tabs::\n\n   .. group-tab:: Slurm\n\n      .. code-block:: bash\n\n" + indented(JOB, 9),
        ".. tabs::\n\n   .. code-tab:: bash A job\n\n" + indented(JOB, 6),
        ".. tab-set::\n\n   .. tab-item:: Slurm\n\n      Run::\n\n" + indented(JOB, 9),
        ".. note::\n\n   Text.\n\n   .. code:: bash\n\n" + indented(JOB, 6),
        "!!! note\n    ```bash\n" + indented(JOB, 4) + "    ```\n",
        '=== "Slurm"\n\n    ```bash title="job.sh"\n' + indented(JOB, 4) + "    ```\n",
        "````{note}\n```{code-block} bash\n:linenos:\n" + JOB + "```\n````\n",
        ":::{tab-item} Slurm\n```\n" + JOB + "```\n:::::\n",
    ],
)
def test_script_in_a_document_is_read(document: str) -> None:
    after = "\nText.\n\n.. code:: bash\n\n" + indented(JOB, 2)
    assert document_codes(document + after) == [["JG204"], ["JG204"]]


def test_what_is_no_script_in_a_document_is_not_read() -> None:
    document = (
        ".. literalinclude:: job.sh\n   :language: bash\n\n.. #SBATCH -N 1::\n\n   #SBATCH -N\n"
    )
    assert document_codes(document) == []


def test_placeholders_and_annotations_of_a_document_are_no_mistakes() -> None:
    job = (
        "#!/bin/bash\n#SBATCH -A a (1)\n#SBATCH -p <name>\n#SBATCH --nodes=2 # (2)!\n#SBATCH ...\n"
        "#SBATCH --array=1-2\n#SBATCH --array=1,2\n...\nexport A=<a folder>/b\n"
        "cd /home/<your-name>\nmodule load <module>\n"
    )
    document = f"```\n{job}```\n\n1. Yours.\n"
    assert document_codes(document) == [[]]
    ((script, _),) = scripts_in(document)
    assert script.splitlines()[9:11] == ["export A=_a_folder_/b", "cd /home/_your_name_"]
    assert {"JG001", "JG204", "JG206", "JG208"} <= set(found_codes(job))


def test_parts_of_scripts_in_a_document_have_no_late_directives() -> None:
    parts = "#SBATCH --mem=1G\n./a\n\n#SBATCH --mem=2G\n./b\n"
    assert document_codes(f"```\n{parts}```\n") == [[]]
    assert document_codes(f"```\n#!/bin/bash\n{parts}```\n") == [["JG201"]]


def test_message_between_angle_brackets_is_no_placeholder() -> None:
    script = '#!/bin/bash\n#SBATCH -N 1\n./a "b\necho "<---- End ---->"\n'
    (problem,) = problems_in(script, "job.sh", Settings())
    assert problem.code == "JG001"
    assert "placeholder" not in problem.text


def test_lines_of_both_schedulers_in_a_document_are_examples() -> None:
    lines = "#SBATCH --account=a\n#PBS -W group_list=a\n"
    assert document_codes(f"```\n{lines}```\n") == [[]]
    assert document_codes(f"```\n#!/bin/bash\n{lines}```\n") == [["JG207"]]


def test_command_whose_beginning_a_document_omits_is_not_cut() -> None:
    rest = "  --data [YOUR FOLDER] \\\n  --epochs 10\n"
    head = "#!/bin/bash\n#SBATCH --mem=[##G]\n#SBATCH --nodes=#\n#SBATCH -n <tasks>\n"
    assert document_codes(f"```\n{head}...\n{rest}```\n") == [[]]
    assert document_codes(f"```\n{head}srun ./a\n{rest}```\n") == [["JG605"]]


def test_program_of_another_language_in_a_document_is_no_shell_script() -> None:
    program = "#SBATCH --nodes=1\nif a > 1: print('b)\n"
    assert document_codes(f"Text.\n\n```\n#!/bin/env python3\n{program}```\n") == [[]]
    assert document_codes(f"Text.\n\n```\n#!/bin/bash\n{program}```\n") == [["JG001"]]


def test_script_with_names_for_another_program_to_replace_is_a_template(tmp_path: Path) -> None:
    file = tmp_path / "job.sub"
    file.write_text('#!/bin/bash\n#SBATCH -t @WALLTIME@\n#SBATCH @("@A@" != "" ? "" : "")@\n')
    outcome = lint([str(file)], Settings())
    assert (outcome.problems, outcome.skipped) == ([], 1)
    file.write_text("#!/bin/bash\n#SBATCH -o <<<log>>>\nsource <<<settings>>>\n")
    assert lint([str(file)], Settings()).problems == []
    file.write_text("#!/bin/bash\n#SBATCH --mail-user=a@example.org odd\n")
    assert [each.code for each in lint([str(file)], Settings()).problems] == ["JG204"]


def test_carriage_returns_of_a_document_are_not_the_scripts() -> None:
    assert document_codes(f"```\n{JOB}```\n".replace("\n", "\r\n")) == [["JG204"]]


# ---- what bash parses ----


def read(*lines: str) -> Script:
    return parse("\n".join(["#!/bin/bash", *lines]), "job.sh")


@pytest.mark.parametrize(
    "line",
    [
        'echo "${hosts[@]:$first:$count}" ${name:$first}',
        "n=$((10#$number + 1))",
        "[ 10#$number -lt 3 ]",
        "echo ${table[$row,$column]}",
        "bc <<END 2>/dev/null &\n1+1\nEND",
        "python - <<'END' 2>&1 | tee log\nprint(1)\nEND",
        "<<END\nisn't read\nEND",
        "cat > a.sh <<'RANK'\nRANK=$1\nRANKS=`echo\nRANK",
        "rm !(keep|this).log",
        '[ "$a" \\> "$b" ]',
        "if [ !-d a ]; then mkdir a; fi",
        '[[ $a =~ "x "(.*) ]]',
        "head=${SLURM_JOB_NODELIST%%[*}",
        "a=`echo b, | sed s/,$//g`",
        "echo a \\",
    ],
)
def test_what_bash_parses_is_read_in_full(line: str) -> None:
    script = read("echo 1", line, "srun --nodes=2 hostname")
    assert script.parse_error is None
    last = script.commands[-1]
    if not line.endswith("\\"):
        assert [word.text for word in last.words] == ["srun", "--nodes=2", "hostname"]
        assert (last.line, last.column) == (line.count("\n") + 4, 1)


def test_heredoc_ends_where_bash_ends_it() -> None:
    script = read("cat > a.sh <<END", "ENDING=1", "srun a", "END", "srun b")
    assert [command.name for command in script.commands] == ["cat", "srun"]
    assert [assignment.name for assignment in script.assignments] == []


def test_words_are_those_of_the_script_however_it_is_parsed() -> None:
    script = read('echo "${a[@]:$b:$c}" é $((10#$d)) ${e%%[*} !(f)', "<<END", "#SBATCH -N 1", "END")
    words = [word.text for word in script.commands[0].words]
    assert words == ["echo", "${a[@]:$b:$c}", "é", "$((10#$d))", "${e%%[*}", "!(f)"]
    assert script.directives == []


INNER = "#!/bin/bash\n#SBATCH -N 1 x\nhostname\n"


@pytest.mark.parametrize(
    "document",
    [
        "Title\n~~~~~\n\nRun::\n\n" + INNER.replace("\n", "\n   ").join(["   ", ""]),
        "~~~~~\nTitle\n~~~~~\n\n.. code-block:: bash\n\n   host> cat job.sh\n"
        + INNER.replace("\n", "\n   ").join(["   ", "host> sbatch job.sh\n   #SBATCH x\n"]),
        "Text\n\n" + INNER.replace("\n", "\n    ").join(["    ", "\n"]) + "\nMore text.\n",
        "Text that is longer\n~~~\n" + INNER + "~~~\n",
        "```\n$ cat job.sh\n" + INNER + "```\n",
    ],
)
def test_document_shows_its_scripts(document: str) -> None:
    assert document_codes(document) == [["JG204"]]


@pytest.mark.parametrize(
    "lines",
    [
        "#SBATCH -p (your partition)\nhostname",
        "hostname\nsrun python {{ program }} <a",
        "#SBATCH --mem=4G\n\n# or\n#SBATCH --mem-per-cpu=1G\nhostname",
    ],
)
def test_document_may_have_placeholders_and_alternatives(lines: str) -> None:
    assert document_codes(f"Run::\n\n  #!/bin/bash\n  {lines}\n".replace("\n#", "\n  #")) == [[]]


def test_makefile_or_template_that_is_named_gets_a_note(tmp_path: Path) -> None:
    (tmp_path / "fill.sh").write_text("#!/bin/bash\nsed s/'<name>'/$1/ head.sh > job.sh\n")
    too_large = "sed s/'<name>'/$1/ other.sh > job.sh\n".ljust(LINT_BYTES + 1, "#")
    (tmp_path / "large.sh").write_text(too_large)
    header = "#SBATCH --account=<name>\nsrun ./a\n"
    for name, text, is_noted in (
        ("Makefile", "all:\n\t@echo $(A\n", True),
        ("head.sh", header, True),
        ("other.sh", header, False),
        ("job.sh.j2", "#!/bin/bash\n{{ software }}\nexit 0 )\n", True),
        ("job.sh.example", "#!/bin/bash\n#SBATCH -N 1 x\n", False),
    ):
        (tmp_path / name).write_text(text)
        outcome = lint([str(tmp_path / name)], Settings())
        assert (len(outcome.notes), bool(outcome.problems)) == (is_noted, not is_noted), name
        assert outcome.unread == []

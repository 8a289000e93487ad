"""What is possible and probably not meant: one line on stderr each, and stdout stays the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobgen.generator import find_profiles
from jobgen.paths import bundled
from jobgen.planner.advice import is_secret
from tests.helpers import jobgen

SBATCH = ("sbatch", "--profile", "slurm.yaml")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JOBGEN_PROFILE", raising=False)
    Path("slurm.yaml").write_text("scheduler: slurm\n")
    Path("train.py").touch()


def messages(*words: str, env: dict[str, str] | None = None) -> list[str]:
    """The lines on stderr of a command that succeeds."""
    done = jobgen(*words, env=env)
    assert done.returncode == 0
    return [line.removeprefix("jobgen: ") for line in done.stderr.decode().splitlines()]


SECRETS = ("WANDB_API_KEY", "HF_TOKEN", "SECRET", "DB_PASSWORD", "MY_SECRET_2", "api_key", "APIKEY")
HARMLESS = (
    *("TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEYS", "MONKEY", "TOKEN_LENGTH", "SSH_KEY_FILE"),
    *("NCCL_NET", "NCCL_KEY", "FI_CXI_AUTH_KEY", "UCX_TOKEN", "KEYBOARD", "TOKEN_FILE", "PATH"),
)


@pytest.mark.parametrize("name", [*SECRETS, *HARMLESS])
def test_a_secret_is_known_by_a_word_of_its_name(name: str) -> None:
    assert is_secret(name, "0123456789abcdef") == (name in SECRETS)


@pytest.mark.parametrize(
    "value", ["", "1", "512", "true", "none", "/run/secrets/x", "~/.token", "$HF_TOKEN", "${A}/x"]
)
def test_a_path_a_number_or_a_variable_is_no_secret(value: str) -> None:
    assert not is_secret("HF_TOKEN", value)
    assert is_secret("HF_TOKEN", f"{value}hf_abc$") or value.startswith(("/", "~", "${A}/"))


def test_a_secret_that_would_stand_in_the_script_is_mentioned() -> None:
    plain = jobgen(*SBATCH, "-e", "HF_TOKEN=hf_0", "--", "train.py")
    assert plain.stdout.startswith(b"#!/bin/bash")
    hint = "export HF_TOKEN where you submit, and use -e HF_TOKEN without the value [secret]"
    text = "the value of HF_TOKEN would stand in a script, which is committed and shown to others"
    program = ("--", "train.py")
    assert messages(*SBATCH, "-e", "HF_TOKEN=hf_0", *program) == [f"warning: -e: {text}; {hint}"]
    assert messages(*SBATCH, "-e", "HF_TOKEN", *program) == []
    path = "network.environment.HF_TOKEN"
    assert messages(*SBATCH, "--set", f"{path}=hf_0", *program) == [
        f"warning: --set {path}: {text}; {hint}"
    ]
    for command in (("local",), ("byhand", "--profile", "slurm.yaml", "--hosts", "a")):
        (line,) = messages(*command, "-e", "HF_TOKEN=hf_0", *program)
        assert line.endswith("[secret]")
    file = Path("secret.yaml")
    file.write_text("scheduler: slurm\nnetwork: {environment: {HF_TOKEN: hf_0}}\n")
    place = "secret.yaml:2:35"
    assert messages("sbatch", "--profile", "secret.yaml", *program) == [
        f"warning: {place}: {text}; {hint}"
    ]
    done = jobgen("profiles", "validate", "secret.yaml")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().splitlines()[0] == f"jobgen: warning: {place}: {text}; {hint}"
    # What the job does not use stands in no script.
    assert messages("sbatch", "--profile", "secret.yaml", "-e", "HF_TOKEN", *program) == []


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("$(cat id)", "$("),
        ("a${IB:-ib0}", "${IB:-"),
        ("${IB-ib0}", "${IB-"),
        ("$IB/${IB}", ""),
        ("5$$(x)", ""),
        ("(a) {b:-c}", ""),
    ],
)
def test_a_variable_that_only_a_shell_would_fill_in_is_mentioned(value: str, part: str) -> None:
    text = f"scheduler: slurm\nnetwork: {{environment: {{A: '{value}'}}}}\n"
    Path("cluster.yaml").write_text(text)
    lines = messages("sbatch", "--profile", "cluster.yaml", "--", "train.py")
    assert len(lines) == bool(part)
    assert all(f"`{part}` stays as it is" in line and '"export A=…"' in line for line in lines)


FABRIC = "node: {gpus: 4, gpu: nvidia, cpus: 8}\nnetwork: {interface: hsn0}\nrequest: {nodes: 2}\n"


@pytest.mark.parametrize(
    ("text", "base"),
    [
        (FABRIC, "fabrics/slingshot"),
        (FABRIC.replace("hsn0", "ib0"), "fabrics/infiniband"),
        (FABRIC.replace("hsn0", "[eth0, ib1]"), "fabrics/infiniband"),
        (FABRIC.replace("hsn0", "eth0"), ""),
        (FABRIC.replace("nvidia", "none"), ""),
        (f"extends: fabrics/slingshot\n{FABRIC}", ""),
        (f"extends: fabrics/infiniband\n{FABRIC.replace('hsn0', 'ib0')}", ""),
        (FABRIC.replace("hsn0", "hsn0, environment: {FI_PROVIDER: cxi}"), ""),
        (FABRIC.replace("hsn0", "hsn0, environment: {NCCL_NET: null}"), ""),
        (FABRIC.replace("hsn0", "hsn0, environment: {OTHER: 1}"), "fabrics/slingshot"),
    ],
)
def test_an_interface_of_a_fabric_without_its_variables_is_mentioned(text: str, base: str) -> None:
    Path("cluster.yaml").write_text(f"scheduler: slurm\n{text}")
    program = ("sbatch", "--profile", "cluster.yaml", "--", "train.py")
    for lines in (messages(*program), messages("profiles", "validate", "cluster.yaml")[:-1]):
        assert len(lines) == bool(base)
        for line in lines:
            where = " on Slingshot 11, with the plugin" if base == "fabrics/slingshot" else ";"
            assert f"; `extends: {base}`{where}" in line
            assert "; to silence this" in line
            assert line.startswith("warning: cluster.yaml:")
    assert messages(*program[:3], "-N", "1", "--", "train.py") == []
    assert messages(*program[:3], "-e", "NCCL_NET=Socket", "--", "train.py") == []


@pytest.mark.parametrize(
    ("request_text", "is_mentioned"),
    [
        ("{}", True),
        ("{gpu_option: ngpus}", False),
        ("{gpu_option: none}", False),
        ("{chunk: {gpu_type: a100}}", True),
        ("{chunk: {gpu_mem: 80}}", True),
        ("{constraint: gpu_model=a100}", True),
        ("{chunk: {naccelerators: 4}}", False),
        ("{constraint: gpu_type=a100:gpus=4}", False),
        ('{directives: ["-l accelerators=4"]}', False),
    ],
)
def test_gpus_that_pbs_is_not_asked_for_are_mentioned(
    request_text: str, is_mentioned: bool
) -> None:
    Path("cluster.yaml").write_text(
        f"scheduler: pbs\nnode: {{gpus: 4, gpu: nvidia, cpus: 8}}\nrequest: {request_text}\n"
    )
    program = ("qsub", "--profile", "cluster.yaml", "--", "train.py")
    text = "warning: cluster.yaml:2:14: a node has 4 GPUs, and PBS is asked for none; write"
    hint = " `request.gpu_option: ngpus`; or `none`, if the queue assigns GPUs by itself [gpus]"
    wanted = [f"{text}{hint}"] if is_mentioned else []
    assert messages(*program) == wanted
    assert messages("profiles", "validate", "cluster.yaml")[:-1] == wanted
    assert messages(*program[:3], "-G", "0", "--", "train.py") == []


@pytest.mark.parametrize(
    ("node", "words", "is_mentioned"),
    [
        ("{cpus: 8, gpus: 4}", (), True),
        ("{cpus: 8, gpus: 4, gpu: none}", (), False),
        ("{cpus: 8, gpus: 4, gpu: nvidia}", (), False),
        ("{cpus: 8, gpus: 4}", ("--set", "node.gpu=amd"), False),
        ("{cpus: 8, gpus: 4}", ("-G", "0"), False),
        ("{cpus: 8}", (), False),
    ],
)
def test_gpus_whose_vendor_nobody_wrote_are_mentioned(
    node: str, words: tuple[str, ...], is_mentioned: bool
) -> None:
    """The default, none, hides the GPUs that the job asks for from its ranks."""
    Path("cluster.yaml").write_text(f"scheduler: slurm\nnode: {node}\n")
    text = "warning: cluster.yaml:2:23: node.gpu is not set: the ranks run on the CPU, "
    text += "and see no GPU; "
    hint = "`node.gpu: nvidia` (or amd, intel), or `node.gpu: none` if that is meant [gpus]"
    wanted = [f"{text}{hint}"] if is_mentioned else []
    assert messages("sbatch", "--profile", "cluster.yaml", *words, "--", "train.py") == wanted
    if not words:
        assert messages("profiles", "validate", "cluster.yaml")[:-1] == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "launcher", "message"),
    [
        ("cpus_per_task=1", "torchrun", "4 ranks on a node share 1 core; "),
        ("cpus_per_node=3", "node", "4 ranks on a node share 3 cores; "),
        ("cpus_per_task=4", "torchrun", ""),
        ("cpus_per_task=1", "srun", ""),  # a core for each rank
    ],
)
def test_ranks_that_share_a_core_are_mentioned(key: str, launcher: str, message: str) -> None:
    """The roll call expects as many cores as the job requests, and finds nothing wrong."""
    values = ("--set", f"request.{key}", "--set", "launch.processes_per_node=4")
    found = messages(*SBATCH, *values, "--launcher", launcher, "--", "train.py")
    hint = "`request.cpus_per_node: 4` or more [cores]"
    mark = f"--set request.{key.partition('=')[0]}"
    assert found == ([f"warning: {mark}: {message}{hint}"] if message else [])


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("slurm", (), "Slurm gives all ranks of a node together one core (or DefCpuPerGPU"),
        ("slurm", ("--launcher", "srun"), "Slurm gives each rank one core"),
        ("slurm", ("--exclusive",), ""),
        ("slurm", ("-G", "0"), ""),
        ("slurm", ("--set", "node.cpus=16"), ""),
        ("slurm", ("--set", "request.cpus_per_gpu=4"), ""),
        ("pbs", (), "PBS gives all ranks of a node together one core (ncpus=1"),
        ("pbs", ("--set", "request.cpus_per_node=4"), ""),
    ],
)
def test_cores_that_the_profile_does_not_know_are_mentioned(
    text: str, words: tuple[str, ...], message: str
) -> None:
    """Slurm's numbers: tests/cluster/test_cores.py."""
    Path("cluster.yaml").write_text(
        f"scheduler: {text}\nnode: {{gpus: 4, gpu: none}}\nrequest: {{gpu_option: none}}\n"
    )
    command = "sbatch" if text == "slurm" else "qsub"
    lines = messages(command, "--profile", "cluster.yaml", *words, "--", "train.py")
    start = f"warning: cluster.yaml:2:14: node.cpus is not set, and {message}"
    assert [line[: len(start)] for line in lines] == ([start] if message else [])
    assert all("; `node.cpus: N`, the cores of a node: `" in line for line in lines)
    if not words:
        assert messages("profiles", "validate", "cluster.yaml")[:-1] == lines


@pytest.mark.parametrize(
    ("command", "time", "message"),
    [
        ("sbatch", "2:00", "2:00 is 2 minutes and 0 seconds; write 2h for hours, or 2m ["),
        ("sbatch", "1:30", "1:30 is 1 minutes and 30 seconds; write 1h30m for hours, or 1m30s ["),
        ("sbatch", "90", ""),
        ("sbatch", "2:00:00", ""),
        ("sbatch", "24h", ""),
        ("sbatch", "3600", "3600 is 3600 minutes for Slurm; write 3600s for seconds, or 3600m ["),
        ("qsub", "90", "90 is 90 seconds for PBS; write 90h, 90m or 90s ["),
        ("qsub", "24:00", "24:00 is 24 minutes and 0 seconds; write 24h for hours, or 24m ["),
        ("qsub", "5400", ""),
        ("qsub", "1d", ""),
    ],
)
def test_a_walltime_of_two_meanings_is_mentioned(command: str, time: str, message: str) -> None:
    Path("pbs.yaml").write_text("scheduler: pbs\n")
    profile = "slurm.yaml" if command == "sbatch" else "pbs.yaml"
    lines = messages(command, "--profile", profile, "-t", time, "--", "train.py")
    assert len(lines) == bool(message)
    assert all(line.startswith(f"warning: -t: a walltime of {message}") for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "launch.processes_per_node=8"), "8 ranks on each node have 4 GPUs"),
        (("--set", "launch.processes_per_node=4"), ""),
        (("--mail", "abe"), "mail goes to a user named abe; `request.mail_on` says when"),
        (("--mail", "abel"), ""),
    ],
)
def test_a_number_of_all_ranks_and_points_for_an_address_are_mentioned(
    words: tuple[str, ...], message: str
) -> None:
    lines = messages("qsub", "--profile", "eap", *words, "--", "train.py")
    assert len(lines) == bool(message)
    assert all(message in line for line in lines)


def test_a_partition_that_is_spelled_almost_as_a_known_one_is_mentioned() -> None:
    limits = "limits.partitions={small-g: {nodes: 4}, standard-g: {nodes: 8}}"
    for name, hint in {"smal-g": "did you mean `small-g`?", "other": "", "small-g": ""}.items():
        done = jobgen("sbatch", "--profile", "mi210", "--set", limits, "-p", name)
        warnings = [
            line for line in done.stderr.decode().splitlines() if "limits.partitions" in line
        ]
        assert bool(warnings) == bool(hint), warnings
        assert all(hint in line for line in warnings)


def test_every_bundled_profile_is_without_advice() -> None:
    files = [str(file) for file in bundled("profiles").rglob("*.yaml")]
    assert messages("profiles", "validate", *files) == [
        f"{len(files)} of {len(files)} profiles are valid"
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train.py",), ""),
        (("/no/such/x.py",), "there is no file '/no/such/x.py' here; the job needs it"),
        (("nope.py",), "here; the job needs it in the folder that it is submitted from"),
        (("./nope",), "there is no file './nope' here"),
        (("hostname",), ""),
        (("-m", "pkg.nope"), ""),
        (("$SCRATCH/nope.py",), ""),
        (("python train.py",), "blanks, and no file here; write the words apart: -- train.py"),
        (("bash run.sh x",), "write the words apart: -- bash run.sh x"),
        (("train.py > log.txt",), "file here; write --set request.output=log.txt -- train.py ["),
        (("a && b",), "for a shell on the node: -- bash -c 'a && b' ["),
        (("a b.py",), ""),
        (("here.fit", "--lr", "1"), "a file here/fit.py is here; write -- -m here.fit"),
        (("-m", "here.fti"), "there is no file 'here/fti.py' here; the job needs it in"),
        (("-m", "here.fit"), ""),
        (("here/fit.sh",), "cannot be executed; chmod +x here/fit.sh, or write -- bash here/fit"),
    ],
)  # fmt: skip
def test_a_program_that_is_not_here_is_mentioned(words: tuple[str, ...], message: str) -> None:
    Path("a b.py").touch()
    Path("here").mkdir()
    Path("here/fit.py").touch()
    Path("here/fit.sh").touch()
    lines = messages(*SBATCH, "--", *words)
    assert len(lines) == bool(message)
    assert all(line.startswith("warning: --: ") and message in line for line in lines)
    assert messages("byhand", "--profile", "slurm.yaml", "--hosts", "a", "--", *words) == []


@pytest.mark.parametrize(
    ("text", "words", "name"),
    [
        ("set -e\ntorchrun --nproc-per-node=4 x.py\n", ("./run.sh",), "torchrun"),
        ("module load x; srun python x.py\n", ("bash", "run.sh"), "srun"),
        ("# torchrun\npython x.py\n", ("bash", "run.sh"), ""),
        ("torchrun x.py\n", ("python", "x.py", "run.sh"), ""),
    ],
)
def test_a_shell_script_that_starts_ranks_is_mentioned(
    text: str, words: tuple[str, ...], name: str
) -> None:
    Path("run.sh").write_text(text)
    Path("run.sh").chmod(0o755)
    lines = messages(*SBATCH, "--", *words)
    assert len(lines) == bool(name)
    assert all(f"run.sh' has {name} in it, and is started for each rank; give" in x for x in lines)
    assert messages(*SBATCH, "--launcher", "node", "--", *words) == []


def test_a_command_that_is_a_file_here_is_mentioned() -> None:
    Path("run.sh").touch()
    Path("fit.py").touch()
    (line,) = messages(*SBATCH, "--", "run.sh")
    assert "no command 'run.sh' is on PATH, and a file run.sh is here; write -- ./run.sh" in line
    (line,) = messages(*SBATCH, "--", "fit")
    assert "a file fit.py is here; write -- fit.py" in line


def test_the_slots_of_a_file_of_hosts_are_mentioned() -> None:
    Path("hosts").write_text("n1 slots=2\nn2 slots=2\n")
    byhand = ("byhand", "--profile", "eap", "--hosts", "hosts", "--", "train.py")
    text = "--hosts: each host has 4 ranks, and not 2 by its slots; write -G 2 [size]"
    assert messages(*byhand) == [f"warning: {text}"]
    assert messages(*byhand[:-2], "-G", "2", *byhand[-2:]) == []


def test_a_manifest_that_is_not_there_is_not_the_one_that_is() -> None:
    Path("jobgen.yaml").touch()
    done = jobgen("build", "jobs.yaml")
    assert done.returncode == 2
    assert b"there is no such file; write jobgen build, for jobgen.yaml, which is" in done.stderr


def test_a_batch_script_is_no_template() -> None:
    Path("job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun python train.py --lr 1\n")
    done = jobgen(*SBATCH, "--template", "job.sh", "--", "train.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is a batch script (line 2: #SBATCH -N 2), and no template" in done.stderr


def test_a_program_of_a_workspace_is_not_searched_here() -> None:
    sets = ("url=https://h/x", "folder=/w", f"commit={'0' * 40}")
    words = [word for text in sets for word in ("--set", f"workspace.{text}")]
    assert messages(*SBATCH, *words, "--", "nope.py") == []
    assert len(messages(*SBATCH, *words, "--", "/nope.py")) == 1


def test_the_output_s_folder_is_mentioned_only_while_it_is_not_there() -> None:
    words = (*SBATCH, "--set", "request.output=logs/%j.out", "--", "train.py")
    assert len(messages(*words)) == 1
    Path("logs").mkdir()
    assert messages(*words) == []


def test_a_variable_names_the_profile() -> None:
    Path("profiles").mkdir()
    Path("profiles/mine.yaml").write_text("scheduler: slurm\npartition: gpu\n")
    mine = {"JOBGEN_PROFILE": "mine"}
    done = jobgen("sbatch", "--", "train.py", env=mine)
    assert b"#   jobgen sbatch --profile mine -- train.py\n" in done.stdout
    assert b"#SBATCH --partition=gpu\n" in done.stdout
    assert b"--partition=gpu" in jobgen("interactive", env=mine).stdout
    assert b"--profile mine" in jobgen("byhand", "--hosts", "a", "--", "x.py", env=mine).stdout
    done = jobgen("sbatch", "--profile", "slurm.yaml", "--", "train.py", env=mine)
    assert b"partition" not in done.stdout
    assert b"--profile" not in jobgen("local", "--", "train.py", env=mine).stdout
    assert jobgen("sbatch", env={"JOBGEN_PROFILE": ""}).stderr.startswith(b"jobgen: --profile: no")
    assert b"no profile `nope`" in jobgen("sbatch", env={"JOBGEN_PROFILE": "nope"}).stderr


def test_check_needs_no_variable() -> None:
    Path("profiles").mkdir()
    Path("profiles/mine.yaml").write_text("scheduler: slurm\n")
    jobgen("sbatch", "-o", "job.sh", "--", "train.py", env={"JOBGEN_PROFILE": "mine"})
    assert jobgen("check", "job.sh", env={"JOBGEN_PROFILE": "other"}).returncode == 0


def test_a_list_of_mail_is_that_of_the_text() -> None:
    for number, text in enumerate(("[begin, end]", "begin,end", '"begin,end"')):
        yaml = text if number != 1 else f"'{text}'"
        Path("mail.yaml").write_text(f"request: {{mail_on: {yaml}}}\n")
        assert find_profiles().load("mail.yaml").profile.request.mail_on == ("begin", "end")
        option = [("--set", "request.mail_on", text.strip('"'))]
        assert find_profiles().load("slurm.yaml", option).profile.request.mail_on == (
            "begin",
            "end",
        )


def test_sbatch_reads_no_profile_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a folder `sites` are read by the list alone."""
    Path("profiles/sites").mkdir(parents=True)
    for number in range(30):
        Path(f"profiles/sites/s{number}.yaml").write_text("scheduler: [\n")
    assert messages(*SBATCH, "--", "train.py") == []
    assert os.listdir("profiles") == ["sites"]


CONTAINER = "software.container={engine: podman, image: i}"


@pytest.mark.parametrize("engine", ["podman", "pyxis"])
def test_what_a_sourced_file_exports_is_lost_where_a_container_gets_named_variables(
    engine: str,
) -> None:
    container = CONTAINER.replace("podman", engine)
    lines = ("--set", container, "--set", "software.after_modules=['source env.sh']")
    found = messages(*SBATCH, *lines, "--", "train.py")
    expected = [
        "warning: --set software.after_modules: what these lines source does not reach the"
        " container of podman; name each variable that it needs: -e NAME, or `export NAME` in a"
        " line [export]"
    ]
    assert found == (expected if engine == "podman" else [])
    by_name = ("--set", CONTAINER, "--set", "software.commands=['export CACHE=/tmp']")
    assert messages(*SBATCH, *by_name, "--", "train.py") == []


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_what_runs_once_on_a_node_exports_nothing(launcher: str) -> None:
    lines = ("--launcher", launcher, "--set", "software.once_per_node=['export A=1']")
    found = messages(*SBATCH, "-N", "2", *lines, "--", "train.py")
    assert [line for line in found if "does not reach the ranks" in line] == found != []


def test_more_ranks_than_gpus_are_mentioned() -> None:
    Path("gpus.yaml").write_text("scheduler: slurm\nnode: {gpu: nvidia, gpus: 4, cpus: 64}\n")
    sbatch = ("sbatch", "--profile", "gpus.yaml", "--set", "launch.processes_per_node=4")
    hint = "-G 4 instead gives each rank its own [gpus]"
    text = f"--set launch.processes_per_node: 4 ranks on each node have 2 GPUs; {hint}"
    assert messages(*sbatch, "-G", "2", "--", "train.py") == [f"warning: {text}"]
    assert messages(*sbatch, "-G", "4", "--", "train.py") == []
    assert (
        messages(*sbatch, "--set", "node.gpu=none", "--set", "node.gpus=0", "--", "train.py") == []
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--", "train.py", "--s", "$SLURM_ARRAY_TASK_ID"), "write %a, the number of the job, and"),
        (("--array", "0-3", "--", "train.py", "$PBS_ARRAY_INDEX"), "the number of the job [var"),
        (
            ("--", "train.py", "--o", "run-${SLURM_JOB_ID}", "a"),
            """: -- bash -c 'exec python train.py --o "run-${SLURM_JOB_ID}" a' [variable]""",
        ),
        (("--", "-m", "a.b", "$SLURM_PROCID"), """bash -c 'exec python -m a.b "$RANK"' [var"""),
        (("--", "bash", "-c", "echo $SLURM_PROCID"), ""),
        (("--", "train.py", "${oc.env:HOME}", "${now:%Y}", "$x"), ""),
        (("--", "train.py", "--s", "%a"), "%a in '%a' is the number of a job in an array, and"),
        (("--array", "0-3", "--", "train.py", "--s", "%a"), ""),
        (("--chain", "3", "--", "train.py", "%a"), "'%a' is another number in each job of the ch"),
        (("--array", "0-3", "--", "train.py", "run_%A_%a"), '"run_${SLURM_ARRAY_JOB_ID}_%a"'),
        (("--", "train.py", "--o", "out_%j"), """train.py --o "out_${SLURM_JOB_ID}"' [variable]"""),
        (("--", "train.py", "--format", "%Y%j"), ""),
        (("--", "train.py", "%x-%N"), '"${SLURM_JOB_NAME}-${HOSTNAME}"'),
        (("-e", "OUT=/x/%j", "--", "train.py"), "OUT gets %j as it is; write -e "),
        (("--", "train.py", "--out=~/x"), "write --out=$HOME/x without single quotes"),
        (("--set", "request.output=%x-%A_%a", "--", "train.py"), "request.output=%x-%j [var"),
        (("--stall", "1800", "-t", "2h", "--", "train.py"), "; 30 for the minutes of 1800 sec"),
        (("--signal", "5", "-t", "2h", "--", "train.py"), "save anything; 5m for minutes"),
        (("--", "train.py", "-N", "4", "-t", "2:00:00"), "write it before: -N 4 -t 2:00:00 -- ["),
        (("-N", "1", "--", "train.py", "-N", "4"), ""),
        (("--", "torchrun train.py"), "give the program that it starts: -- train.py, or start"),
        (("-J", "run_%a", "--", "train.py"), "-J: %a stays in the job's name as it is"),
        (("-e", "CUDA_VISIBLE_DEVICES=0,1", "--", "train.py"), "CUDA_VISIBLE_DEVICES: -G 2 [gpus]"),
        (("-e", "CUDA_VISIBLE_DEVICES=0,1,2,3", "--", "train.py"), ""),
        (("-e", "CUDA_VISIBLE_DEVICES=0,1,2", "-G", "2", "--", "train.py"), "DEVICES: -G 3 [g"),
        (("--directive=--exlude=n1", "--", "train.py"), "did you mean --exclude? [JG203]"),
        (("--directive=--requeue=3", "--", "train.py"), "it takes nothing, or =expedite [JG217]"),
        (("--directive=--nice=100", "--directive=--uenv=x", "--", "train.py"), ""),
    ],
)
def test_words_that_nobody_replaces_or_takes_are_mentioned(
    words: tuple[str, ...], message: str
) -> None:
    node = "node={gpu: nvidia, gpus: 4, cpus: 64}"
    four_gpus = ("--set", node, "--set", "request.exclusive=true")
    lines = messages(*SBATCH, *four_gpus, *words)
    assert len(lines) == bool(message), lines
    assert all(message in line for line in lines), lines


@pytest.mark.slow
def test_the_shell_that_is_shown_for_a_variable_replaces_it() -> None:
    import subprocess

    Path("train.py").write_text("import sys; print(sys.argv[1:])")
    line = messages(*SBATCH, "--", "train.py", "it's", '"$RUN_ID"`', "${RUN_ID}\\x")[0]
    command = line.partition("on the node: -- ")[2].rpartition(" [")[0]
    done = subprocess.run(
        command, shell=True, capture_output=True, env={**os.environ, "RUN_ID": "7"}
    )
    assert eval(done.stdout) == ["it's", '"7"`', "7\\x"]


@pytest.mark.parametrize("engine", ["podman", "apptainer"])
def test_an_image_of_another_engine_is_mentioned(engine: str) -> None:
    container = f"software.container={{engine: {engine}, image: /a/torch.sif}}"
    lines = messages(*SBATCH, "--set", container, "--", "train.py")
    hint = "engine: apptainer` (or singularity), or the name of an image in a registry [image]"
    assert [line for line in lines if "[image]" in line] == (lines if engine == "podman" else [])
    assert all(hint in line for line in lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node:\n", ":2:6: `node` has no keys; they stand in the lines below it, indented"),
        ("node: {}\n", ""),
        ("network: {environment: {KEY: }}\n", "`KEY` has no value, and is not set"),
        ("extends: fabrics/ethernet\nnetwork: {environment: {NCCL_NET: }}\n", ""),
    ],
)
def test_what_has_no_value_is_mentioned(text: str, message: str) -> None:
    Path("cluster.yaml").write_text(f"scheduler: slurm\n{text}")
    lines = messages("sbatch", "--profile", "cluster.yaml", "--", "train.py")
    assert len(lines) == bool(message), lines
    assert all(message in line for line in lines)


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_docker_takes_an_image_without_its_transport(engine: str) -> None:
    container = f"software.container={{engine: {engine}, image: 'docker://docker.io/x'}}"
    lines = messages(*SBATCH, "--set", container, "--", "train.py")
    hint = "write `image: docker.io/x` [image]"
    assert [line for line in lines if hint in line] == (lines if engine == "docker" else [])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("software.venv=/a/torch/bin/activate", "`venv: /a/torch` [value]"),
        ("software.venv=/a/torch/bin", "`venv: /a/torch` [value]"),
        ("network.interface=mlx5_0", "`environment: {NCCL_IB_HCA: mlx5_0}` names the adapter"),
        ("network.environment.NCCL_IB_DISABLE=yes", "`NCCL_IB_DISABLE: 1` [value]"),
        ("network.environment.NCCL_P2P_DISABLE=False", "`NCCL_P2P_DISABLE: 0` [value]"),
        ("network.environment.NCCL_DEBUG=INFO", ""),
        ("software.venv=/a/bin/torch", ""),
        (
            "software.venv={{ HOME }}/envs/torch",
            r'write --set "software.venv=\$HOME/envs/torch" [value]',
        ),
        (
            "software.venv=$HOME/torch# mine",
            r'before #; write --set "software.venv=\$HOME/torch" [value]',
        ),
        (
            "request.qos='high'",
            "the quotes are a part of the value; write --set request.qos=high [value]",
        ),
        (
            "request.constraint=a100,ib",
            "not by a comma; write --set 'request.constraint=a100&ib' [value]",
        ),
        (
            "software.container={engine: podman, image: docker.io/x, mounts: [/a:/b:readonly]}",
            "write /a:/b:ro [value]",
        ),
        ("software.venv=None", "`None` is taken for a name; null is none [value]"),
        ("software.conda=environment.yml", "a file that makes an environment, and not its name"),
        ("request.output={rule}-%j.out", "`{rule}` stays as it is"),
        ("request.log_folder=logs/$NAME", ""),
        ("request.log_folder=logs/%j", "the job's id is the name of a folder in it [value]"),
    ],
)
def test_a_value_that_something_else_cannot_use_is_mentioned(value: str, message: str) -> None:
    lines = messages(*SBATCH, "--set", value, "--", "train.py")
    assert [line for line in lines if message in line] == lines
    assert len(lines) == bool(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "launch.progress: only a chain looks whether the training got further; add --chain N"),
        (
            ("--chain", "3"),
            "'runs' is a folder, which a file that is written again does not",
        ),
    ],
)
def test_files_that_show_no_progress_are_mentioned(words: tuple[str, ...], message: str) -> None:
    Path("runs").mkdir()
    lines = messages(*SBATCH, *words, "--set", "launch.progress=runs", "--", "train.py")
    assert len([line for line in lines if message in line]) == 1
    lines = messages(*SBATCH, "--chain", "3", "--set", "launch.progress=runs/*", "--", "train.py")
    assert not any("progress" in line for line in lines)

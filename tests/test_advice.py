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


FABRIC = "node: {gpus: 4, gpu: nvidia}\nnetwork: {interface: hsn0}\nrequest: {nodes: 2}\n"


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
            assert f"; `extends: {base}`; to silence this" in line
            assert line.startswith("warning: cluster.yaml:")
    assert messages(*program[:3], "-N", "1", "--", "train.py") == []
    assert messages(*program[:3], "-e", "NCCL_NET=Socket", "--", "train.py") == []


@pytest.mark.parametrize(
    ("request_text", "is_mentioned"),
    [
        ("{}", True),
        ("{gpu_option: ngpus}", False),
        ("{gpu_option: none}", False),
        ("{chunk: {gpu_type: a100}}", False),
        ("{constraint: gpu_model=a100}", False),
    ],
)
def test_gpus_that_pbs_is_not_asked_for_are_mentioned(
    request_text: str, is_mentioned: bool
) -> None:
    Path("cluster.yaml").write_text(
        f"scheduler: pbs\nnode: {{gpus: 4, cpus: 8}}\nrequest: {request_text}\n"
    )
    program = ("qsub", "--profile", "cluster.yaml", "--", "train.py")
    text = "warning: cluster.yaml:2:14: a node has 4 GPUs, and PBS is asked for none; "
    hint = "`request.gpu_option: ngpus`, or `none` if the queue gives them [gpus]"
    wanted = [f"{text}{hint}"] if is_mentioned else []
    assert messages(*program) == wanted
    assert messages("profiles", "validate", "cluster.yaml")[:-1] == wanted
    assert messages(*program[:3], "-G", "0", "--", "train.py") == []


@pytest.mark.slow
def test_every_bundled_profile_is_without_advice() -> None:
    for file in bundled("profiles").rglob("*.yaml"):
        lines = messages("profiles", "validate", str(file))
        assert lines == ["1 of 1 profiles are valid"]


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
        (("a b.py",), ""),
    ],
)  # fmt: skip
def test_a_program_that_is_not_here_is_mentioned(words: tuple[str, ...], message: str) -> None:
    Path("a b.py").touch()
    lines = messages(*SBATCH, "--", *words)
    assert len(lines) == bool(message)
    assert all(line.startswith("warning: --: ") and message in line for line in lines)
    assert messages("byhand", "--profile", "slurm.yaml", "--hosts", "a", "--", *words) == []


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
def test_what_a_step_of_its_own_exports_is_lost(launcher: str) -> None:
    lines = ("--launcher", launcher, "--set", "software.once_per_node=['export A=1']")
    found = messages(*SBATCH, "-N", "2", *lines, "--", "train.py")
    assert len(found) == (launcher == "srun")
    assert all("does not reach the ranks, which srun starts" in line for line in found)

"""packaging/options.py: how it reads the sources of each tool, and what it writes."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

from jobgen.lint.options import known_options

ROOT = Path(__file__).parent.parent
TABLES = sorted((ROOT / "jobgen/lint/options").glob("*.txt"))


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("options", ROOT / "packaging/options.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SLURM = """
static slurm_cli_opt_t slurm_opt_gpus = {
	.name = "gpus",
	.has_arg = required_argument,
	.val = 'G',
	.set_func = arg_set_gpus,
	.get_func = arg_get_gpus,
};

static slurm_cli_opt_t slurm_opt_nice = {
	.name = "nice",
	.has_arg = optional_argument,
	.val = LONG_OPT_NICE,
	.set_func_sbatch = arg_set_nice,
	.set_func_srun = arg_set_nice,
};

static slurm_cli_opt_t slurm_opt_x11 = {
#ifdef WITH_X11
	.name = "x11",
#else
	.name = NULL,
#endif
	.has_arg = no_argument,
	.val = LONG_OPT_X11,
	.set_func_srun = arg_set_x11,
};

static slurm_cli_opt_t slurm_opt_environment = {
	.name = NULL,
	.has_arg = required_argument,
	.val = LONG_OPT_ENVIRONMENT,
	.set_func = arg_set_environment,
};
"""
OLD_SLURM = """
	static struct option long_options[] = {
		{"array",   required_argument, 0, 'a'},
		{"batch",   no_argument,       0, LONG_OPT_BATCH}, /* does
								nothing */
		{NULL,      0,                 0, 0}
	};
	static struct option pbs_long_options[] = {
		{"variables", required_argument, 0, 'v'},
	};
"""
PARSER = """
parser.add_argument("--nnodes", action=env, type=str)
parser.add_argument("--log-dir", "--log_dir", action=env)
parser.add_argument("-m", "--module", action=check_env)
parser.add_argument("--quiet", "-q", action="store_true")
parser.add_argument("training_script", type=str)
parser.add_argument("rest", nargs=REMAINDER)
"""


@pytest.mark.parametrize(
    ("parser", "text", "command", "options"),
    [
        ("slurm_options", SLURM, "sbatch", ["--gpus= -G", "--nice[=]"]),
        ("slurm_options", SLURM, "srun", ["--gpus= -G", "--nice[=]", "--x11"]),
        ("slurm_options", SLURM, "salloc", ["--gpus= -G"]),
        ("long_options", OLD_SLURM, "sbatch", ["--array= -a", "--batch"]),
        ("long_options", "int main;", "sbatch", []),
        ("letters", '#define GETOPT_ARGS "a:hV"\n', "qsub", ["-a=", "-h", "-V"]),
        ("letters", 'char GETOPT_ARGS[] = "l:z-:";\n', "qsub", ["-l=", "-z"]),
        (
            "argparse_options",
            PARSER,
            "torchrun",
            ["--help -h", "--nnodes=", "--log-dir=", "--log_dir=", "--module -m", "--quiet -q"],
        ),
        (
            "argparse_options",
            "parser = CustomArgumentParser(add_help=False)\n"
            'parser.add_argument("--num_machines", type=int)\n',
            "accelerate launch",
            ["--num_machines=", "--num-machines="],
        ),
        (
            "resources",
            '<member_name>"mem"</member_name>\n<member_name><both>"cput"</both></member_name>\n'
            '<member_name>"|unknown|"</member_name>\n',
            "qsub -l",
            ["mem=", "cput="],
        ),
        (
            "resources",
            '  { "arch",    /* type */\n    "host",\n  { "size", decode_l, encode_l },\n',
            "qsub -l",
            ["arch=", "host=", "size="],
        ),
    ],
)
def test_options_are_read_from_sources(
    maker: ModuleType, parser: str, text: str, command: str, options: list[str]
) -> None:
    found = getattr(maker, parser)(text, command)
    spelled = [f"{each.name}{each.argument} -{each.letter}".removesuffix(" -") for each in found]
    assert spelled == options


def git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, *words], cwd=folder, capture_output=True, check=True)


def test_a_clone_with_tags_gives_the_versions_of_each_option(tmp_path: Path) -> None:
    file = tmp_path / "deepspeed/launcher/runner.py"
    file.parent.mkdir(parents=True)
    git(tmp_path, "init", "--quiet")
    releases = {"v0.9.0": "ab", "v0.9.1": "a", "v0.10.0": "ac", "v0.10.1rc1": "d", "v0.11.0": "c"}
    for tag, letters in releases.items():
        lines = [f'parser.add_argument("--{letter}", type=int)\n' for letter in letters]
        file.write_text("".join(lines))
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "--quiet", "--message", tag)
        git(tmp_path, "tag", tag)
    command = [sys.executable, str(ROOT / "packaging/options.py"), "deepspeed", str(tmp_path)]
    texts = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(texts) == 1
    _, versions, options = texts.pop().decode().split("\n\n")
    assert versions == "versions 0.9 0.10 0.11"
    assert options == "deepspeed\n--a= until 0.10\n--c= since 0.10\n--help -h\n"


def test_wrong_words_are_answered_with_the_usage() -> None:
    command = [sys.executable, str(ROOT / "packaging/options.py"), "lsf", "."]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"usage: options.py slurm|openpbs")


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_a_table_is_sorted_and_has_known_versions(file: Path) -> None:
    _, versions, *parts = file.read_text().split("\n\n")
    numbers = versions.removeprefix("versions ").split()
    assert numbers == sorted(numbers, key=lambda each: [int(part) for part in each.split(".")])
    for part in parts:
        command, *lines = part.strip().split("\n")
        names = [re.split(r"[\[= ]", line)[0] for line in lines]
        assert names == sorted(set(names), key=lambda name: (name.lower(), name)), command
        for line in lines:
            option = r"(--?)?[\w-]+(=|\[=\])?( -\w)?( since (\S+))?( until (\S+))?"
            found = re.fullmatch(option, line)
            assert found, line
            assert {found[5], found[7]} - {None} <= set(numbers), line


@pytest.mark.skipif(not shutil.which("sbatch"), reason="Slurm is not installed")
@pytest.mark.parametrize("command", ["sbatch", "salloc", "srun"])
def test_the_slurm_that_is_installed_has_the_options_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=a\nSlurmctldHost=localhost\nNodeName=b\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    answer = subprocess.run(
        ["sbatch", "--version"], capture_output=True, check=True
    ).stdout.decode()
    version = ".".join(answer.split()[-1].split(".")[:2])
    options = known_options(command)
    if version not in options.versions:
        pytest.skip(f"Slurm {version} is newer than the table")
    for name, option in options.by_name.items():
        words = [command, f"--{name}" + "=1" * (option.argument == "="), "--no-such-option"]
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        message = done.stderr.decode()
        refused = f"unrecognized option '--{name}" in message or "ambiguous" in message
        assert refused != bool(options.of(version).find(name)), message


@pytest.mark.torch
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is not installed")
def test_the_torchrun_that_is_installed_has_the_options_of_its_version() -> None:
    version = ".".join(metadata.version("torch").split(".")[:2])
    options = known_options("torchrun")
    if version not in options.versions:
        pytest.skip(f"torch {version} is newer than the table")
    words = [sys.executable, "-m", "torch.distributed.run", "--help"]
    usage = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    names = set(re.findall(r"^  (?:-\w(?: \w+)?, )?--([\w-]+)", usage, re.MULTILINE))
    assert names <= options.of(version).by_name.keys()

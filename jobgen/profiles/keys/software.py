"""The keys of a profile below `software` and `workspace`: how a node loads Python and torch."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from typing import NamedTuple

from jobgen.profiles.kinds import (
    CONTROLS,
    LISTED_PATH,
    MOUNT,
    NODE,
    NODE_LINE,
    PATH,
    SHELL_LINE,
    WORD,
    Bool,
    Choice,
    Text,
)
from jobgen.profiles.records import ListOf, Record, record, row


class Engine(NamedTuple):
    """What an engine of containers is and does, as far as jobgen has to know."""

    # Its containers see the devices that they are given, and all GPUs of the node if these are some
    # (they are not in the job's cgroup); those of other engines see what the job sees.
    takes_devices: bool = False
    is_step: bool = False  # a part of srun, which starts a step of Slurm in the container
    passes_all: bool = False  # containers get all variables of the job, and not only named ones
    mounted_by_site: bool = False  # containers see what the site chose, and no mount of jobgen's
    values_in_words: bool = False  # its command has the values of variables, which others can see
    ends_with_processes: bool = False  # its containers do, also where Slurm does not end them
    mount_separator: str = ","


ENGINES = {
    "podman": Engine(takes_devices=True),
    "docker": Engine(takes_devices=True),
    "apptainer": Engine(ends_with_processes=True),
    "singularity": Engine(ends_with_processes=True),
    "shifter": Engine(
        passes_all=True, mounted_by_site=True, values_in_words=True, mount_separator=";"
    ),
    "pyxis": Engine(is_step=True, passes_all=True),
    "ce": Engine(is_step=True, passes_all=True, mounted_by_site=True, values_in_words=True),
}


# torchrun replaces $local_rank in the program's path by the rank.
_SHARED_FOLDER = f"(?!.*\\$\\$)[/$~][^{CONTROLS}:,]*"
_SHARED_FOLDER_IN_WORDS = "a path from / or $NAME, without `:`, `,` and `$$`"


@record
class Container(NamedTuple):
    """The container that the ranks run in."""

    engine: str = row(
        Choice(*ENGINES),
        "What runs the container; `pyxis` is srun --container-image, which unpacks with enroot; "
        "`ce` is srun --environment, which reads an environment definition file (EDF).",
        "podman",
    )
    image: str | None = row(
        Text(WORD.pattern, WORD.rule, dollar=NODE),
        "The image with its registry; for apptainer and singularity also a .sif, for pyxis a .sqsh "
        "file.",
        example="docker.io/rocm/pytorch:latest",
    )
    environment: str | None = row(
        PATH,
        "ce: the name or the file of the environment, which names the image and its mounts.",
        example="$SCRATCH/pytorch.toml",
    )
    mounts: tuple[str, ...] = row(
        ListOf(MOUNT),
        "Folders as HOST:/INSIDE[:ro], or /FOLDER for the same path inside. The job's own folder "
        "is mounted anyway, at the same path; not with shifter, whose site mounts its file "
        "systems, and with ce, whose environment has the mounts.",
        (),
        example="[$SCRATCH, /data:/data:ro]",
    )
    devices: tuple[str, ...] | None = row(
        ListOf(PATH),
        "podman, docker: devices; default: those of the GPUs (AMD: /dev/kfd and /dev/dri).",
        example="[/dev/kfd, /dev/dri]",
    )
    groups: tuple[str, ...] | None = row(
        ListOf(WORD), "podman, docker: extra groups; default: those of the GPUs.", example="[video]"
    )
    privileged: bool = row(
        Bool(), "podman, docker: all devices and capabilities of the host.", False
    )
    runscript: bool = row(
        Bool(),
        "apptainer, singularity: the image's own runscript starts the command (`run` instead of "
        "`exec`), as in some sites' jobs.",
        False,
    )
    options: tuple[str, ...] = row(
        ListOf(NODE_LINE),
        "More options of the engine, one word each.",
        (),
        example='["--env=HF_HOME=$SCRATCH/hf"]',
    )


@record
class Lock(NamedTuple):
    """A lock of uv, and what uv is told beside it."""

    file: str = row(
        Text("(.*/)?uv\\.lock", "the path of a uv.lock, which `uv lock` writes"),
        "The lock, from the folder where jobgen runs or from that of `code`; its pyproject.toml is "
        "beside it.",
        "uv.lock",
        example="train/uv.lock",
    )
    python: str | None = row(
        Text(WORD.pattern, WORD.rule, any_scalar=True),
        "The Python, as `uv --python` takes it; without it, uv follows .python-version and the "
        "lock.",
        example='"3.12"',
    )
    options: tuple[str, ...] = row(
        ListOf(Text(f"-[^ {CONTROLS}]+", "an option in one word, such as --extra=cu128")),
        "More options of `uv sync`, one word each.",
        (),
        example="[--extra=cu128, --no-dev]",
    )


@record
class Software(NamedTuple):
    """How a node loads Python and torch."""

    modules: tuple[str, ...] = row(
        ListOf(WORD),
        "Environment modules to load, in order.",
        (),
        example="[python/3.11, cuda/12.6]",
    )
    venv: str | None = row(
        LISTED_PATH,
        "The folder of a virtual environment; `once_per_node` may make it.",
        example="$HOME/envs/torch",
    )
    conda: str | None = row(
        Text(
            f"[^{CONTROLS}-][^{CONTROLS}]*",
            "a name or a path that does not begin with -",
            dollar=NODE,
        ),
        "The name or the folder of a conda environment. Of BASE/envs/NAME, the conda in BASE is "
        "used, unless one is on PATH.",
        example="$HOME/miniconda3/envs/torch",
    )
    lock: Lock | None = row(
        Record(Lock, short="file"),
        "The virtual environment of a lock, in the folder `store`, as `jobgen store build` makes "
        "it; instead of `venv`.",
    )
    stage: str | None = row(
        Choice("venv", "folder", "squashfs"),
        "What is copied once to each node's own disk, before Python reads it there: the `venv`; "
        "the `folder` that `stage_from` names, such as a conda environment; or the image that it "
        "names, which is mounted or unpacked.",
    )
    stage_from: str | None = row(
        Text(f"[/$~][^{CONTROLS}]*", "a path from / or $NAME", dollar=NODE),
        "The folder or the image with the environment, whose `bin` comes first on PATH. A file in "
        "it that was edited in place is only noticed after `touch FOLDER`.",
        example="$SCRATCH/envs/torch.squashfs",
    )
    stage_to: str = row(
        Text(f"[/$~][^{CONTROLS}:]*", "a path from / or $NAME, without `:`", dollar=NODE),
        "A folder on each node's own disk, for the copies. They stay there for the next job, and "
        "each user has one that no job uses.",
        "/tmp",
        example="/local",
    )
    code: str | None = row(
        Text(),
        "The folder with the program's code. A copy of it is made with the script, in the folder "
        "`store`, and the job runs the copy: what is edited later changes no job.",
        example="src",
    )
    store: str = row(
        Text(_SHARED_FOLDER, _SHARED_FOLDER_IN_WORDS, dollar=NODE),
        "The folder for the copies of `code`, and for environments of a `lock`, each named by its "
        "content; all nodes must see it.",
        "$PWD/.jobgen/store",
        example="$SCRATCH/jobgen",
    )
    container: Container | None = row(Record(Container), "A container for the ranks.")
    nccl_root: str | None = row(
        LISTED_PATH,
        "Your own NCCL: its `lib` is added to LD_LIBRARY_PATH, and NCCL_ROOT set.",
        example="$HOME/software/nccl",
    )
    aws_ofi_nccl_root: str | None = row(
        LISTED_PATH,
        "Your own aws-ofi-nccl: the same, with AWS_OFI_NCCL_ROOT.",
        example="$HOME/software/aws-ofi-nccl",
    )
    commands: tuple[str, ...] = row(
        ListOf(SHELL_LINE),
        "Shell lines that every node runs first, before the modules. Shell is allowed in these "
        "three keys only.",
        (),
        example='["ulimit -l unlimited"]',
    )
    after_modules: tuple[str, ...] = row(
        ListOf(SHELL_LINE),
        "Shell lines that every node runs after modules, conda and venv.",
        (),
        example='["export LD_LIBRARY_PATH=$CRAY_LD_LIBRARY_PATH"]',
    )
    jobgen: str | None = row(
        PATH,
        "The path of a jobgen that the nodes see. When a job fails, its answer (`jobgen why`) is "
        "the last line. Default: the jobgen on PATH, if there is one.",
        example="$HOME/.local/bin/jobgen",
    )
    once_per_node: tuple[str, ...] = row(
        ListOf(SHELL_LINE),
        "Shell lines that run once on each node in its check, after the modules and before torch "
        "is looked for: to make a folder for caches, copy data to the node's own disk, or make the "
        "environment that `venv` names.",
        (),
        example='["mkdir -p /tmp/$USER/cache"]',
    )


@record
class Workspace(NamedTuple):
    """A git repository that a job fetches before its ranks start, and takes the program from."""

    url: str | None = row(
        Text(
            f"(https?|ssh|git|file)://[^ {CONTROLS}]+|[\\w.-]+@[\\w.-]+:[^ {CONTROLS}]+",
            "a git URL: https://…, ssh://…, file:///… or user@host:path",
            dollar=NODE,
        ),
        "The URL; every node that a job can start on must reach it.",
        example="https://github.com/pytorch/examples.git",
    )
    commit: str | None = row(
        Text("[0-9a-f]{40}([0-9a-f]{24})?", "a whole commit id, as `git rev-parse` prints it"),
        "The commit. A branch would be another program tomorrow.",
        example="a03f0ba0f730d026871cfbab1e9e44a60590c357",
    )
    folder: str | None = row(
        Text(_SHARED_FOLDER, _SHARED_FOLDER_IN_WORDS, dollar=NODE),
        "The folder for it, with a subfolder for each commit; all nodes must see it.",
        example="$SCRATCH/code",
    )

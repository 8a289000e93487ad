"""The keys of a profile below `software` and `workspace`: how a node loads Python and torch."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from typing import NamedTuple

from jobgen.profiles.kinds import (
    ABSOLUTE,
    CONTROLS,
    IMAGE,
    LISTED_ABSOLUTE,
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


@record
class Container(NamedTuple):
    """The container that the ranks run in."""

    engine: str = row(
        Choice("podman", "docker", "apptainer", "singularity", "shifter", "pyxis", "ce"),
        "What runs the container; `pyxis` is srun --container-image, which unpacks with enroot; "
        "`ce` is srun --environment, which reads an environment definition file (EDF).",
        "podman",
    )
    image: str | None = row(
        IMAGE,
        "The image with its registry; for apptainer and singularity also a .sif, for pyxis a .sqsh "
        "file.",
    )
    environment: str | None = row(
        PATH, "ce: the name or the file of the environment, which names the image and its mounts."
    )
    mounts: tuple[str, ...] = row(
        ListOf(MOUNT),
        "Folders as HOST:/INSIDE[:ro], or /FOLDER for the same path inside. The job's own folder "
        "is mounted anyway, at the same path; not with shifter, whose site mounts its file "
        "systems, and with ce, whose environment has the mounts.",
        (),
    )
    devices: tuple[str, ...] | None = row(
        ListOf(PATH),
        "podman, docker: devices; default: those of the GPUs (AMD: /dev/kfd and /dev/dri).",
    )
    groups: tuple[str, ...] | None = row(
        ListOf(WORD), "podman, docker: extra groups; default: those of the GPUs."
    )
    privileged: bool = row(
        Bool(), "podman, docker: all devices and capabilities of the host.", False
    )
    options: tuple[str, ...] = row(
        ListOf(NODE_LINE), "More options of the engine, one word each.", ()
    )


@record
class Software(NamedTuple):
    """How a node loads Python and torch."""

    modules: tuple[str, ...] = row(ListOf(WORD), "Environment modules to load, in order.", ())
    venv: str | None = row(LISTED_PATH, "The folder of a virtual environment.")
    conda: str | None = row(
        Text(
            f"[^{CONTROLS}-][^{CONTROLS}]*",
            "a name or a path that does not begin with -",
            dollar=NODE,
        ),
        "The name or the folder of a conda environment.",
    )
    stage: str | None = row(
        Choice("venv", "folder", "squashfs"),
        "What is copied once to each node's own disk, before Python reads it there: the `venv`; "
        "the `folder` that `stage_from` names, such as a conda environment; or the image that it "
        "names, which is mounted or unpacked.",
    )
    stage_from: str | None = row(
        ABSOLUTE,
        "The folder or the image with the environment, whose `bin` comes first on PATH. A file in "
        "it that was edited in place is only noticed after `touch FOLDER`.",
    )
    stage_to: str = row(
        LISTED_ABSOLUTE,
        "A folder on each node's own disk, for the copies. They stay there for the next job, and "
        "each user has one that no job uses.",
        "/tmp",
    )
    container: Container | None = row(Record(Container), "A container for the ranks.")
    nccl_root: str | None = row(
        LISTED_PATH, "Your own NCCL: its `lib` is added to LD_LIBRARY_PATH, and NCCL_ROOT set."
    )
    aws_ofi_nccl_root: str | None = row(
        LISTED_PATH, "Your own aws-ofi-nccl: the same, with AWS_OFI_NCCL_ROOT."
    )
    commands: tuple[str, ...] = row(
        ListOf(SHELL_LINE),
        "Shell lines that every node runs first, before the modules. Shell is allowed in these "
        "three keys only.",
        (),
    )
    after_modules: tuple[str, ...] = row(
        ListOf(SHELL_LINE), "Shell lines that every node runs after modules, conda and venv.", ()
    )
    jobgen: str | None = row(
        PATH,
        "The path of a jobgen that the nodes see. When a job fails, its answer (`jobgen why`) is "
        "the last line. Default: the jobgen on PATH, if there is one.",
    )
    once_per_node: tuple[str, ...] = row(
        ListOf(SHELL_LINE),
        "Shell lines that run once on each node before its ranks, and not in the check of the "
        "node: to make a folder for caches, or to copy data to the node's own disk.",
        (),
    )

    @property
    def shell_lines(self) -> tuple[str, ...]:
        """All shell of a profile, in the order in which it runs."""
        return (*self.commands, *self.after_modules, *self.once_per_node)


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
    )
    commit: str | None = row(
        Text("[0-9a-f]{40}([0-9a-f]{24})?", "a whole commit id, as `git rev-parse` prints it"),
        "The commit. A branch would be another program tomorrow.",
    )
    # torchrun replaces $local_rank in a path by the rank.
    folder: str | None = row(
        Text(
            f"(?!.*\\$\\$)[/$~][^{CONTROLS}:,]*",
            "a path from / or $NAME, without `:`, `,` and `$$`",
            dollar=NODE,
        ),
        "The folder for it, with a subfolder for each commit; all nodes must see it.",
    )

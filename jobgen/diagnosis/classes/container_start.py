"""The container did not start on a node: pyxis, enroot, apptainer, podman, docker or shifter.

The image could not be fetched or unpacked, a folder to mount is missing, or the engine may not
run there.

pyxis runs inside of srun, so its lines begin with `pyxis:` or `slurmstepd: error: pyxis:`; what
follows from Slurm (`Failed to invoke spank plugin stack`, an exit status of 1) says nothing more.
The first of its lines has the reason.

What misleads: srun's exit status; the message that a plugin stack failed, which reads like a
fault of Slurm.

The cure: fetch the image once on a login node and name the file; check that each folder of
`software.container.mounts` is on every node; free the node's disk.

Sources: https://github.com/NVIDIA/pyxis/issues/61
https://github.com/NVIDIA/pyxis/issues/135
https://github.com/NVIDIA/enroot/blob/master/doc/usage.md
https://apptainer.org/docs/user/main/
https://docs.podman.io/en/latest/
"""

from jobgen.diagnosis.signs import Role, Sign

_PYXIS = r"^(?:\[\S+\](?: \[[\d.]+\])? )?(?:slurm(?:stepd|d)(?:-\S+)?: )?error: pyxis: +"

SIGNS = (
    Sign(
        _PYXIS + r"(?P<reason>(?:couldn't start container|container start failed)[^,;]*)",
        "pyxis: {reason}",
        Role.CONFIRMATION,
    ),
    Sign(
        _PYXIS + r"(?!printing contents|if the image|skipping|\[INFO\]|\[WARN\])(?P<reason>.+)",
        "pyxis: {reason}",
        certainty="likely",
    ),
    Sign(
        r"^\[ERROR\] (?P<reason>(?:URL |/etc/enroot/|File already exists|Could not).*)",
        "enroot: {reason}",
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"^(?:slurmstepd(?:-\S+)?: )?error: (?:spank: required plugin spank_pyxis\.so"
        r"|Failed to invoke spank plugin stack)",
        "Slurm's plugin for containers failed",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"^FATAL: +(?P<reason>(?:Unable to (?:build|handle|pull)|While (?:loading|making"
        r"|performing)"
        r"|could not open image|container creation failed|image (?:could|does)|Couldn't).*)",
        "apptainer: {reason}",
    ),
    Sign(
        r"^(?:Error: | *\* |docker: )(?P<reason>(?:Error response from daemon: |initializing source"
        r" docker://"
        r"|unable to copy from source|statfs |crun: |runc: |OCI runtime ).*)",
        "the container engine: {reason}",
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"^FAILED to find requested image",
        "shifter: it does not have the image",
        certainty="likely",
    ),
)
CURE = (
    "fetch the image once on a login node and set software.container.image to the file; check"
    " software.container.mounts on every node"
)
MISLEADS = "Failed to invoke spank plugin stack: it only says that the container did not start"
EXPLAINS = ("launcher-report", "srun-step", "cancelled")

"""The container did not start on a node: pyxis, enroot, apptainer, podman, docker or shifter.

The image could not be fetched or unpacked, a folder to mount is missing, or the engine may not
run there.

pyxis runs inside of srun, so its lines begin with `pyxis:` or `slurmstepd: error: pyxis:`; what
follows from Slurm (`Failed to invoke spank plugin stack`, an exit status of 1) says nothing more.
The first of its lines has the reason. A disk of the node that is full is one: free it.

Sources: https://github.com/NVIDIA/pyxis/issues/61
https://github.com/NVIDIA/pyxis/issues/135
https://github.com/NVIDIA/enroot/blob/master/doc/usage.md
https://apptainer.org/docs/user/main/
https://docs.podman.io/en/latest/
"""

from jobgen.diagnosis.signs import likely, sure

_PYXIS = r"^(?:\[\S+\](?: \[[\d.]+\])? )?(?:slurm(?:stepd|d)(?:-\S+)?: )?error: pyxis: +"

SIGNS = (
    *sure.confirmation(
        "pyxis: {reason}",
        rf"{_PYXIS}(?P<reason>(?:couldn't start container|container start failed)[^,;]*)",
    ),
    *likely.cause(
        "pyxis: {reason}",
        rf"{_PYXIS}(?!printing contents|if the image|skipping|\[INFO\]|\[WARN\])(?P<reason>.+)",
    ),
    *likely.if_failed.cause(
        "enroot: {reason}",
        r"^\[ERROR\] (?P<reason>(?:URL |/etc/enroot/|File already exists|Could not).*)",
    ),
    *sure.consequence(
        "Slurm's plugin for containers failed",
        r"^(?:slurmstepd(?:-\S+)?: )?error: "
        r"(?:spank: required plugin spank_pyxis\.so|Failed to invoke spank plugin stack)",
    ),
    *sure.cause(
        "apptainer: {reason}",
        r"^FATAL: +(?P<reason>"
        r"(?:Unable to (?:build|handle|pull)|While (?:loading|making|performing)"
        r"|could not open image|container creation failed|image (?:could|does)|Couldn't).*)",
    ),
    *likely.if_failed.cause(
        "the container engine: {reason}",
        r"^(?:Error: | *\* |docker: )(?P<reason>(?:Error response from daemon: "
        r"|initializing source docker://|unable to copy from source"
        r"|statfs |crun: |runc: |OCI runtime ).*)",
    ),
    *likely.cause("shifter: it does not have the image", r"^FAILED to find requested image"),
)
CURE = (
    "fetch the image once on a login node and set software.container.image to the file; check"
    " software.container.mounts on every node"
)
MISLEADS = "Failed to invoke spank plugin stack: it only says that the container did not start"
EXPLAINS = "launcher-report srun-step cancelled"

"""The container did not start on a node: pyxis, enroot, apptainer, podman, docker or shifter.

The image could not be fetched or unpacked, a folder to mount is missing, or the engine may not
run there.

pyxis runs inside of srun, so its lines begin with `pyxis:` or `slurmstepd: error: pyxis:`; what
follows from Slurm (`Failed to invoke spank plugin stack`, an exit status of 1) says nothing more.
The first of its lines has the reason. A disk of the node that is full is one: free it.

Cure: fetch the image once on a login node and set software.container.image to the file; check
software.container.mounts on every node

Not this: Failed to invoke spank plugin stack: it only says that the container did not start

Sources: https://github.com/NVIDIA/pyxis/issues/61
https://github.com/NVIDIA/pyxis/issues/135
https://github.com/NVIDIA/enroot/blob/master/doc/usage.md
https://apptainer.org/docs/user/main/
https://docs.podman.io/en/latest/
"""

SIGNS = r"""
PYXIS = ^(?:\[\S+\](?: \[[\d.]+\])? )?(?:slurm(?:stepd|d)(?:-\S+)?: )?error: pyxis: +
sure confirmation: pyxis: {reason}
    <PYXIS>(?P<reason>(?:couldn't start container|container start failed)[^,;]*)
likely cause: pyxis: {reason}
    <PYXIS>(?!printing contents|if the image|skipping|\[INFO\]|\[WARN\])(?P<reason>.+)
likely cause if failed: enroot: {reason}
    ^\[ERROR\] (?P<reason>(?:URL |/etc/enroot/|File already exists|Could not).*)
sure consequence: Slurm's plugin for containers failed
    ^(?:slurmstepd(?:-\S+)?: )?error: (?:spank: required plugin spank_pyxis\.so
        |Failed to invoke spank plugin stack)
sure cause: apptainer: {reason}
    ^FATAL: +(?P<reason>(?:Unable to (?:build|handle|pull)|While (?:loading|making|performing)
        |could not open image|container creation failed|image (?:could|does)|Couldn't).*)
likely cause if failed: the container engine: {reason}
    ^(?:Error: | *\* |docker: )(?P<reason>(?:Error response from daemon: |initializing source[ ]
        docker://|unable to copy from source|statfs |crun: |runc: |OCI runtime ).*)
likely cause: shifter: it does not have the image
    ^FAILED to find requested image
"""
EXPLAINS = "launcher-report srun-step cancelled"

"""A container gets full access to the host.

`--privileged` gives the container every device and every capability of the node. A mistake in it
can harm the node, and everybody else's jobs on it. GPUs and InfiniBand need only a few devices.

Evidence: podman-run(1); ROCm's and NVIDIA's guides to containers name the devices.

Cure: AMD: `--device=/dev/kfd --device=/dev/dri --group-add=keep-groups`; NVIDIA:
`--device=nvidia.com/gpu=all`; InfiniBand: `--device=/dev/infiniband --ulimit=memlock=-1`.

Example:
- podman run --rm --privileged --network=host rocm/pytorch:rocm6.4_ubuntu24.04 python3 train.py
+ podman run --rm --device=/dev/kfd --device=/dev/dri --network=host rocm/pytorch:rocm6.4_ubuntu24.04 python3 train.py
"""

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    for command in script.commands if "--privileged" in script.text else ():
        words = script.expanded_words(command)
        texts = [word.text for word in words]
        for start in [texts.index(engine) for engine in ("podman", "docker") if engine in texts]:
            writes_settings = any("/proc/sys" in text for text in texts[start:])  # that needs it
            if "run" not in texts[start : start + 3] or writes_settings:
                continue
            for word in words[start:]:
                if word.text in ("--privileged", "--privileged=true"):
                    text = f"--privileged gives the container all of the node ({command.name})"
                    yield finding_at(word, text, "name the devices that it needs")

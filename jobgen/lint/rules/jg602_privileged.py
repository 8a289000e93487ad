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

from collections.abc import Iterator, Sequence

from jobgen.lint.rules import Findings, Script, Word, finding_at


def check(script: Script) -> Findings:
    if "--privileged" not in script.text:
        return
    for command in script.commands:
        for words in _containers(script.expanded_words(command)):
            if any("/proc/sys" in word.text for word in words):  # writing there needs it
                continue
            for word in words:
                if word.text in ("--privileged", "--privileged=true"):
                    text = f"--privileged gives the container all of the node ({command.name})"
                    yield finding_at(word, text, "name the devices that it needs")


def _containers(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """The words from podman or docker on, if it runs a container."""
    texts = [word.text for word in words]
    for engine in ("podman", "docker"):
        if engine in texts:
            start = texts.index(engine)
            if "run" in texts[start : start + 3]:
                yield words[start:]

"""A container gets full access to the host."""

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

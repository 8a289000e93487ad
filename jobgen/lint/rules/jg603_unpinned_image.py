"""An image has no fixed version."""

import re

from jobgen.lint.rules import Findings, Script, finding_at

# A path with a host or a folder: an image with neither was built here.
_IMAGE = re.compile(r"(?:--container-image=)?(docker://)?([\w.-]+(?::\d+)?[/#][\w./-]+)(:latest)?")


def check(script: Script) -> Findings:
    if "\n# sha256 of the other lines: " in script.text:  # jobgen made it
        return
    for command in script.commands:
        if "build" in command.arguments[:1]:  # it makes one image, for all
            continue
        for word in command.words:
            image = _IMAGE.fullmatch(word.text)
            if not image or not (image[3] or image[1]) or image[2].startswith("localhost/"):
                continue
            name = word.text.removeprefix("--container-image=")
            text = f"{name} may be another image tomorrow"
            yield finding_at(word, text, "add a tag with a version, or a digest")

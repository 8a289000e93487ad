"""Writes jobgen/diagnosis/lines/translations.txt: messages in 20 languages.

The texts come from the catalogues that bash and the C library install, such as those of Debian's
packages `bash`, `libc-bin` and `coreutils`, or of Ubuntu's `language-pack-XX-base`:

    python packaging/translations.py [/usr/share/locale] > jobgen/diagnosis/lines/translations.txt
"""

from __future__ import annotations

import gettext
import re
import sys
from pathlib import Path

LANGUAGES = "cs da de es fi fr hu id it ja ko nl pl pt_BR ru sv tr uk zh_CN zh_TW".split()
MESSAGES = {
    "bash": (
        " line ",
        "%s: command not found",
        "%s: unbound variable",
        "%s: cannot execute binary file",
        "syntax error near unexpected token `%s'",
        "syntax error: unexpected end of file",
        "unexpected EOF while looking for matching `%c'",
    ),
    "libc": (
        "No such file or directory",
        "Permission denied",
        "Is a directory",
        "Exec format error",
        "No space left on device",
        "Disk quota exceeded",
        "Cannot allocate memory",
        "Too many open files",
        "Resource temporarily unavailable",
        "No route to host",
        "Connection refused",
        "Connection timed out",
        "Name or service not known",
        "Temporary failure in name resolution",
        "Killed",
        "Segmentation fault",
        "Bus error",
        "Illegal instruction",
    ),
}
HEAD = """\
Messages of bash and of the C library in other languages, as they are in their own catalogues.
packaging/translations.py writes this file; lines/translated.py reads it.
"""


def fixed_part(message: str) -> str:
    """The longest part of a message between its placeholders, without punctuation around it."""
    parts = (part.strip(" \u00a0:：") for part in re.split(r"%\w", message))
    return max(parts, key=len)


def quoted_part(message: str) -> str:
    """The same, without the quotation marks of a placeholder."""
    return fixed_part(message).strip(" \u00a0`'\"«»“”„‘’「」")


def main() -> None:
    """Write the file to stdout."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/locale")
    print(HEAD)
    for domain, messages in MESSAGES.items():
        catalogues = {}
        for language in LANGUAGES:
            with (folder / language / "LC_MESSAGES" / f"{domain}.mo").open("rb") as stream:
                catalogues[language] = gettext.GNUTranslations(stream)
        for message in messages:
            print(quoted_part(message))
            for language, catalogue in catalogues.items():
                translated = quoted_part(catalogue.gettext(message))
                if translated != quoted_part(message):
                    print(f"    {language} {translated}")


if __name__ == "__main__":
    main()

"""Refuses what is no public fact in a profile, its facts or a proof: mail, home folders, tokens.

    python checks/check_private.py [FILE …]

gitleaks looks for the secrets of known services; this looks for what a user of a cluster copies
by mistake. The exit code is 1 if a file has such text.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from registry import PROFILES, ROOT, existing_file, read

# What looks like a token and is none: a commit, a sum.
_PUBLIC = re.compile(
    r"\bcommit: [0-9a-f]{40}\b|/blob/[0-9a-f]{40}/"
    r"|\bsha256:[0-9a-f]{64}\b|\"hash\": \"[0-9a-f]{64}\""
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")
# Who logs in, in the example of a page: nobody.
_ANYBODY = re.compile(r"(?i)(?:user|username|your[\w-]*)@")
_PRIVATE = {
    "the home folder of a user": re.compile(r"/(?:home|[Uu]sers)/(?!(?:NAME|USER|me)\b)\w[\w.-]*"),
    "a user's name": re.compile(
        r"(?i)(?:--(?:mail-user|uid)[= ]|\b(?:USER|LOGNAME|username)[=:] ?[\"']?)[a-z][\w-]+"
    ),
    "a key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|ssh-(?:rsa|ed25519) AAAA"),
    "a token": re.compile(
        r"\b(?:gh[pousr]_|github_pat_|hf_|glpat-|sk-|xox[abp]-|AKIA|eyJ)[\w-]{16,}"
        r"|(?i:\b\w*(?:password|passwd|secret|token|api_?key)[=:] ?[\"']?)(?![$<{/])[\w+/-]{8,}"
        r"|\b\w*PASS\w*=[\"']?(?![$<{/])[\w+/-]{8,}"
        r"|\b[0-9a-f]{32,}\b|(?=[\w+]*\d)(?=[\w+]*[a-z])(?=[\w+]*[A-Z])[A-Za-z0-9+]{32,}"
    ),
}


def main(words: list[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=existing_file, help="all, if none is named")
    files = parser.parse_args(words).files or _files()
    found = [text for file in files for text in private_texts(file)]
    print("".join(f"{text}\n" for text in found), end="")
    return 1 if found else 0


def private_texts(file: Path) -> Iterator[str]:
    """A line for each text of a file that is no public fact."""
    contact = read(file).get("contact") if file.suffix == ".yaml" else None
    name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        for mail in _MAIL.findall(line):
            if mail != contact and not _ANYBODY.match(mail):
                yield f"{name}:{number}: {mail}: a mail address that is not the contact"
        text = _PUBLIC.sub("", line)
        for kind, pattern in _PRIVATE.items():
            if found := pattern.search(text):
                yield f"{name}:{number}: {found[0]:.60}: {kind}?"


def _files() -> list[Path]:
    facts = [*ROOT.glob("tests/sites/*.yaml"), *ROOT.glob("tests/machines/*.yaml")]
    return sorted([*PROFILES.rglob("*.yaml"), *PROFILES.rglob("*.json"), *facts])


if __name__ == "__main__":
    sys.exit(main())

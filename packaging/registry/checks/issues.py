"""Makes the issues of the repository equal to reports: opens, changes and closes them, with gh.

    python checks/issues.py REPORT.json …

An issue belongs to a report by its title. Issues without the label are not touched.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from registry import Report, existing_file, maintainers, read_reports

LABEL = "profile-check"
_END = "\nThis issue is written again each week, and closed when nothing of it is left.\n"


def main(words: list[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("reports", nargs="+", type=existing_file)
    files = parser.parse_args(words).reports
    reports = [report for file in files for report in read_reports(file)]
    about = "written by checks/issues.py"
    gh("label", "create", LABEL, "--force", "--description", about)
    fields = ("--limit", "1000", "--json", "number,title,body")
    listed = json.loads(gh("issue", "list", "--state", "open", "--label", LABEL, *fields))
    issues = {issue["title"]: issue for issue in listed}
    teams = maintainers()
    for report in reports:
        apply(report, issues.get(report.title), teams.get(report.title.partition(":")[0], ""))
    return 0


def apply(report: Report, issue: dict[str, str] | None, team: str) -> None:
    """Open, change or close the issue of one report, or leave it.

    Words that were gone may be gone still where a server does not answer: that closes nothing.
    """
    number = str(issue["number"]) if issue else ""
    text = report.text + (f"\n{team}\n" if team else "") + _END
    if not report.text and not report.is_whole:
        return
    if not report.text and issue:
        gh("issue", "close", number, "--comment", "Nothing of it is left.")
    elif report.text and not issue:
        about = ("--title", report.title, "--label", LABEL)
        gh("issue", "create", *about, "--body-file", "-", text=text)
    elif report.text and issue and issue["body"].split() != text.split():
        gh("issue", "edit", number, "--body-file", "-", text=text)
    else:
        return
    print(report.title)


def gh(*words: str, text: str = "") -> str:
    """What gh prints. CalledProcessError if it fails; its message is on stderr."""
    done = subprocess.run(["gh", *words], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

"""The script is for another scheduler than the profile."""

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    profile = script.profile
    scheduler = profile.scheduler if profile else None
    if scheduler not in ("slurm", "pbs") or not script.active_directives:
        return
    if script.scheduler not in ("", scheduler):
        text = f"the profile is for {scheduler}, but the directives are for {script.scheduler}"
        cure = "lint it with the profile of its cluster"
        yield finding_at(script.active_directives[0], text, cure)

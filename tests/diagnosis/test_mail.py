"""The mail to the administrators: it has what they need, and nothing of the user's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.files import sources
from jobgen.diagnosis.nodes.mail import as_mail

SECRETS = [
    "/scratch/mary/secret",
    "b'/p/patients.h5'",
    "s3://bucket/patients",
    r"C:\Users\mary\x.h5",
    "patients_2026.h5",
    "ada",
    "mary@example.org",
    "train_secretly",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_name_of_the_user_s_is_in_the_mail(tmp_path: Path, secret: str) -> None:
    path = tmp_path / "slurm-7.out"
    lines = [
        f"OSError: [Errno 116] Stale file handle: {secret}",
        f"NVRM: Xid (PCI:0000:4e:00): 79, pid=2, name={secret}, GPU has fallen off the bus.",
        f"{secret} RuntimeError: CUDA error: uncorrectable ECC error encountered in {secret}",
    ]
    for line in lines:
        path.write_text(f"[rank1]: {line}\nsrun: error: n1: task 1: Exited with exit code 1\n")
        verdict = diagnose(sources([str(path)]))
        assert verdict.send, line
        assert not re.search(r"mary|patients|secret|bucket|\bada\b", as_mail(verdict))


def test_the_mail_has_the_sign_s_own_words_and_the_time_with_its_year(tmp_path: Path) -> None:
    path = tmp_path / "slurm-7.out"
    path.write_text(
        "srun: error: Node failure on n13\nslurmstepd: error: *** JOB 7 ON n12 CANCELLED AT"
        " 2026-11-26T03:11:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
    )
    mail = as_mail(diagnose(sources([str(path)])))
    assert mail.startswith("Subject: n13: the scheduler or the launcher lost a node of the job\n")
    assert "Time: 2026-11-26T03:11:00\n" in mail
    path.write_text(
        "gx08 rank 5: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
        "Nov 26 10:05:12 gx08 kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
    )
    assert "Time: 11-26 10:05:12\n" in as_mail(diagnose(sources([str(path)])))
    path.write_text("gx20: RuntimeError: Error 802: system not yet initialized\n")
    assert "systemctl status nvidia-fabricmanager" in as_mail(diagnose(sources([str(path)])))

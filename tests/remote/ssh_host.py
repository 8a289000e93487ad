"""A login node for tests: a real sshd on loopback, with keys, a home and a login shell of its own.

What it runs goes through `ForceCommand`, which gives each command the home of the test and the
login shell that the test has chosen; so nothing depends on the user who runs the tests.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from jobgen.quoting import quote

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")


def missing() -> str | None:
    """Why no sshd can run here, or None."""
    lacking = [name for name in ("ssh", "ssh-keygen", "rsync") if not shutil.which(name)]
    lacking += [] if SSHD else ["sshd"]
    if lacking:
        return f"not installed: {', '.join(lacking)} (openssh-server, openssh-client, rsync)"
    return None


class SshHost:
    """A login node; it ends with `stop`, and its connections by `cut`.

    With `enter`, a command's words are appended to these, which put it on another machine.
    """

    def __init__(
        self, folder: Path, shell: str = "bash", enter: Sequence[str] = (), name: str = "login1"
    ) -> None:
        self.name = name
        self.folder, self.home = folder, folder / "home"
        self.here = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)}
        self.port = _free_port()
        (self.home / "bin").mkdir(parents=True)
        (folder / "bin").mkdir()
        for name in ("host_key", "user_key"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(words, check=True)
        self.enter = enter
        self.set_shell(shell)
        self._write_configurations()
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # an empty folder, in which root's sshd insists
        words = [str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")]
        with (folder / "sshd.log").open("wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
        self._await()

    def set_shell(self, shell: str, prints: str = "") -> None:
        """Choose the login shell; start files of bash print `prints`."""
        profile = f'PATH="$HOME/bin:$PATH"\n{prints}\n'
        (self.home / ".bash_profile").write_text(profile)
        words = [*self.enter, shutil.which(shell) or shell]
        login = self.folder / "login_shell"
        login.write_text(
            f"#!/bin/sh\nexport HOME={quote(str(self.home))}\ncd\n"
            f'exec {" ".join(map(quote, words))} -c "$SSH_ORIGINAL_COMMAND"\n'
        )
        login.chmod(0o755)

    def add(self, name: str, text: str) -> None:
        """Add a command in bash to the node."""
        command = self.home / "bin" / name
        command.write_text(f"#!/bin/bash\n{text}\n")
        command.chmod(0o755)

    def introduce(self, other: SshHost) -> None:
        """Let the ssh of this node's user know another node."""
        with (self.folder / "ssh_config").open("a") as own:
            own.write((other.folder / "ssh_config").read_text())

    def cut(self) -> int:
        """Kill all connections, and leave what they started; returns their number."""
        sessions = _children(self.process.pid)
        inner = [each for session in sessions for each in _children(session)]
        for pid in [*sessions, *inner]:
            with suppress(ProcessLookupError, FileNotFoundError):
                if b"sshd" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        return len(sessions)

    def stop(self) -> None:
        """End it, with its connections."""
        self.process.kill()
        self.process.wait()

    def _write_configurations(self) -> None:
        (self.folder / "authorized_keys").write_bytes((self.folder / "user_key.pub").read_bytes())
        lines = [
            f"ListenAddress 127.0.0.1:{self.port}",
            f"HostKey {self.folder}/host_key",
            f"AuthorizedKeysFile {self.folder}/authorized_keys",
            f"ForceCommand {self.folder}/login_shell",
            "StrictModes no",
            "UsePAM no",
            "PidFile none",
            "PermitRootLogin yes",
            "PasswordAuthentication no",
            "MaxStartups 100",
        ]
        (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")
        lines = [
            f"Host {self.name}",
            "HostName 127.0.0.1",
            f"Port {self.port}",
            f"IdentityFile {self.folder}/user_key",
            f"UserKnownHostsFile {self.folder}/known_hosts",
            "StrictHostKeyChecking no",
            "IdentitiesOnly yes",
            "IdentityAgent none",
        ]
        (self.folder / "ssh_config").write_text("\n".join(lines) + "\n")
        wrapper = self.folder / "bin/ssh"  # ssh takes the home from the user database
        wrapper.write_text(
            f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.folder}/ssh_config "$@"\n'
        )
        wrapper.chmod(0o755)

    def _await(self) -> None:
        limit = time.monotonic() + 20
        while time.monotonic() < limit and self.process.poll() is None:
            words = [str(self.folder / "bin/ssh"), "-o", "BatchMode=yes", self.name, "true"]
            if not subprocess.run(words, capture_output=True, check=False).returncode:
                return
            time.sleep(0.1)
        raise RuntimeError(f"sshd did not start:\n{(self.folder / 'sshd.log').read_text()}")


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])

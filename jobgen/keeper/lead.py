"""A small mpiexec: `FILE lead …` has `FILE agent JOIN FOLDER HOST NUMBER` started on each node. Its
owner alone can read JOIN: address, token, command. Each agent holds a connection; the lead closes
its side to end a node, and an agent that loses the lead ends its node as well."""

import contextlib, functools, json, os, select, shlex, signal, socket, subprocess, sys
import threading, time
from collections.abc import Callable

from jobgen.keeper.keep import keep


def keep_alive(link: socket.socket) -> None:
    """The kernel notices within 45 s that a peer has vanished; one that is suspended has not."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in ("KEEPIDLE", 20), ("KEEPINTVL", 5), ("KEEPCNT", 5), ("USER_TIMEOUT", 45000):
        link.setsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_{name}"), value)


class Lead:
    """`FILE lead FOLDER ADDRESS TIMEOUT GRACE STREAM SPARES HOSTS STARTER COMMAND…`. STREAM is
    1 or 2. The last SPARES hosts take the places of lost ones; if all are spares, each may fail."""

    def __init__(self, folder: str, address: str, timeout: str, grace: str, *rest: str) -> None:
        stream, spares, hosts, self.starter, *command = rest
        self.folder, self.hosts, self.stream = folder, hosts.split(), int(stream)
        self.timeout, self.grace, self.spares = float(timeout), float(grace), int(spares)
        self.server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.server.bind((address, 0))
        self.server.listen(1024)
        self.server.settimeout(0.2)
        keep_alive(self.server)  # and so will be all that it accepts
        token, port = os.urandom(16).hex(), self.server.getsockname()[1]
        self.awaited = {f"{token} {i}\n".encode(): i for i in range(len(self.hosts))}
        self.links: list[socket.socket] = []  # with a timeout until the token has come
        self.ends: dict[int, int] = {}  # of each node that has ended, the status
        self.status, self.lock, self.reserve = 0, threading.Lock(), self.spares % len(self.hosts)
        self.join = os.path.join(folder, f"join.{os.urandom(4).hex()}")
        with open(os.open(self.join, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            json.dump([[address, port], token, self.grace, self.stream, command], file)

    def start(self, number: int) -> "subprocess.Popen[bytes]":
        """A node's starter. %h is the host, %a the words of the agent, %q these as one word."""
        agent = [sys.executable, "-I", "-S", os.path.abspath(sys.argv[0]), "agent", self.join]
        agent += [self.folder, self.hosts[number], str(number)]
        words = " ".join(map(shlex.quote, agent))
        line = self.starter.replace("%h", self.hosts[number]).replace("%q", shlex.quote(words))
        line = "exec " + line.replace("%a", words)
        return subprocess.Popen(line, shell=True, stdin=subprocess.DEVNULL)

    def accept(self) -> None:
        """A thread hears each connection. Of strangers 100 can wait, and none for more than 9 s."""
        with contextlib.suppress(OSError):  # mostly, nobody has come
            link = self.server.accept()[0]
            link.settimeout(9)
            self.links = [each for each in self.links if each.fileno() >= 0] + [link]
            threading.Thread(target=self.hear, args=(link,), daemon=True).start()
            strangers = [each for each in self.links if each.gettimeout()]
            if len(strangers) > 100:
                strangers[0].shutdown(socket.SHUT_RDWR)

    def hear(self, link: socket.socket) -> None:
        """An agent sends its token first, then what its node writes, and its status after a NUL."""
        number, text = -1, b""
        with link, contextlib.suppress(OSError, KeyError):  # a stranger has no token
            token = link.recv(65536)
            link.settimeout(None)  # before it is a node: only strangers make room for others
            number = self.awaited.pop(token)
            link.sendall(b"\n")
            for data in iter(lambda: link.recv(65536), b""):
                text += data
                cut = max(text.rfind(b"\n"), text.rfind(b"\r"), len(text) - 65536) + 1
                self.write(text[:cut])  # lines, unless one is very long
                text = text[cut:]
        if number >= 0:
            rest, mark, status = text.rpartition(b"\0")
            self.write(rest if mark else status)
            end = int(status) if mark and status.isdigit() else -1  # it is lost
            self.end(number, end, f"ended with status {end}" if end >= 0 else "no longer answers")

    def write(self, text: bytes) -> None:
        with self.lock, contextlib.suppress(OSError):  # a full disk
            os.write(self.stream, text)

    def end(self, number: int, status: int, problem: str) -> None:
        """A node has ended. A spare takes its place, if it is lost or killed and not the first."""
        with self.lock:
            if status and not self.status:
                if number and self.reserve and not 0 < status < 128 and all(self.ends.values()):
                    self.reserve -= 1
                    problem += f"\njobgen: {self.hosts[~self.reserve]}: takes its place"
                elif self.spares < len(self.hosts):
                    self.status = abs(status)
                print(f"jobgen: {self.hosts[number]}: {problem}", file=sys.stderr, flush=True)
            self.ends[number] = status

    def run(self) -> int:
        """The status of the first node that fails, after all have ended."""
        for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(name, lambda *_: setattr(self, "status", self.status or 143))
        starters, seconds, ending, parent = [self.start(0)], 0.0, False, os.getppid()
        while len(self.ends) + self.reserve < len(self.hosts) and not (ending and seconds > 35):
            while not ending and len(starters) < len(self.hosts) - self.reserve:
                starters, seconds = [*starters, self.start(len(starters))], 0.0
            before = time.monotonic()
            self.accept()
            seconds += min(time.monotonic() - before, 1)  # a suspend does not count
            if os.getppid() != parent:  # the batch script was killed, and nobody else ends this
                self.status = self.status or 143
            if self.status and not ending:
                ending, seconds, self.reserve = True, -self.grace, len(self.hosts) - len(starters)
                for link in self.links:
                    with contextlib.suppress(OSError):  # it has gone already
                        link.shutdown(socket.SHUT_WR)
            for token, number in [i for i in list(self.awaited.items()) if i[1] < len(starters)]:
                code = starters[number].poll()
                problem = "no answer" if code is None else f"the starter ended with status {code}"
                is_lost = ending or code is not None or seconds > self.timeout
                if is_lost and self.awaited.pop(token, -1) >= 0:  # it has not answered meanwhile
                    self.end(number, -1, f"cannot be started: {problem}")
        os.remove(self.join)
        for _ in range(50):
            time.sleep(0.1 * any(starter.poll() is None for starter in starters))
        for starter in starters:
            starter.kill()
        return self.status


def agent(join: str, host: str, number: str, step: "Callable[[], object]") -> int:
    """Runs the command on one node, until it ends or the lead closes its side of the connection."""
    address = ["an unknown address"]
    for _ in filter(lambda _: os.path.exists(join), range(60)):  # it is removed at the lead's end
        with contextlib.suppress(OSError), open(join) as file:
            address, token, grace, stream, command = json.load(file)
            link = socket.create_connection(address, 5)
            link.settimeout(60)  # the lead may be busy, with 511 others
            link.sendall(f"{token} {number}\n".encode())
            if link.recv(1):
                break
        time.sleep(0.5)
    else:
        line = f"jobgen: {host}: no way to the first node, {address[0]}: see network.interface"
        sys.exit(line if os.path.exists(join) else 1)  # else the lead has ended, and says why
    link.settimeout(None)
    keep_alive(link)
    os.environ.update(JOBGEN_NUMBER=number, JOBGEN_HOST=host)
    stub = os.fork()  # the agent is its parent, whatever becomes of the starter
    if not stub:
        os.dup2(link.fileno(), stream)
        lead_ends = functools.partial(select.select, [link], [], [], 0)  # it sends nothing else
        sys.exit(keep(grace, "", command, lambda: step() is True or any(lead_ends())))
    status = os.waitpid(stub, 0)[1]
    status = 128 + (status & 127) if status & 127 else status >> 8
    with contextlib.suppress(OSError):  # the lead is gone
        link.sendall(b"\0%d" % status)
        link.shutdown(socket.SHUT_RDWR)  # also if a process that cannot be killed has it
    return status

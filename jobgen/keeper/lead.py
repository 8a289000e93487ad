"""A small mpiexec: `FILE lead …` has `FILE agent JOIN FOLDER HOST NUMBER` started on each node. Its
owner alone can read JOIN: address, token, command. Each agent holds a connection; the lead closes
its side to end a node, and an agent that loses the lead ends its node as well."""

import contextlib, json, os, secrets, select, shlex, signal, socket, subprocess, sys, time
from collections.abc import Callable

from jobgen.keeper.keep import keep


def keep_alive(link: socket.socket) -> None:
    """The kernel notices within 45 s that a peer has vanished; one that is suspended has not."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in ("KEEPIDLE", 20), ("KEEPINTVL", 5), ("KEEPCNT", 5), ("USER_TIMEOUT", 45000):
        link.setsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_{name}"), value)


class Lead:
    """`FILE lead FOLDER ADDRESS TIMEOUT GRACE STREAM HOSTS STARTER COMMAND…`; STREAM: 1 or 2."""

    def __init__(self, folder: str, address: str, timeout: str, grace: str, *rest: str) -> None:
        stream, hosts, self.starter, *command = rest
        self.folder, self.hosts, self.stream = folder, hosts.split(), int(stream)
        self.timeout, self.grace = float(timeout), float(grace)
        self.server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.server.bind((address, 0))
        self.server.listen(1024)
        keep_alive(self.server)  # and so will be all that it accepts
        token, port = secrets.token_hex(16), self.server.getsockname()[1]
        self.awaited = {f"{token} {i}\n".encode(): i for i in range(len(self.hosts))}
        self.peers: dict[socket.socket, int] = {}  # nodes, and strangers: minus their time
        self.status, self.texts = 0, [b""] * len(self.hosts)  # texts: the start of the next line
        self.ends: dict[int, int] = {}  # of each node that has ended, the status
        self.join = os.path.join(folder, f"join.{secrets.token_hex(4)}")
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

    def end(self, number: int, status: int, problem: str) -> None:
        """A node has ended; the first one that fails is named, and gives the job its status."""
        self.ends[number] = status
        if status and not self.status:
            print(f"jobgen: {self.hosts[number]}: {problem}", file=sys.stderr, flush=True)
            self.status = status

    def hear(self, link: socket.socket) -> None:
        """An agent sends its token first, then what its node writes, and its status after a NUL."""
        data, number, text = b"", self.peers[link], b""
        with contextlib.suppress(OSError):
            data = link.recv(65536)
        if number < 0:
            number = self.peers[link] = self.awaited.pop(data, -1)
            data = b"" if number < 0 else data[: link.send(b"\n")]
        else:
            text = self.texts[number] + data
            cut = max(text.rfind(b"\n"), text.rfind(b"\r"), len(text) - 65536) + 1
            text, self.texts[number] = text[:cut], text[cut:]  # lines, unless one is very long
        is_end = not data and number >= 0
        rest, mark, status = (self.texts[number] if is_end else b"").rpartition(b"\0")
        with contextlib.suppress(OSError):  # a full disk
            os.write(self.stream, text + (rest if mark else status))
        if not data:
            del self.peers[link]
            link.close()
        if is_end and number not in self.ends:
            ended = mark and status.isdigit()
            problem = f"ended with status {int(status)}" if ended else "no longer answers"
            self.end(number, int(status) if ended else 1, problem)

    def step(self, starters: "list[subprocess.Popen[bytes]]", seconds: float) -> None:
        """What has come from the network, and which nodes have not been started."""
        now = int(time.monotonic())
        heard = select.select([self.server, *self.peers], [], [], 0.5)[0]
        for link in heard:
            if link is not self.server:
                self.hear(link)
                continue
            with contextlib.suppress(OSError):
                self.peers[self.server.accept()[0]] = -1 - now
        strangers = [link for link, since in self.peers.items() if since < 0]
        for link in strangers:  # no more than 100 can wait, and none for more than 9 s
            if self.peers[link] > 8 - now or link in strangers[:-100]:
                del self.peers[link]
                link.close()
        for number in list(self.awaited.values()):
            ended = None if heard else starters[number].poll()  # its answer may be on the way
            if ended is not None or seconds > self.timeout:
                problem = "no answer" if ended is None else f"the starter ended with status {ended}"
                self.end(number, 1, f"cannot be started: {problem}")

    def run(self) -> int:
        """The status of the first node that fails, after all have ended."""
        for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(name, lambda *_: setattr(self, "status", self.status or 143))
        starters, seconds, ending = list(map(self.start, range(len(self.hosts)))), 0.0, False
        while len(self.ends) < len(starters) and not (ending and seconds > self.grace + 35):
            before = time.monotonic()
            self.step(starters, seconds)
            seconds += min(time.monotonic() - before, 1)  # a suspend does not count
            if self.status and not ending:
                ending, seconds = True, 0.0
                self.ends.update(dict.fromkeys(self.awaited.values(), self.status))
                self.awaited.clear()
                for link in self.peers:
                    with contextlib.suppress(OSError):  # it has gone already
                        link.shutdown(socket.SHUT_WR)
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
    (alive, held), stub = os.pipe(), os.fork()  # stub and keeper hold it
    if not stub:
        os.dup2(link.fileno(), stream)
        link.close()
        sys.exit(keep(grace, "", command, step))
    os.close(held)
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(name, lambda *_: os.kill(stub, signal.SIGTERM))
    if link.fileno() in select.select([link.fileno(), alive], [], [])[0]:
        os.kill(stub, signal.SIGTERM)
    os.read(alive, 1)
    status = os.waitpid(stub, 0)[1]
    status = 128 + (status & 127) if status & 127 else status >> 8
    with contextlib.suppress(OSError):  # the lead is gone
        link.sendall(b"\0%d" % status)
        link.shutdown(socket.SHUT_RDWR)  # also if a process that cannot be killed has it
    return status

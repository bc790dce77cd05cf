"""Recall for a prompt, asked of the process that keeps it at hand (`standby`): a person waits.

Whatever is imported here is waited for at each prompt, so it is next to nothing: no `json`, which
the other side speaks, nor `typing` and `socket`, which cost more than the answer. What that process
does not answer (there is none, it is of another release, it failed) the usual way answers, from the
same event. One that hangs is given up by the deadline, and ended afterwards, when nobody waits.
"""

import _socket
import os
import select
import sys
import time

PROTOCOL = 1
SECONDS = 0.3
"""What a prompt's recall may take when it is asked of that process."""

STDIN_SECONDS = 2.0
SECONDS_VARIABLE = "SKYMEM_HOOK_SECONDS"
SECONDS_MAX = 600.0

STDIN_BYTES_MAX = 8 * 1024 * 1024
"""Of a hook's event: what a tool read may be large; what is larger is not taken in."""

OFF_VARIABLE = "SKYMEM_HOOK_STANDBY"
OFF = ("off", "0", "false", "no")

HOME, AGENT = "--home", "--agent"
KINDS = (b"SKYMEM_", b"MILTON_", b"TZ")
"""Variables that may change an answer: they go along."""

TAKEN, BUSY = b"+", b"!"
SIZE = 8
CREDENTIALS_BYTES = 12  # pid, uid, gid


class Asked:
    """A prompt's command line: which home and agent."""

    def __init__(self, home: str, agent: str) -> None:
        self.home = home
        self.agent = agent
        """Empty: whom the environment says."""

    @classmethod
    def of(cls, words: list[str]) -> "Asked | None":
        """Read a command line; None where it is another one, or has to be looked at closely."""
        given = {HOME: os.environ.get("SKYMEM_HOME", ""), AGENT: ""}
        left = [*words]
        while len(left) > 2 and left[0] in given:
            given[left[0]] = left[1]
            del left[:2]
        if left != ["hook", "prompt"] or not given[HOME].startswith("/"):
            return None
        return cls(given[HOME], given[AGENT])


class UnansweredError(Exception):
    """It did not answer in time; says why."""


def main(words: list[str]) -> bool:
    """Answer a prompt's hook on stdout; False: it is to be answered the usual way.

    What was read from stdin can be read there again.
    """
    asked = Asked.of(words)
    if asked is None or os.environ.get(OFF_VARIABLE, "").lower() in OFF:
        return False
    connection = dial(asked.home)
    return connection is not None and _ask(asked, connection)


def _ask(asked: Asked, connection: "_socket.socket") -> bool:
    event = _stdin(time.monotonic() + STDIN_SECONDS)
    if event is None:
        say(2, b"skymem: hook prompt: what comes on stdin does not end; nothing is done\n")
        return True
    try:
        answer = ask(connection, request(asked.agent, event), time.monotonic() + seconds())
    except UnansweredError as why:
        _tell_nothing(str(why))
        if why.__cause__ is not None:
            from skymem.hooks.hung import end_if_hung

            end_if_hung(asked.home, connection)
        return True
    if answer is None:
        _put_back(event)
        return False
    said, told = answer
    say(2, said)
    say(1, told)
    return True


def seconds() -> float:
    """What an answer may take: as the environment says, where that can be, else as usual."""
    try:
        wanted = float(os.environ.get(SECONDS_VARIABLE, ""))
    except ValueError:
        return SECONDS
    return wanted if 0 < wanted <= SECONDS_MAX else SECONDS


def identity() -> bytes:
    """Of which installation and release a process is, as far as can be told at a glance."""
    status = os.stat(__file__)
    about = (PROTOCOL, __file__, status.st_ino, status.st_mtime_ns, sys.version)
    return os.fsencode("\t".join(str(one) for one in about))


def dial(home: str) -> "_socket.socket | None":
    """Connect to the process of a home; None where nobody of ours takes a connection there."""
    try:
        directory = os.open(f"{home}/run", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.connect(f"/proc/self/fd/{directory}/hook.sock")  # a name of any length (socket_file)
        uid = peer(made)[1]
        ours = uid == os.geteuid() or (os.geteuid() == 0 and uid == os.stat(home).st_uid)
    except OSError:
        ours = False
    finally:
        os.close(directory)
    if not ours:
        made.close()
        return None
    return made


def peer(connection: "_socket.socket") -> tuple[int, int]:
    """The process at the other end, and whose it is, as the kernel knows it."""
    raw = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, CREDENTIALS_BYTES)
    return int.from_bytes(raw[:4], sys.byteorder), int.from_bytes(raw[4:8], sys.byteorder)


def request(agent: str, event: bytes) -> bytes:
    """Spell what is asked: who asks, for which agent, in which environment, and the event."""
    mine = [b"%s=%s" % pair for pair in os.environb.items() if pair[0].startswith(KINDS)]
    head = b"\0".join((identity(), os.fsencode(agent), *mine))
    return sized(head) + sized(event)


def sized(data: bytes) -> bytes:
    """Put a size before some bytes."""
    return len(data).to_bytes(SIZE, "big") + data


def ask(connection: "_socket.socket", asked: bytes, until: float) -> tuple[bytes, bytes] | None:
    """Ask, and give what is for stderr and for stdout; None where the usual way is to answer.

    Raises:
        UnansweredError: time is up; for its cause a TimeoutError where nobody took the question.
    """
    try:
        connection.settimeout(_left(until))
        connection.sendall(asked)
        first = receive(connection, 1, until)
    except TimeoutError as cause:
        raise UnansweredError("the process that keeps it at hand hangs") from cause
    except OSError:
        return None
    if first == BUSY:  # the usual way would take longer still
        raise UnansweredError("too much is to be done at once")
    if first != TAKEN:
        return None
    try:
        parts = [receive(connection, _size(connection, until), until) for _ in range(2)]
    except TimeoutError:
        raise UnansweredError("no answer in time") from None
    except OSError:
        return None
    return parts[0], parts[1]


def receive(connection: "_socket.socket", size: int, until: float) -> bytes:
    """Read so many bytes.

    Raises:
        TimeoutError: they don't come by then.
        ConnectionError: the other side left.
    """
    got = bytearray()
    while len(got) < size:
        connection.settimeout(_left(until))
        piece = connection.recv(size - len(got))
        if not piece:
            raise ConnectionError
        got += piece
    return bytes(got)


def _size(connection: "_socket.socket", until: float) -> int:
    return int.from_bytes(receive(connection, SIZE, until), "big")


def _left(until: float) -> float:
    return max(0.001, until - time.monotonic())


def _stdin(until: float) -> bytes | None:
    """The event; None where it does not end. Of one that is too large, enough to see that."""
    pieces: list[bytes] = []
    size = 0
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    while waiting.poll(max(0.0, until - time.monotonic()) * 1000):
        piece = os.read(0, 65_536)
        if not piece:
            return b"".join(pieces)
        if size <= STDIN_BYTES_MAX:
            pieces.append(piece)
            size += len(piece)
    return None


def _put_back(event: bytes) -> None:
    fd = os.memfd_create("event")
    say(fd, event)
    os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)


def say(fd: int, data: bytes) -> None:
    """Write it all, for as long as anybody reads."""
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(fd, left) :]
    except BrokenPipeError:
        return


def _tell_nothing(why: str) -> None:
    told = f"skymem: no memory for this prompt: {why}"
    say(2, f"{told}\n".encode())
    say(1, f'{{"systemMessage": "{told}"}}\n'.encode())

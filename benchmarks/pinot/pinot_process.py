"""One component of a Pinot cluster as a process of its own: ZooKeeper, controller, broker or server."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
START_SECONDS = 240
STOP_SECONDS = 60
# What Pinot's off-heap buffers reach into since Java 9 closed it.
OPENED = ("java.nio", "sun.nio.ch", "java.lang", "java.util", "java.lang.reflect", "jdk.internal.misc")


class PinotFailed(Exception):
    """Pinot, or what it needs, did not do what it was asked for."""


@dataclass
class PinotProcess:
    """A command of Pinot's own administrator; its files, its log and its output are in ``folder``.

    ``settings``: the component's configuration. ``health``: a URL that answers OK once it is ready, or a port
    that takes connections.
    """

    jars: Path
    folder: Path
    command: Sequence[str]
    java_options: Sequence[str]
    health: str | int
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Return the file of the log; that of queries has ``.queries`` at its end."""
        return self.folder / "pinot.log"

    def start(self) -> None:
        """Start it; ``wait`` returns when it is ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        given = self.folder / "settings.properties"
        given.write_text("".join(f"{name}={value}\n" for name, value in self.settings.items()))
        opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
        command = [
            *(_java(), *self.java_options, *opens),
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            *(f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}", f"-Dpinot.log.file={self.log}"),
            f"-Djava.io.tmpdir={self.folder}",
            *("-cp", f"{self.jars}/*", "org.apache.pinot.tools.admin.PinotAdministrator", *self.command),
            *(("-configFileName", str(given)) if self.settings else ()),
        ]
        with (self.folder / "output.txt").open("ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=self.folder)

    def wait(self) -> None:
        """Wait until it is ready."""
        name = self.folder.name
        waited_until = time.monotonic() + START_SECONDS
        while time.monotonic() < waited_until:
            if self.process is None or self.process.poll() is not None:
                raise PinotFailed(f"Pinot's {name} ended while starting{self.log_end()}")
            if _is_healthy(self.health):
                return
            time.sleep(0.2)
        raise PinotFailed(f"Pinot's {name} is not ready after {START_SECONDS} s{self.log_end()}")

    def kill(self) -> None:
        """End it as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def terminate(self) -> None:
        """Ask it to end; ``stop`` waits for that."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def stop(self) -> None:
        """End it."""
        self.terminate()
        if self.process is not None:
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def log_end(self) -> str:
        """Return the end of what it has said, empty if that is nothing."""
        for file in (self.log, self.folder / "output.txt"):
            if file.exists() and (text := file.read_text(errors="replace").strip()):
                return f"\nThe end of {file.parent.name}/{file.name}:\n{text[-2000:]}"
        return ""


def free_ports(count: int) -> list[int]:
    """Return ``count`` ports that are free at this moment."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _is_healthy(place: str | int) -> bool:
    if isinstance(place, int):
        with socket.socket() as tried:
            tried.settimeout(1)
            return tried.connect_ex(("127.0.0.1", place)) == 0
    try:
        with urllib.request.urlopen(f"{place}/health", timeout=2) as response:
            return bool(response.read() == b"OK")
    except OSError:
        return False

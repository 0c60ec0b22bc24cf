"""A real OpenSearch 2.19 of one node, on loopback, without a container: jars from Maven and a small class.

The jars (43 MB) are fetched once, into a folder that stays. OpenSearch's own archive is in no registry of
packages; its security plugin is not either, so that tests of TLS and passwords put nginx in front.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from free_ports import free_ports
from short_lived_java import SHORT_LIVED_JAVA

HERE = Path(__file__).parent / "opensearch"
CACHE = Path("~/.cache/starskip/opensearch-2.19.0").expanduser()
START_S = 120
HEAP = ("-Xms256m", "-Xmx512m")


def opensearch_jars() -> Path:
    """Return the folder with the jars and the class, which Maven and javac make if they are not there yet."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        jars, classes = CACHE / "jars", CACHE / "classes"
        if not jars.exists():
            unfinished = CACHE / f"jars.{os.getpid()}"
            _run(_program("mvn"), "-B", "-q", "-f", HERE / "pom.xml", "package", f"-Dfolder={unfinished}")
            unfinished.rename(jars)
        source = HERE / "SingleNode.java"
        made = classes / "SingleNode.class"
        if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
            # Which java runs it may be an older one.
            _run(_program("javac"), "--release", "17", "-d", classes, "-cp", f"{jars}/*", source)
    return CACHE


@dataclass
class RunningOpenSearch:
    """A node whose data lies in ``folder``; it can be killed and started again with the same data."""

    folder: Path
    ports: list[int] = field(default_factory=lambda: free_ports(2))
    _process: subprocess.Popen[bytes] | None = None
    _output: IO[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    def url(self, prefix: str) -> str:
        return f"opensearch://{self.address}/{prefix}"

    def start(self, *, wait: bool = True) -> None:
        """Start it; ``wait`` until it answers."""
        jars, home = opensearch_jars(), self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        self._output = (self.folder / "output.txt").open("ab")
        command = [
            *(_program("java"), *HEAP, *SHORT_LIVED_JAVA.split(), f"-Dopensearch.path.conf={home}"),
            "-Dopensearch.set.netty.runtime.available.processors=false",
            *("--add-opens", "java.base/java.io=ALL-UNNAMED"),
            *("-cp", f"{jars}/jars/*:{jars}/classes", "SingleNode", str(home), *map(str, self.ports)),
        ]
        self._process = subprocess.Popen(
            command, stdout=self._output, stderr=subprocess.STDOUT, cwd=self.folder, start_new_session=True
        )
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait until it answers to searches."""
        assert self._process is not None
        waited_until = time.monotonic() + START_S
        while time.monotonic() < waited_until:
            assert self._process.poll() is None, f"ended while starting: {self._end()}"
            try:
                url = f"http://{self.address}/_cluster/health?wait_for_status=yellow&timeout=5s"
                urllib.request.urlopen(url, timeout=10).close()
            except (OSError, urllib.error.HTTPError):
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"not ready: {self._end()}")

    def kill(self) -> None:
        """End it as a power cut does, but for what the kernel has not written yet."""
        self._signal(signal.SIGKILL)
        if self._output is not None:
            self._output.close()

    def pause(self) -> None:
        """Have it hold its connections and answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """End a pause."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait()

    def _end(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")[-2000:]


def _program(name: str) -> str:
    of_home = Path(os.environ.get("JAVA_HOME") or "/") / "bin" / name
    found = str(of_home) if name != "mvn" and of_home.exists() else shutil.which(name)
    package = {"mvn": "maven"}.get(name, "openjdk-17-jdk-headless")
    assert found, f"tests of OpenSearch need {name}: sudo apt-get install {package}"
    return found


def _run(*command: object) -> None:
    told = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    assert told.returncode == 0, f"{command[0]}: {told.stdout[-2000:]}{told.stderr[-2000:]}"

"""A real OpenSearch 2.19 or Elasticsearch 7.17 of one node, on loopback: jars from Maven and a small class.

The jars (43 MB, 34 MB) are fetched once, into a folder that stays. The servers' own archives are in no
registry of packages; OpenSearch's security plugin is not either, so that tests of TLS and passwords put nginx
in front. Of Elasticsearch 8 and later the module of its network is published as no jar.
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
CACHE = Path("~/.cache/starskip").expanduser()
START_S = 120
HEAP = ("-Xms256m", "-Xmx512m")


@dataclass(frozen=True)
class SearchProduct:
    """``group`` is that of its jars and classes; ``settings`` begin the names of system properties."""

    name: str
    version: str
    group: str
    settings: str
    log4j: str

    def jars(self) -> Path:
        """Return the folder with jars and class, which Maven and javac make if they are not there yet."""
        cache = CACHE / f"{self.name}-{self.version}"
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            jars, classes = cache / "jars", cache / "classes"
            if not jars.exists():
                unfinished = cache / f"jars.{os.getpid()}"
                _run(
                    *(_program("mvn"), "-B", "-q", "-f", HERE / "pom.xml", "package"),
                    *(f"-Dproduct={self.name}", f"-DproductVersion={self.version}"),
                    *(f"-Dgroup={self.group}", f"-Dlog4j={self.log4j}", f"-Dfolder={unfinished}"),
                )
                unfinished.rename(jars)
            source, made = HERE / "SingleNode.java", classes / "SingleNode.class"
            if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
                # Elasticsearch's classes have the same names in another package.
                own = cache / source.name
                own.write_text(source.read_text().replace("org.opensearch", self.group))
                # Which java runs it may be an older one.
                _run(_program("javac"), "--release", "17", "-d", classes, "-cp", f"{jars}/*", own)
        return cache


OPENSEARCH = SearchProduct("opensearch", "2.19.0", "org.opensearch", "opensearch", "2.21.0")
ELASTICSEARCH = SearchProduct("elasticsearch", "7.17.28", "org.elasticsearch", "es", "2.17.1")


@dataclass
class RunningOpenSearch:
    """A node whose data lies in ``folder``; it can be killed and started again with the same data."""

    folder: Path
    product: SearchProduct = OPENSEARCH
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
        jars, home = self.product.jars(), self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        self._output = (self.folder / "output.txt").open("ab")
        command = [
            *(_program("java"), *HEAP, *SHORT_LIVED_JAVA.split()),
            f"-D{self.product.settings}.path.conf={home}",
            f"-D{self.product.settings}.set.netty.runtime.available.processors=false",
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
        # Its other threads run on, and may answer, until each has met the signal. The kernel's word of that
        # is left there, for a second pause.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

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

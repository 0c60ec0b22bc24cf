"""Run as a script: forks a process for each call of ``starskip``, which then need not import it anew.

It says when it is ready. Each line read is JSON: the arguments, and the seconds after which to kill -9 the
call, or null. The answer is a line with the exit code of the call, -9 if it was killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence

import vl_convert
from starskip.advisor.run.stages import STAGES
from starskip.cli.main import main
from starskip.night.stage_functions import stage_function


def _called(arguments: Sequence[str]) -> int:
    """Start the call in a child and return the child's id."""
    child = os.fork()
    if child:
        return child
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        main(arguments)
    except SystemExit as end:
        sys.stderr.flush()
        os._exit(0 if end.code is None else int(end.code))
    os._exit(1)


if __name__ == "__main__":
    for stage in STAGES:
        stage_function(stage.name)
    # Drawn anew by each child, charts would be two fifths of a night, in which nothing touches the store.
    vl_convert.vegalite_to_svg = lambda *_, **__: "<svg></svg>"
    print("ready", flush=True)
    for line in sys.stdin:
        arguments, killed_after_s = json.loads(line)
        child = _called(arguments)
        if killed_after_s is not None:
            time.sleep(killed_after_s)
            os.kill(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

"""Write tests/data/reports anew: ``.venv/bin/python tests/reports/write_golden.py``; then read the diff."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1] / "support"))  # as pytest does, by pyproject.toml
    from golden_reports import FOLDER, NAMES, golden_files

    FOLDER.mkdir(parents=True, exist_ok=True)
    for case in NAMES:
        for file, text in golden_files(case).items():
            (FOLDER / file).write_text(text, encoding="utf-8")

"""Options of Java for programs of tests that live for seconds."""

from __future__ import annotations

SHORT_LIVED_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""They end before the optimising compiler would have paid for itself."""

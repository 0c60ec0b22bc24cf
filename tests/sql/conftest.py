from __future__ import annotations

from hypothesis import settings

# The parser's first call loads it; no test judges time.
settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")

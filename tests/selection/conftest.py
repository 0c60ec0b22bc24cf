from __future__ import annotations

from hypothesis import settings

# The first call of the solver loads it; no test judges time.
settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")

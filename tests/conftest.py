"""What all tests share."""

from hypothesis import HealthCheck, settings

# Deadlines would assert timing, and this machine is shared; print_blob lets a failure be run again.
settings.register_profile(
    "starskip", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("starskip")

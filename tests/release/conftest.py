"""The release that its tests look at."""

from built_release import release as release

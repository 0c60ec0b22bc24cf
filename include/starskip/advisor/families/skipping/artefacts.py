"""Names of the artefacts that nights publish of skipping indexes."""

ADVICE, SHAPES = "skipping_advice", "skipping_shapes"
BUILDS, VERDICTS = "skipping_builds", "skipping_verdicts"

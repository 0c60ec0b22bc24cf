"""Names of the artefacts that nights publish about skipping indexes."""

ADVICE, SHAPES = "skipping_advice", "skipping_shapes"
BUILDS, VERDICTS = "skipping_builds", "skipping_verdicts"

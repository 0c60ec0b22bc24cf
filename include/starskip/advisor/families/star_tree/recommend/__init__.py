"""Star-trees recommended from a workload: sizes before building, candidates, predicted documents."""

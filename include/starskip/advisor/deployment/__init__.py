"""Put advice into a running Pinot: forecast, plan, canary, proof by replay, verdicts, and the way back."""

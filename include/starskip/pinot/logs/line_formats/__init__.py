"""The shapes of broker log lines, one a module; ``registry`` lists them."""

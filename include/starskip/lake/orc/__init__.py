"""ORC files: stripes, and the tail that describes them."""

"""Publishing: manifests, put-if-absent commits, file identity, and the schemas of all artefacts."""

"""Artefact storage: manifests, put-if-absent commits, file identities, and the schemas of all artefacts."""

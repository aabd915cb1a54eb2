"""Topics into files, each row exactly once: runs, their manifests, verification."""

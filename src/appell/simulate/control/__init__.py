"""Control sampled at a rate: inputs kept constant between samples."""

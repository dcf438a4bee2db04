"""Read and check the profiles of agent CLIs, one TOML file each."""

"""What is known of agent CLIs: one TOML file each; how it is read and checked."""

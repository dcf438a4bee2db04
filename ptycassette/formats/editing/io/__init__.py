"""Edit cassettes on disk, and publish the result."""

"""What is a secret: rules as data, and the judges of values."""

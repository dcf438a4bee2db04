"""Views: the texts of a session to be searched. Each maps back to the bytes that it came from."""

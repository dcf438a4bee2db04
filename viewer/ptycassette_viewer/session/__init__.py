"""A recording in time: events and exact screens at any moment. Without Textual."""

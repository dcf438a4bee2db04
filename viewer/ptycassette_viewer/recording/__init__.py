"""The main screen in parts: the playhead on it, and what keys do with it."""

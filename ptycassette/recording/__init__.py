"""The journal codec, the finaliser, and frame and record policies."""

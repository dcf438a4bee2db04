"""Import files of other tools as cassettes: terminal recordings, calls of models, scripts."""

"""Write traces of tests: the steps of a test, the recording, and the differences."""

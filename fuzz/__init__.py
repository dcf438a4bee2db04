"""Coverage-guided fuzzing: ``make fuzz``. What it finds becomes a test, its inputs the corpus.

``readers.py`` has a row for each reader of others' files and messages, and one law for all.
``targets/`` holds a module for each that has a law of its own. Each has ``check(data)``: it
returns, with what the reader may raise by its declaration handled, and asserts what must hold.
``corpus/`` holds inputs for the modules, which the ordinary tests replay; rows make their own.
"""

"""Coverage-guided fuzzing: ``make fuzz``. What it finds becomes a test, its inputs the corpus.

``targets/`` holds one module a reader. Each has ``check(data)``: it returns, or raises what the
reader may raise by its declaration handled, and asserts what must hold. ``corpus/`` holds
inputs for each, which the ordinary tests replay.
"""

"""Export recordings to other formats: asciicasts, text, pages, pictures and films."""

"""Events to asciicast, text, HTML, SVG and GIF bytes."""

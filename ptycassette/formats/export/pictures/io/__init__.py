"""Write pictures and films: fonts, file formats, and ffmpeg."""

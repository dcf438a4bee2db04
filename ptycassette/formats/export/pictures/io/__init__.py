"""Pictures and films as files: fonts, the formats, and ffmpeg."""

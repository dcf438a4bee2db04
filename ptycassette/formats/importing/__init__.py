"""Files of other tools as recordings: HAR, vcrpy, call traces, telemetry; into a cassette."""

"""The scripted provider: scripts, choice of replies, planned answers. No sockets, no clocks."""

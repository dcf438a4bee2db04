"""The scripted provider: parse scripts, choose replies, plan answers. No sockets, no clocks."""

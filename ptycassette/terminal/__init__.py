"""The emulator, frame policies, query answers, a screen as text and ANSI."""

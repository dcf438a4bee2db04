"""The four provider APIs as pure functions: requests read strictly or not, answers as bytes."""

"""The four provider APIs as pure functions: requests parsed strictly, answers as bytes."""

"""A recording run again up to a place, with one thing changed there: a new recording."""

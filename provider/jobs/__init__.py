"""Jobs: the record of a paid call, how it moves, and what runs it."""

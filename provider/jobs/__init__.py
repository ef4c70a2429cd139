"""Jobs: the record of a paid call, how it moves, and who runs it."""

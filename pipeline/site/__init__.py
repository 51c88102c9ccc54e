"""From facts, charts and verdicts asked for by name to HTML; no numbers of its own."""

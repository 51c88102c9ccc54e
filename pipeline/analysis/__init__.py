"""From rows to noise bands, exchange rates and verdicts; no wording of pages."""

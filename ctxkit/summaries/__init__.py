"""Summaries without a model: language, sections, what must survive verbatim, what is salient, what is covered."""

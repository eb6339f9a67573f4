"""Results of a web search beside those of the store: off until a setting names a provider.

Nothing of it is stored; ``mem-search add URL`` keeps a page.
"""

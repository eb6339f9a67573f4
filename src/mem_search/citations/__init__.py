"""Citations of records: in the style of APA, MLA and Chicago, and as BibTeX, RIS and CSL-JSON.

``csl.item`` makes what a record says of itself (``RecordKind.citation``) an item of CSL-JSON;
everything else is a function of such items. Which records are cited, and for whom, is the
business of the surfaces.
"""

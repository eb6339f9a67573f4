"""Citations of records: in the styles APA, MLA and Chicago, and as BibTeX, RIS and CSL-JSON.

``csl.item`` converts the citation of a record (``RecordKind.citation``) to an item of CSL-JSON;
everything else is a function of such items. Callers choose the records.
"""

"""An agreement between parties."""

from __future__ import annotations

from mem_search.metadata.common import Day, DocumentMetadata, Texts


class Contract(DocumentMetadata):
    """A contract, a lease, a policy."""

    type_name = "contract"
    also = ("agreement", "lease")
    is_content = True
    headings = (
        "lease agreement", "rental agreement", "residential lease", "employment contract",
        "employment agreement", "service agreement", "purchase agreement", "license agreement",
        "non-disclosure agreement", "insurance policy", "mietvertrag", "arbeitsvertrag",
        "kaufvertrag", "dienstleistungsvertrag", "contrat de location", "contrat de travail",
        "contrato de arrendamiento", "contrato de trabajo",
    )  # fmt: skip

    parties: Texts | None = None
    start_date: Day | None = None
    end_date: Day | None = None

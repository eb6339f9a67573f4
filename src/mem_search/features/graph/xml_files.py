"""A graph for programs that read graphs: GraphML and GEXF, in one pass.

lxml writes them element by element. It takes a while to import, so nothing imports this at start.
"""

from __future__ import annotations

from typing import IO, Final

from lxml import etree

from mem_search.features.graph.formats import OF_EDGE, OF_NODE, values_of
from mem_search.model.graph import ExportedEdge, ExportedGraph, ExportedNode

_BUILT_IN: Final = ("label", "weight")
"""What GEXF has of its own, so that it is declared nowhere."""


def write_graphml(graph: ExportedGraph, file: IO[bytes]) -> None:
    """GraphML 1.0 (http://graphml.graphdrawing.org), the lightest XML that most programs read."""
    space = "http://graphml.graphdrawing.org/xmlns"
    with etree.xmlfile(file, encoding="utf-8") as xml:
        xml.write_declaration()
        with xml.element("graphml", nsmap={None: space}):
            for domain, fields in (("node", OF_NODE), ("edge", OF_EDGE)):
                for name, sort in fields:
                    key = {"id": f"{domain}-{name}", "for": domain, "attr.name": name}
                    _element(xml, etree.Element("key", {**key, "attr.type": sort}))
            with xml.element("graph", edgedefault="directed"):
                for node in graph.nodes:
                    _element(xml, _with_data(etree.Element("node", id=node.id), "node", node))
                for number, edge in enumerate(graph.edges):
                    ends = {"source": edge.source, "target": edge.target}
                    element = etree.Element("edge", {"id": f"e{number}", **ends})
                    _element(xml, _with_data(element, "edge", edge))


def _with_data(
    element: etree._Element, domain: str, item: ExportedNode | ExportedEdge
) -> etree._Element:
    for name, value in values_of(item):
        etree.SubElement(element, "data", key=f"{domain}-{name}").text = value
    return element


def write_gexf(graph: ExportedGraph, file: IO[bytes]) -> None:
    """GEXF 1.3 (https://gexf.net), which Gephi reads: the relation is the kind of an edge there."""
    with etree.xmlfile(file, encoding="utf-8") as xml:
        xml.write_declaration()
        with xml.element("gexf", nsmap={None: "http://gexf.net/1.3"}, version="1.3"):
            with xml.element("meta"):
                creator = etree.Element("creator")
                creator.text = "mem-search"
                _element(xml, creator)
            with xml.element("graph", defaultedgetype="directed", mode="static"):
                for domain, fields in (("node", OF_NODE), ("edge", OF_EDGE)):
                    with xml.element("attributes", {"class": domain}):
                        for name, sort in fields:
                            if name in _BUILT_IN:
                                continue
                            titled = {"id": name, "title": name}
                            sort = "integer" if sort == "int" else sort
                            _element(xml, etree.Element("attribute", {**titled, "type": sort}))
                with xml.element("nodes"):
                    for node in graph.nodes:
                        said = {"id": node.id, "label": node.title}
                        _element(xml, _with_attributes(etree.Element("node", said), node))
                with xml.element("edges"):
                    for number, edge in enumerate(graph.edges):
                        said = {
                            "id": str(number), "source": edge.source, "target": edge.target,
                            "weight": f"{edge.strength:.4g}", "kind": edge.relation,
                        }  # fmt: skip
                        _element(xml, _with_attributes(etree.Element("edge", said), edge))


def _with_attributes(element: etree._Element, item: ExportedNode | ExportedEdge) -> etree._Element:
    values = etree.SubElement(element, "attvalues")
    for name, value in values_of(item):
        if name not in _BUILT_IN:
            etree.SubElement(values, "attvalue", {"for": name, "value": value})
    return element


def _element(xml: etree._IncrementalFileWriter, element: etree._Element) -> None:
    xml.write(element)
    xml.write("\n")

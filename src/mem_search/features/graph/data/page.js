"use strict";
(() => {
  const data = JSON.parse(document.getElementById("graph").textContent);
  const part = (id) => document.getElementById(id);
  const made = (tag, text, parent) => {
    const element = document.createElement(tag);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  const LISTED = 100; // neighbours of a node that are listed
  const { cy, fit, near, named } = drawGraph(part("picture"), data);

  function show(node) {
    const details = part("details"), said = node.data();
    details.replaceChildren();
    made("h1", said.title || said.id, details);
    made("p", [said.kind || "page, not stored", said.date].filter(Boolean).join(", "), details);
    made("p", said.id, details);
    if (/^https?:\/\//.test(said.url)) {
      const link = made("a", said.url, made("p", "", details));
      link.href = said.url;
      link.rel = "noreferrer noopener";
      link.target = "_blank";
    }
    const edges = node.connectedEdges(":visible");
    made("p", edges.length < said.degree ? `${edges.length} of ${said.degree} edges are in the picture`
      : `${said.degree} edges`, details);
    const list = made("ul", "", details);
    edges.slice(0, LISTED).forEach((edge) => {
      const out = edge.source().same(node), other = out ? edge.target() : edge.source();
      const item = made("li", out ? `${edge.data("relation")} → ` : `← ${edge.data("relation")} `, list);
      made("button", other.data("title") || other.id(), item).onclick = () => go(other);
    });
    if (edges.length > LISTED) made("p", `and ${edges.length - LISTED} more`, details);
    details.hidden = false;
    cy.resize();
  }
  function go(node) {
    cy.$(":selected").unselect();
    node.select();
    cy.animate({ center: { eles: node }, zoom: Math.max(cy.zoom(), 1), duration: 250 });
  }
  cy.on("select", "node", (event) => { near(event.target); show(event.target); });
  cy.on("unselect", "node", () => { near(null); part("details").hidden = true; });
  cy.on("dbltap", "node", (event) => fit(event.target.closedNeighborhood()));

  let matches = cy.collection(), next = 0;
  function find() {
    const words = part("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (said) => words.every((word) => `${said.title} ${said.id} ${said.url}`.toLowerCase().includes(word));
    matches = words.length ? cy.nodes(":visible").filter((node) => has(node.data())) : cy.collection();
    next = 0;
    cy.batch(() => {
      cy.elements().removeClass("found faded");
      if (words.length) {
        matches.addClass("found");
        cy.elements().difference(matches.union(matches.connectedEdges())).addClass("faded");
      }
    });
    part("found").textContent = words.length ? `${matches.length} found${matches.length ? "; Enter goes to each" : ""}` : "";
    if (matches.length) fit(matches.closedNeighborhood().nodes());
    named();
  }
  part("search").addEventListener("input", find);
  part("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matches.length) go(matches[next++ % matches.length]);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== part("search")) {
      event.preventDefault();
      part("search").focus();
    } else if (event.key === "Escape") {
      part("search").value = "";
      find();
      cy.$(":selected").unselect();
      fit();
    }
  });

  for (const { kind, colour, count } of data.legend) {
    const label = made("label", "", part("legend"));
    const box = made("input", "", label);
    box.type = "checkbox";
    box.checked = true;
    const dot = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [key, value] of [["cx", 6], ["cy", 6], ["r", 5], ["fill", colour]]) circle.setAttribute(key, value);
    dot.append(circle);
    label.append(dot);
    made("span", `${kind || "page, not stored"} (${count})`, label);
    box.addEventListener("change", () => {
      cy.nodes().filter((node) => node.data("kind") === kind).toggleClass("hidden", !box.checked);
      find();
      named();
    });
  }
  part("note").textContent = data.note;
  const zoom = (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  part("in").onclick = () => zoom(1.4);
  part("out").onclick = () => zoom(1 / 1.4);
  part("all").onclick = () => fit();
  if (location.hash) { // graph.html#words opens with what has these words
    part("search").value = decodeURIComponent(location.hash.slice(1));
    find();
  }
  document.documentElement.dataset.drawn = String(cy.nodes().length);
})();

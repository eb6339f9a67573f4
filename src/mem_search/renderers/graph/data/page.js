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
  const FONT = 12; // pixels on the screen, whatever the zoom
  const CLOSE = 1.5; // zoom beyond which a small part is not magnified
  const LISTED = 100; // neighbours of a node that are listed

  const cy = cytoscape({
    container: part("picture"),
    elements: [
      ...data.nodes.map((node) => ({
        data: node,
        position: { x: node.x, y: node.y },
        grabbable: true,
      })),
      ...data.edges.map((edge, number) => ({ data: { id: `edge ${number}`, ...edge } })),
    ],
    layout: { name: "preset" },
    minZoom: 0.05,
    maxZoom: 6,
    boxSelectionEnabled: false,
    style: [
      { selector: "node", style: {
        width: "data(size)", height: "data(size)", "background-color": "data(colour)",
        "text-events": "no" } },
      { selector: "edge", style: {
        width: "data(width)", "line-color": "#8a8a8a", "line-opacity": 0.55, "curve-style": "straight",
        "target-arrow-shape": "triangle", "target-arrow-color": "#8a8a8a", "arrow-scale": 0.7 } },
      { selector: ".named", style: { label: "data(label)" } },
      { selector: ".faded", style: { opacity: 0.15 } },
      { selector: ".hidden", style: { display: "none" } },
      { selector: ".found", style: { "border-width": 3, "border-color": "#e3b341" } },
      { selector: "node:selected", style: { "border-width": 4, "border-color": "#cf222e" } },
      { selector: "edge.near", style: {
        label: "data(relation)", "line-color": "#cf222e", "target-arrow-color": "#cf222e",
        "line-opacity": 1, "text-rotation": "autorotate" } },
    ],
  });
  const ranked = data.nodes.map((node) => cy.getElementById(node.id)); // most edges first

  // Titles keep their size on the screen; one shows where it covers no other, and no node of about its size.
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `${FONT}px sans-serif`;
  const widths = new Map(data.nodes.map((node) => [node.id, measure.measureText(node.label).width]));
  const meets = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  function nameNodes() {
    const zoom = cy.zoom(), seen = cy.extent(), taken = [], named = new Map();
    const visible = ranked.filter((node) => {
      const { x, y } = node.position();
      return node.visible() && x > seen.x1 && x < seen.x2 && y > seen.y1 && y < seen.y2;
    });
    const discs = visible.map((node) => {
      const { x, y } = node.renderedPosition(), radius = (node.data("size") / 2) * zoom;
      return [x - radius, y - radius, x + radius, y + radius];
    });
    visible.forEach((node, number) => {
      if (node.hasClass("faded")) return;
      const [, top, right, bottom] = discs[number], { x, y } = node.renderedPosition();
      const width = widths.get(node.id()), least = node.data("degree") / 2;
      const alike = discs.filter((_, other) => other !== number && visible[other].data("degree") >= least);
      const place = [
        ["right", "center", right + 3, y - FONT / 2],
        ["center", "bottom", x - width / 2, bottom + 1],
        ["center", "top", x - width / 2, top - FONT - 3],
      ].find(([, , left, upper]) => {
        const box = [left, upper, left + width, upper + FONT + 2];
        return ![taken, alike].some((boxes) => boxes.some((other) => meets(box, other))) && taken.push(box);
      });
      if (place) named.set(node, place);
      else if (node.selected()) named.set(node, ["right", "center"]);
    });
    const { color, backgroundColor } = getComputedStyle(document.body);
    cy.batch(() => {
      cy.nodes().removeClass("named");
      for (const [node, [across, down]] of named) {
        node.addClass("named").style({
          color, "font-size": FONT / zoom, "text-halign": across, "text-valign": down,
          "text-margin-x": across === "right" ? 3 / zoom : 0,
          "text-outline-color": backgroundColor, "text-outline-width": 2 / zoom });
      }
      cy.$("edge.near").style({ "font-size": (FONT - 2) / zoom, color });
    });
  }
  let waiting = false;
  function named() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; nameNodes(); });
  }
  cy.on("viewport position resize", named);
  function fit(some) {
    cy.fit(some || cy.elements(":visible"), 40);
    if (cy.zoom() > CLOSE) cy.zoom({ level: CLOSE, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  function show(node) {
    const details = part("details"), said = node.data();
    details.replaceChildren();
    made("h1", said.title || said.id, details);
    made("p", [said.kind, said.date].filter(Boolean).join(", "), details);
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
  function near(node) {
    cy.elements().removeClass("near");
    if (node) node.connectedEdges().addClass("near");
    named();
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

  for (const [name, colour, count] of data.legend) {
    const label = made("label", "", part("legend"));
    const box = made("input", "", label);
    box.type = "checkbox";
    box.checked = true;
    const dot = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [key, value] of [["cx", 6], ["cy", 6], ["r", 5], ["fill", colour]]) circle.setAttribute(key, value);
    dot.append(circle);
    label.append(dot);
    made("span", `${name} (${count})`, label);
    box.addEventListener("change", () => {
      cy.nodes().filter((node) => node.data("kind") === name).toggleClass("hidden", !box.checked);
      find();
      named();
    });
  }
  part("note").textContent = data.note;
  const zoom = (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  part("in").onclick = () => zoom(1.4);
  part("out").onclick = () => zoom(1 / 1.4);
  part("all").onclick = () => fit();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", named);
  fit();
  nameNodes();
  if (location.hash) { // graph.html#words opens with what has these words
    part("search").value = decodeURIComponent(location.hash.slice(1));
    find();
  }
  document.documentElement.dataset.drawn = String(cy.nodes().length);
})();

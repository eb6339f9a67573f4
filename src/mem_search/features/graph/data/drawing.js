"use strict";
// Draws a graph in `container`, each node where the worker placed it. The exported page and the viewer use it.
// Returns the instance of Cytoscape.js; `fit` shows some or all of it, `near` marks the edges of a node, `named`
// chooses anew which titles show.
globalThis.drawGraph = (container, { nodes, edges }, options = {}) => {
  const FONT = 12; // pixels on the screen, whatever the zoom
  const CLOSE = 2.2; // zoom beyond which a small part is not magnified
  const FEW = 30; // nodes, of which no title covers any

  const cy = cytoscape({
    container,
    elements: [
      ...nodes.map((node) => ({
        data: node,
        position: { x: node.x, y: node.y },
        grabbable: true,
      })),
      ...edges.map((edge, number) => ({ data: { id: `edge ${number}`, ...edge } })),
    ],
    layout: { name: "preset" },
    minZoom: 0.05,
    maxZoom: 6,
    boxSelectionEnabled: false,
    ...options,
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
        label: (edge) => edge.data("relation").replaceAll("_", " "), "line-color": "#cf222e", "target-arrow-color": "#cf222e",
        "line-opacity": 1, "text-rotation": "autorotate" } },
    ],
  });
  const ranked = nodes.map((node) => cy.getElementById(node.id)); // most edges first

  // Titles keep their size on the screen. One shows where it is whole and covers no other, and no node of about its size.
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `${FONT}px sans-serif`;
  const widths = new Map(nodes.map((node) => [node.id, measure.measureText(node.label).width]));
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
      const [left, top, right, bottom] = discs[number], { x, y } = node.renderedPosition();
      const width = widths.get(node.id()), least = visible.length > FEW ? node.data("degree") / 2 : 0;
      const alike = discs.filter((_, other) => other !== number && visible[other].data("degree") >= least);
      const place = [
        ["right", "center", right + 3, y - FONT / 2],
        ["left", "center", left - width - 3, y - FONT / 2],
        ["center", "bottom", x - width / 2, bottom + 1],
        ["center", "top", x - width / 2, top - FONT - 3],
      ].find(([, , from, upper]) => {
        const box = [from, upper, from + width, upper + FONT + 2];
        return from > 0 && box[2] < cy.width() && ![taken, alike].some((boxes) => boxes.some((other) => meets(box, other))) && taken.push(box);
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
          "text-margin-x": { right: 3, left: -3, center: 0 }[across] / zoom,
          "text-outline-color": backgroundColor, "text-outline-width": 2 / zoom });
      }
      cy.$("edge.near").style({ "font-size": (FONT - 2) / zoom, color });
    });
  }
  let waiting = false;
  function named() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (!cy.destroyed()) nameNodes(); });
  }
  cy.on("viewport position resize", named);
  function fit(some) {
    cy.fit(some || cy.elements(":visible"), 40);
    if (cy.zoom() > CLOSE) cy.zoom({ level: CLOSE, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }
  function near(node) {
    cy.elements().removeClass("near");
    if (node) node.connectedEdges().addClass("near");
    named();
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", named);
  fit();
  nameNodes();
  return { cy, fit, near, named };
};

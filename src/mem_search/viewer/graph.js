// The records around one, as a picture: the drawing of the exported page, made when it comes into view.

import { save } from "./api.js";
import { html, useLayoutEffect, useRef } from "./html.js";
import { attempt, kindName } from "./parts.js";
import { go, recordAddress } from "./route.js";
import { texts } from "./texts.js";

const ZOOM = 1.4;

export function Graph({ reference, drawing, label }) {
  const box = useRef(null);
  const shown = useRef(null);
  // Not useEffect: Preact runs its cleanup some time after the box is gone, and a drawing may begin in between.
  useLayoutEffect(() => {
    let isGone = false;
    const watch = new IntersectionObserver(async ([entry]) => {
      if (!entry.isIntersecting) return;
      watch.disconnect();
      await import("./cytoscape.min.js");
      await import("./drawing.js");
      if (!isGone) shown.current = draw(box.current, drawing, reference); // else the page was left meanwhile
    }, { rootMargin: "300px" });
    watch.observe(box.current);
    return () => {
      isGone = true;
      watch.disconnect();
      shown.current?.end();
      shown.current = null;
    };
  }, [drawing]);
  const zoom = (by) => shown.current?.zoom(by);
  const t = texts.graph;
  return html`<div class="picture">
    <div class="graph" role="img" aria-label=${label} ref=${box}></div>
    <p class="legend">${drawing.legend.map(({ kind, colour, count }) => html`<span key=${kind}>
      <svg viewBox="0 0 12 12" aria-hidden="true"><circle cx="6" cy="6" r="5" fill=${colour} /></svg> ${kind ? kindName(kind) : t.notStored} ${count}</span>`)}
      <span class="zoom"><button onClick=${() => zoom(1 / ZOOM)} aria-label=${t.out}>−</button>
        <button onClick=${() => zoom(ZOOM)} aria-label=${t.in}>+</button>
        <button onClick=${() => shown.current?.fit()}>${t.all}</button>
        <button class="link" onClick=${() => attempt(() => save("/api/graph/export", { format: "html", ref: reference }, "graph.html"))}>${t.page}</button></span></p>
  </div>`;
}

/** Draws into `box`: a click opens a record, the mouse on a node shows what it has to do with others. */
function draw(box, drawing, reference) {
  // The wheel and a finger move the page. Buttons zoom, a mouse drags.
  const isMouse = matchMedia("(pointer: fine)").matches;
  const { cy, fit, near, named } = globalThis.drawGraph(box, drawing, {
    userZoomingEnabled: false, userPanningEnabled: isMouse, autoungrabify: !isMouse,
  });
  cy.getElementById(reference).select();
  named();
  cy.on("tap", "node", ({ target }) => {
    if (target.data("kind")) go(recordAddress(target.id()));
  });
  cy.on("mouseover", "node", ({ target }) => near(target));
  cy.on("mouseout", "node", () => near(null));
  const theme = new MutationObserver(named);
  theme.observe(document.documentElement, { attributes: true });
  return {
    fit,
    zoom: (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } }),
    end: () => {
      theme.disconnect();
      cy.destroy();
    },
  };
}

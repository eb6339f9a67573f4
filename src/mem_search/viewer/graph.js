// The records around one, as a picture: the record in the middle, a ring for each step from it.

import { html, useMemo } from "./html.js";
import { kindName } from "./parts.js";
import { recordAddress } from "./route.js";

const WIDTH = 720;
const HEIGHT = 460;
const MARGIN = 60;
const LONGEST = 26;

/** Places of the nodes: those of one depth share an ellipse, each near the node that it hangs on. */
export function places(nodes, edges, centre) {
  const found = new Map([[centre, { x: WIDTH / 2, y: HEIGHT / 2, angle: 0 }]]);
  const deepest = Math.max(1, ...nodes.map((node) => node.depth));
  for (let depth = 1; depth <= deepest; depth += 1) {
    const ring = nodes.filter((node) => node.depth === depth && node.id !== centre);
    const wanted = new Map(ring.map((node) => {
      const edge = edges.find(({ from, to }) => (from === node.id && found.has(to)) || (to === node.id && found.has(from)));
      return [node.id, found.get(edge && (edge.from === node.id ? edge.to : edge.from))?.angle ?? 0];
    }));
    ring.sort((a, b) => wanted.get(a.id) - wanted.get(b.id) || (a.id < b.id ? -1 : 1));
    ring.forEach((node, place) => {
      const angle = (2 * Math.PI * (place + depth / 3)) / ring.length;
      found.set(node.id, {
        x: WIDTH / 2 + (Math.cos(angle) * (WIDTH / 2 - MARGIN) * depth) / deepest,
        y: HEIGHT / 2 + (Math.sin(angle) * (HEIGHT / 2 - MARGIN / 2) * depth) / deepest,
        angle,
      });
    });
  }
  return found;
}

export function Graph({ nodes, edges, centre, label }) {
  const at = useMemo(() => places(nodes, edges, centre), [nodes, edges, centre]);
  return html`<svg class="graph" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label=${label}>
    ${edges.filter(({ from, to }) => at.has(from) && at.has(to)).map(({ from, to, type, strength }) => html`
      <line x1=${at.get(from).x} y1=${at.get(from).y} x2=${at.get(to).x} y2=${at.get(to).y}
        stroke-opacity=${0.25 + strength * 0.5}><title>${type.replaceAll("_", " ")}</title></line>`)}
    ${nodes.map((node) => html`<a key=${node.id} href=${recordAddress(node.id)}>
      <title>${kindName(node.kind)}: ${node.title}</title>
      <circle cx=${at.get(node.id).x} cy=${at.get(node.id).y} r=${node.id === centre ? 11 : 7}
        class=${node.id === centre ? "centre" : null} />
      <text x=${at.get(node.id).x} y=${at.get(node.id).y + 22} text-anchor="middle">${short(node.title)}</text>
    </a>`)}
  </svg>`;
}

const short = (title) => (title.length > LONGEST ? `${title.slice(0, LONGEST - 1)}…` : title);

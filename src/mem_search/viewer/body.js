// The text of a record, from the tree that the worker makes of it. Each element is made here and only of these tags, so
// that stored text cannot become another one; nothing is ever set as HTML.

import { h } from "./html.js";
import { address, recordAddress } from "./route.js";
import { texts } from "./texts.js";

const TAGS = new Set(`p h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s br hr mark table thead tbody tr th td`.split(" "));

export function Body({ nodes }) {
  return h("div", { class: "body" }, made(nodes));
}

const made = (nodes) => nodes.map((node) => (typeof node === "string" ? node : element(node)));

function element([tag, attributes, ...inner]) {
  const content = made(inner);
  if (tag === "a") return link(attributes, content);
  if (tag === "plain") return h("div", { class: "plain" }, content);
  if (tag === "section") {
    const { page } = attributes;
    return h("section", { id: `page-${Number(page)}` }, h("h2", { class: "page" }, texts.search.page(Number(page))), content);
  }
  if (tag === "table") return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": texts.record.table }, h("table", null, content));
  if (tag === "pre") return h("pre", { tabindex: 0 }, content);
  if (tag === "ol") return h("ol", { start: Number(attributes.start ?? 1) }, content);
  return TAGS.has(tag) ? h(tag, null, content) : content;
}

/** A link to a record, into the web, or to a search. Any other address, such as `javascript:`, stays text. */
function link({ ref, href, find }, content) {
  if (ref) return h("a", { href: recordAddress(ref) }, content);
  if (find) return h("a", { href: address("search", { q: find }), class: "find" }, content);
  if (/^https?:\/\//i.test(href ?? "")) return h("a", { href, rel: "noreferrer noopener", target: "_blank" }, content);
  return h("span", null, content);
}

// The page of one record: its text, citation, links, neighbours and the graph around it.

import { api, useApi } from "./api.js";
import { Graph } from "./graph.js";
import { html, useEffect, useRef } from "./html.js";
import { Kind, RecordLine, Waiting, attempt, tell, timeOf } from "./parts.js";
import { address, go, recordAddress } from "./route.js";
import { texts } from "./texts.js";

const UNDO_SECONDS = 10;
const NEIGHBOURS = 4;

export function RecordPage({ reference }) {
  const found = useApi(`/api/records/${encodeURIComponent(reference)}`, { format: "json" });
  const heading = useRef(null);
  useEffect(() => heading.current?.focus(), [found.data?.ref]);
  const record = found.data;
  if (!record) return html`<${Waiting} ...${found} />`;
  const archive = (archived) => attempt(async () => {
    await api(`/api/records/${encodeURIComponent(record.ref)}`, { method: "PATCH", body: { metadata: { archived: archived || null } } });
    found.reload();
    tell(archived ? texts.record.archived : texts.record.unarchived,
      { label: texts.record.undo, run: () => archive(!archived) });
  });
  return html`<article class="record">
    <p><button class="link" onClick=${() => history.back()}>← ${texts.record.back}</button></p>
    <h1 tabindex="-1" ref=${heading}><${Kind} kind=${record.kind} /> ${record.title}</h1>
    ${record.superseded_by && html`<p class="note">${texts.record.superseded}
      <a href=${recordAddress(record.superseded_by)}> ${record.superseded_by}</a></p>`}
    ${record.metadata.instruction_like && html`<p class="note">${texts.record.instructions}</p>`}
    ${record.origin === "external" && html`<p class="note">${texts.record.fromOutside}</p>`}
    <${Details} record=${record} />
    <p class="actions">
      <button onClick=${() => archive(!record.archived)}>
        ${record.archived ? texts.record.unarchive : texts.record.archive}</button>
      <button class="danger" onClick=${() => forgetSoon(record.ref)}>${texts.record.forget}</button></p>
    <h2>${texts.record.text}</h2><div class="text">${record.text}</div>
    <${Citation} reference=${record.ref} />
    ${record.links.length > 0 && html`<h2>${texts.record.links}</h2>
      <ul>${record.links.map((link) => html`<li><${Target} to=${link.to} /> <small>${link.relation}</small></li>`)}</ul>`}
    <${Neighbours} reference=${record.ref} />
    <${Related} record=${record} />
  </article>`;
}

/** Deletes after some seconds, unless it is undone; a page that is left before deletes at once. */
function forgetSoon(ref) {
  let isOpen = true;
  const finish = async (keepalive) => {
    if (!isOpen) return;
    isOpen = false;
    removeEventListener("pagehide", leave);
    await attempt(async () => {
      await api(`/api/records/${encodeURIComponent(ref)}`, { method: "DELETE", keepalive });
      tell(texts.record.forgotten);
      if (location.hash === recordAddress(ref)) go(address("search"));
    });
  };
  const leave = () => finish(true);
  const timer = setTimeout(() => finish(false), UNDO_SECONDS * 1000);
  addEventListener("pagehide", leave);
  tell(texts.record.forgetting(UNDO_SECONDS), {
    label: texts.record.undo,
    run: () => {
      isOpen = false;
      clearTimeout(timer);
      removeEventListener("pagehide", leave);
      tell(texts.record.kept);
    },
  }, UNDO_SECONDS);
}

function Details({ record }) {
  const rows = [
    [texts.fields.created, timeOf(record.created_at)],
    [texts.fields.project, record.project && html`<a href=${address("search", { project: record.project })}>${record.project}</a>`],
    [texts.fields.session, record.session && html`<a href=${address("search", { session: record.session })}>${record.session}</a>`],
    [texts.fields.source, record.source],
    [texts.fields.tags, record.tags.length > 0 && record.tags.map((tag) => html`
      <a class="kind" href=${address("search", { tag })}>${tag}</a> `)],
    [texts.fields.origin, record.origin.replaceAll("_", " ")], [texts.fields.trust, record.trust],
    [texts.record.original, record.url && html`<${Target} to=${record.url} />`],
  ];
  const more = Object.entries(record.metadata);
  return html`<dl>${rows.map(([name, value]) => value && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    ${more.length > 0 && html`<details><summary>${texts.record.metadata}</summary>
      <dl>${more.map(([name, value]) => html`<dt>${name}</dt><dd>${written(value)}</dd>`)}</dl></details>`}`;
}

const written = (value) => (Array.isArray(value) ? value.map(written).join(", ")
  : typeof value === "object" ? JSON.stringify(value) : String(value));

/** A link to a record or to a web address. Any other scheme, such as `javascript:`, stays text. */
function Target({ to }) {
  if (/^[a-z][a-z0-9_]*:[0-9]+$/.test(to)) return html`<a href=${recordAddress(to)}>${to}</a>`;
  if (/^https?:\/\//i.test(to)) return html`<a href=${to} rel="noreferrer noopener" target="_blank">${to}</a>`;
  return html`<span>${to}</span>`;
}

function Citation({ reference }) {
  const { data } = useApi("/api/citations", { refs: reference });
  if (!data) return null;
  const text = typeof data === "string" ? data : data.content?.[0]?.text ?? "";
  const copy = () => attempt(async () => {
    await navigator.clipboard.writeText(text.trim());
    tell(texts.record.copied);
  });
  return html`<h2>${texts.record.citation}</h2>
    <p class="citation">${text.trim()} <button onClick=${copy}>${texts.record.copy}</button></p>`;
}

function Neighbours({ reference }) {
  const { data } = useApi("/api/timeline", {
    anchor: reference, depth_before: NEIGHBOURS, depth_after: NEIGHBOURS, format: "json",
  });
  if (!data || data.records.length < 2) return null;
  return html`<h2>${texts.record.neighbours}</h2><ol class="lines">${data.records.map((each) => html`
    <li aria-current=${each.ref === reference ? "true" : null}><${RecordLine} record=${each} /></li>`)}</ol>`;
}

function Related({ record }) {
  const { data } = useApi(`/api/graph/${encodeURIComponent(record.ref)}`, { limit: 24 });
  if (!data || data.nodes.length < 2) return null;
  const others = data.nodes.filter((node) => node.id !== record.ref);
  return html`<h2>${texts.record.graph}</h2>
    <${Graph} label=${texts.record.graphLabel(record.title)} centre=${record.ref} ...${data} />
    <ul class="lines">${others.map((node) => html`<li><${RecordLine} record=${node} /></li>`)}</ul>`;
}

// The page of one record: its text, citation, links, neighbours and the graph around it.

import { api, useApi } from "./api.js";
import { Graph } from "./graph.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Kind, RecordLine, Waiting, attempt, kindName, tell, timeOf } from "./parts.js";
import { address, go, recordAddress } from "./route.js";
import { texts } from "./texts.js";

const UNDO_SECONDS = 10;
const NEIGHBOURS = 4;
const MOST_NEIGHBOURS = 32;
const DRAWN = 30; // nodes of the graph
const SHOWN = 6000; // characters of a text before somebody asks for all of it

export function RecordPage({ reference }) {
  const found = useApi(`/api/records/${encodeURIComponent(reference)}`, { format: "json" });
  const heading = useRef(null);
  useEffect(() => heading.current?.focus(), [found.data?.ref]);
  const record = found.data;
  if (!record) return html`<${Waiting} ...${found} />`;
  // A page may be left at any moment, also while a request is on its way: it goes on without the page.
  const send = (options) => api(`/api/records/${encodeURIComponent(record.ref)}`, { ...options, keepalive: true });
  const setArchived = async (archived) => {
    await send({ method: "PATCH", body: { metadata: { archived: archived || null } } });
    found.reload();
    tell(archived ? texts.record.archived : texts.record.unarchived);
  };
  const forget = async () => {
    await send({ method: "DELETE" });
    tell(texts.record.forgotten);
    if (location.hash === recordAddress(record.ref)) go(address("search"));
  };
  const archive = () => (record.archived ? attempt(() => setArchived(false))
    : soon(record.ref, texts.record.archiving(UNDO_SECONDS), () => setArchived(true)));
  return html`<article class="record">
    <p><button class="link" onClick=${() => history.back()}>← ${texts.record.back}</button></p>
    <h1 tabindex="-1" ref=${heading}><${Kind} kind=${record.kind} /> ${record.title}</h1>
    ${record.superseded_by && html`<p class="note">${texts.record.superseded}
      <a href=${recordAddress(record.superseded_by)}> ${record.superseded_by}</a></p>`}
    ${record.metadata.instruction_like && html`<p class="note">${texts.record.instructions}</p>`}
    ${record.origin === "external" && html`<p class="note">${texts.record.fromOutside}</p>`}
    <div class="sides">
      <div><${Text} text=${record.text} /></div>
      <aside>
        <p class="actions">
          <button onClick=${archive}>
            ${record.archived ? texts.record.unarchive : texts.record.archive}</button>
          <button class="danger" onClick=${() => soon(record.ref, texts.record.forgetting(UNDO_SECONDS), forget)}>${texts.record.forget}</button></p>
        <${Details} record=${record} />
        <${Citation} reference=${record.ref} />
        ${record.links.length > 0 && html`<h2>${texts.record.links}</h2>
          <ul class="lines">${record.links.map((link) => html`<li><small>${kindName(link.relation)}</small> <${Target} to=${link.to} /></li>`)}</ul>`}
        <${Neighbours} reference=${record.ref} />
      </aside>
      <${Related} record=${record} />
    </div>
  </article>`;
}

function Text({ text }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > SHOWN * 1.5;
  return html`<h2 class="unseen">${texts.record.text}</h2>
    <div class="text">${isCut ? `${text.slice(0, SHOWN)}…` : text}</div>
    ${isCut && html`<p><button onClick=${() => setWhole(true)}>${texts.record.whole(text.length)}</button></p>`}`;
}

const waiting = new Map(); // ref → takes back what waits for it: of two wishes for a record the later one counts

/** Runs `work()` after some seconds, unless it is undone; a page that is left before runs it at once. */
function soon(ref, text, work) {
  waiting.get(ref)?.();
  const end = () => {
    clearTimeout(timer);
    removeEventListener("pagehide", finish);
    waiting.delete(ref);
    hide();
  };
  const finish = () => {
    end();
    return attempt(work);
  };
  const timer = setTimeout(finish, UNDO_SECONDS * 1000);
  addEventListener("pagehide", finish);
  waiting.set(ref, end);
  const undo = () => {
    end();
    tell(texts.record.kept);
  };
  const hide = tell(text, { label: texts.undo, run: undo }, UNDO_SECONDS);
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
  const [style, setStyle] = useState("apa");
  const { data } = useApi("/api/citations", { refs: reference, style });
  if (!data) return null;
  const text = data.trim();
  const copy = () => attempt(async () => {
    await navigator.clipboard.writeText(text);
    tell(texts.record.copied);
  });
  return html`<h2>${texts.record.citation}</h2>
    <p class="citation">${text}</p>
    <p class="actions"><select aria-label=${texts.record.style} value=${style} onChange=${(event) => setStyle(event.target.value)}>
      ${Object.entries(texts.styles).map(([name, label]) => html`<option key=${name} value=${name}>${label}</option>`)}</select>
      <button onClick=${copy}>${texts.record.copy}</button></p>`;
}

function Neighbours({ reference }) {
  const [depth, setDepth] = useState(NEIGHBOURS);
  const { data } = useApi("/api/timeline", { anchor: reference, depth_before: depth, depth_after: depth, format: "json" });
  if (!data || data.records.length < 2) return null;
  const isAll = data.records.length <= depth || depth >= MOST_NEIGHBOURS;
  return html`<h2>${texts.record.neighbours}</h2><ol class="lines">${data.records.map((each) => html`
    <li key=${each.ref} aria-current=${each.ref === reference ? "true" : null}><${RecordLine} record=${each} /></li>`)}</ol>
    ${!isAll && html`<button class="link" onClick=${() => setDepth(depth * 2)}>${texts.record.moreNeighbours}</button>`}`;
}

function Related({ record }) {
  const { data } = useApi(`/api/graph/${encodeURIComponent(record.ref)}/drawing`, { limit: DRAWN });
  if (!data || data.nodes.length < 2) return null;
  const others = data.nodes.filter((node) => node.id !== record.ref);
  return html`<div class="related"><h2>${texts.record.graph}</h2>
    <${Graph} label=${texts.record.graphLabel(record.title)} reference=${record.ref} drawing=${data} />
    <details><summary>${texts.graph.list(others.length)}</summary>
      <ul class="lines">${others.map((node) => html`<li key=${node.id}>${node.kind
        ? html`<${RecordLine} record=${{ ...node, created_at: node.date }} />` : html`<${Target} to=${node.url} />`}</li>`)}</ul></details></div>`;
}

// The page of one record: what it is and where its original is, its text, what belongs to it, where it comes from.

import { api, save, useApi } from "./api.js";
import { Body } from "./body.js";
import { Graph } from "./graph.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Line, RecordLine, Waiting, attempt, kindName, loggedIn, tell, whenOf } from "./parts.js";
import { address, back, go, recordAddress } from "./route.js";
import { sessionAddress } from "./session.js";
import { texts } from "./texts.js";

const UNDO_SECONDS = 10;
const NEIGHBOURS = 4;
const MOST_NEIGHBOURS = 32;
const DRAWN = 15; // nodes of the graph, whose names have room; more when somebody asks
const MOST_DRAWN = 240;
const WHOLE = 1_000_000; // characters of a text that are shown at most
const HASH = 9; // characters of the hash of a commit
const SHOWN_ELSEWHERE = ["attachment", "replies_to"]; // relations

export function RecordPage({ reference, params }) {
  const [isWhole, setWhole] = useState(false);
  const found = useApi(`/api/viewer/records/${encodeURIComponent(reference)}`, {
    words: params.get("words"), chars: isWhole ? WHOLE : "",
  });
  const heading = useRef(null);
  useEffect(() => heading.current?.focus(), [found.data?.ref]);
  const record = found.data;
  if (!record && [400, 404].includes(found.error?.status)) return html`<${Missing} reference=${reference} error=${found.error} />`;
  if (!record) return html`<${Waiting} ...${found} />`;
  const { line, metadata } = record;
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
    if (location.hash.startsWith(recordAddress(record.ref))) go(address("search"));
  };
  const archive = () => (record.archived ? attempt(() => setArchived(false))
    : soon(record.ref, texts.record.archiving(UNDO_SECONDS), () => setArchived(true)));
  const links = record.links.filter((link) => !SHOWN_ELSEWHERE.includes(link.relation));
  const about = [
    line.said, record.project ? html`<a href=${address("search", { project: record.project })}>${record.project}</a>` : line.place,
    line.dated && html`<time datetime=${record.created_at}>${whenOf(record.created_at)}</time>`, record.ref,
    record.session && record.kind !== "email" && html`<a href=${sessionAddress(record.session)}>${texts.record.session}</a>`,
    record.origin === "external" && !metadata.instruction_like && texts.record.fromOutside,
  ].filter(Boolean);
  return html`<article class="record">
    <p><button class="link" onClick=${back}>← ${texts.record.back}</button></p>
    <h1 tabindex="-1" ref=${heading}><span class="icon" aria-hidden="true">${line.icon}</span> ${line.before && html`<span class="before">${line.before} › </span>`}${line.title}</h1>
    <p class="quiet">${about.map((each, place) => html`${place ? " · " : ""}${each}`)}</p>
    ${record.superseded_by && html`<p class="note">${texts.record.superseded}
      <a href=${recordAddress(record.superseded_by)}> ${record.superseded_by}</a></p>`}
    ${metadata.instruction_like && html`<p class="note">${texts.record.instructions}</p>`}
    <${People} record=${record} />
    <${Original} record=${record} />
    <div class="sides">
      <div><h2 class="unseen">${texts.record.text}</h2>
        <${Body} nodes=${record.body} />
        ${record.shown < record.length && html`<p><button onClick=${() => setWhole(true)}>${texts.record.whole(record.length)}</button></p>`}
        ${record.quoted && html`<details><summary>${texts.record.quoted}</summary><div class="plain quoted">${record.quoted}</div></details>`}
        <${Lines} title=${texts.record.attachments} lines=${record.attachments} />
        <${Lines} title=${texts.record.thread} lines=${record.thread} current=${record.ref} /></div>
      <aside>
        <p class="actions">
          <button onClick=${archive}>
            ${record.archived ? texts.record.unarchive : texts.record.archive}</button>
          <button class="danger" onClick=${() => soon(record.ref, texts.record.forgetting(UNDO_SECONDS), forget)}>${texts.record.forget}</button></p>
        <${Neighbours} reference=${record.ref} />
        ${links.length > 0 && html`<h2>${texts.record.links}</h2>
          <ul class="lines">${links.map((link) => html`<li><small>${kindName(link.relation)}</small> <${Target} to=${link.to} /></li>`)}</ul>`}
      </aside>
      <${Related} record=${record} />
    </div>
    <div class="below"><div><h2>${texts.record.provenance}</h2><${Details} record=${record} /></div>
      <div><${Citation} reference=${record.ref} /></div></div>
  </article>`;
}

/** In place of a record that is not there: why, and what may help. */
function Missing({ reference, error }) {
  const t = texts.record;
  const meant = error.message.match(/open ([a-z][a-z0-9_]*:[0-9]+)/)?.[1];
  return html`<section><h1>${t.missing(reference)}</h1><p>${error.message.replace(/ \(HTTP:.*\)$/, "")}.</p>
    <ul>${meant && html`<li><a href=${recordAddress(meant)}>${t.meant(meant)}</a></li>`}
      <li><a href=${address("search")}>${t.newest}</a></li><li><a href=${address("search", { archived: "1" })}>${t.inArchive}</a></li>
      <li><a href=${address("jobs")}>${t.ledger}</a></li></ul></section>`;
}

/** Sender and recipients of a mail; author, hash, size and files of a commit. */
function People({ record: { people, metadata, line, address: url } }) {
  const rows = people.filter(([name]) => name !== "Attachments");
  if (metadata.commit && line.said === "Commit") {
    const { insertions, deletions, files_modified: files = [], branch } = metadata;
    rows.splice(rows.findIndex(([name]) => name === "Commit"), 1, [texts.commit.hash, html`<code>${
      String(metadata.commit).slice(0, HASH)}</code>${branch ? texts.commit.on(branch) : ""}`]);
    if (insertions != null) rows.push([texts.commit.size, html`<span class="added">+${insertions}</span> <span class="removed">−${deletions ?? 0}</span>`]);
    if (files.length) rows.push([texts.commit.files(files.length), html`<span class="path">${files.join("\n")}</span>`]);
  }
  return rows.length > 0 && html`<dl class="people">${rows.map(([name, said]) => html`<dt>${name}</dt><dd>${said}</dd>`)}</dl>`;
}

/** Where the original is: a button that opens it, its path, and who read it. */
function Original({ record }) {
  const t = texts.record;
  const where = record.address.startsWith("obsidian:") ? t.inObsidian : record.address.startsWith("mid:") ? t.inMail : t.inWeb(hostOf(record.address));
  const isWeb = /^https?:/.test(record.address);
  const load = () => attempt(() => save(`/documents/${encodeURIComponent(record.ref)}/original`, {}, record.path.split(/[\\/]/).at(-1)));
  return html`<p class="original">
    ${record.address && html`<a class="button" href=${record.address} ...${isWeb ? { rel: "noreferrer noopener", target: "_blank" } : {}}>${where}</a>`}
    ${record.has_file && html`<button onClick=${load}>${t.download}</button>`}
    ${record.path && html`<span class="path">${record.path}</span>`}
    <span class="quiet">${t.source(record.source)}</span></p>`;
}

const hostOf = (url) => (URL.canParse(url) ? new URL(url).host : "");

function Lines({ title, lines, current }) {
  return lines.length > 0 && html`<h2>${title}</h2><ul class="lines">${lines.map((each) => html`
    <li key=${each.ref} aria-current=${each.ref === current ? "true" : null}><${Line} line=${each} /></li>`)}</ul>`;
}

const waiting = new Map(); // ref → takes back what waits for it: of two wishes for a record the later one counts

/** Runs `work()` after some seconds, unless it is undone; a page that is left before runs it at once. */
function soon(ref, text, work) {
  if (!loggedIn()) return;
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
    [texts.fields.created, whenOf(record.created_at)],
    [texts.fields.session, record.session && html`<a href=${sessionAddress(record.session)}>${record.session}</a>`],
    [texts.fields.source, record.source],
    [texts.fields.tags, record.tags.length > 0 && record.tags.map((tag) => html`
      <a class="kind" href=${address("search", { tag })}>${tag}</a> `)],
    [texts.fields.origin, record.origin.replaceAll("_", " ")], [texts.fields.trust, record.trust],
    [texts.record.address, record.url && html`<${Target} to=${record.url} />`],
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
  const [drawn, setDrawn] = useState(DRAWN);
  const { data } = useApi(`/api/graph/${encodeURIComponent(record.ref)}/drawing`, { limit: drawn });
  if (!data || data.nodes.length < 2) return null;
  const others = data.nodes.filter((node) => node.id !== record.ref);
  return html`<div class="related"><h2>${texts.record.graph}</h2>
    <${Graph} label=${texts.record.graphLabel(record.title)} reference=${record.ref} drawing=${data} />
    ${data.note && drawn < MOST_DRAWN && html`<p><button onClick=${() => setDrawn(2 * drawn)}>${texts.graph.more(Math.min(2 * drawn, MOST_DRAWN))}</button></p>`}
    <details><summary>${texts.graph.list(others.length)}</summary>
      <ul class="lines">${others.map((node) => html`<li key=${node.id}>${node.kind
        ? html`<${RecordLine} record=${{ ...node, created_at: node.date }} />` : html`<${Target} to=${node.url} />`}</li>`)}</ul></details></div>`;
}

// Saved searches with their inbox, and research sessions with their replay.

import { api, useApi } from "./api.js";
import { html, useState } from "./html.js";
import { Intervals, Waiting, attempt, tell, timeOf } from "./parts.js";
import { address, recordAddress } from "./route.js";
import { texts } from "./texts.js";

const DRIFTED = 20; // results of a sort that are listed

export function SavedPage() {
  const saved = useApi("/api/v1/saved-searches");
  const inbox = useApi("/api/v1/notifications", { limit: 50 });
  const t = texts.saved;
  const act = (work, done = "") => attempt(async () => {
    const reply = await work();
    if (done) tell(typeof done === "function" ? done(reply) : done);
    saved.reload();
    inbox.reload();
  });
  const plan = ({ search, every, schedule, inbox: isTold, webhook_url, email }) => ({ search, every, schedule, inbox: isTold, webhook_url, email });
  const repeat = (each, every) => act(() => api(named(each.name), {
    method: "PUT", body: { ...plan(each), every: every || null, schedule: null },
  }), t.changed);
  const remove = (each) => act(async () => {
    await api(named(each.name), { method: "DELETE" });
    const again = () => api("/api/v1/saved-searches", { method: "POST", body: { name: each.name, ...plan(each) } });
    tell(t.removed, { label: texts.undo, run: () => act(again) }, 10);
  });
  const named = (name) => `/api/v1/saved-searches/${encodeURIComponent(name)}`;
  return html`<section><h1>${t.saved}</h1>
    ${!saved.data ? html`<${Waiting} ...${saved} />` : saved.data.saved_searches.length ? html`<ul class="cards">
      ${saved.data.saved_searches.map((each) => html`<li key=${each.name}>
        <a href=${address("search", { q: each.search?.query ?? "" })}><strong>${each.name}</strong></a>
        <span class="quiet"> ${each.search?.query || t.noQuestion}${each.schedule ? ` · ${each.schedule}` : ""}
          ${each.last_run_at ? ` · ${t.ran} ${timeOf(each.last_run_at)}` : ""}</span>
        ${each.error && html`<p class="note">${each.error}</p>`}
        <p><button onClick=${() => act(() => api(`${named(each.name)}/run`, { method: "POST" }), (reply) => t.newMatches(reply.new_count))}>${t.run}</button>
          ${" "}<${Intervals} value=${each.every ?? ""} onChange=${(every) => repeat(each, every)} />
          ${" "}<button onClick=${() => remove(each)}>${t.remove}</button></p>
      </li>`)}</ul>` : html`<p>${t.none}</p>`}
    <h2>${t.inbox}</h2>
    ${!inbox.data ? html`<${Waiting} ...${inbox} />` : inbox.data.notifications.length ? html`<ul class="cards">
      ${inbox.data.notifications.map((each) => html`<li key=${each.id} class=${each.read_at ? "read" : ""}>
        <strong>${each.saved_search}</strong> <span class="quiet">${t.newMatches(each.count)} · ${timeOf(each.at)}</span>
        <ul class="lines">${each.matches.map((match) => html`<li><a href=${recordAddress(match.id.replace(/^local:/, ""))}>${match.title}</a></li>`)}</ul>
        ${!each.read_at && html`<button onClick=${() => act(() => api(`/api/v1/notifications/${each.id}/read`, { method: "POST" }))}>${t.read}</button>`}
      </li>`)}</ul>` : html`<p>${t.noInbox}</p>`}
  </section>`;
}

export function ResearchPage({ parts }) {
  return parts[0] ? html`<${Session} id=${parts[0]} />` : html`<${Sessions} />`;
}

function Sessions() {
  const { data, error, reload } = useApi("/api/v1/search/sessions", { limit: 50 });
  const t = texts.research;
  if (!data) return html`<${Waiting} error=${error} reload=${reload} />`;
  return html`<section><h1>${texts.pages.research}</h1>
    ${data.sessions.length ? html`<ul class="cards">${data.sessions.map((each) => html`<li>
      <a href=${`#/research/${encodeURIComponent(each.session_id)}`}><strong>${each.first_query || each.session_id}</strong></a>
      <span class="quiet"> ${t.steps(each.operations)} · ${timeOf(each.last_at)}</span></li>`)}</ul>` : html`<p>${t.none}</p>`}
  </section>`;
}

function Session({ id }) {
  const path = `/api/v1/search/sessions/${encodeURIComponent(id)}`;
  const { data, error, reload } = useApi(path);
  const [replayed, setReplayed] = useState(null);
  const t = texts.research;
  if (!data) return html`<${Waiting} error=${error} reload=${reload} />`;
  const replay = () => attempt(async () => setReplayed(await api(`${path}/replay`, { method: "POST" })));
  const drift = new Map((replayed?.operations ?? []).map((each) => [each.operation.id, each]));
  return html`<section><h1>${data.tree[0]?.query || id}</h1>
    <p class="quiet">${t.steps(data.operations)} · ${timeOf(data.started_at)} · <button onClick=${replay}>${t.replay}</button></p>
    ${replayed && html`<p class="note" role="status">${replayed.identical ? t.identical : t.drift}</p>`}
    <${Steps} steps=${data.tree} drift=${drift} />
  </section>`;
}

function Steps({ steps, drift }) {
  return html`<ul class="tree">${steps.map((step) => html`<li key=${step.id}>
    <a href=${address("search", { q: step.query })}>${step.query}</a>
    <span class="quiet"> ${texts.research.found(step.total_count)}</span>
    ${drift.has(step.id) && html`<${Drift} ...${drift.get(step.id)} />`}
    ${step.children.length > 0 && html`<${Steps} steps=${step.children} drift=${drift} />`}</li>`)}</ul>`;
}

/** What differs from the first time: how many results, and each of them with its places. */
function Drift({ drift }) {
  const t = texts.research;
  const parts = Object.entries(t.drifts).filter(([name]) => drift?.[name].length);
  if (!parts.length) return html`<span class="quiet"> · ${t.same}</span>`;
  return html`<details><summary class="quiet">${parts.map(([name, what]) => `${drift[name].length} ${what}`).join(", ")}</summary>
    <ul class="why">${parts.flatMap(([name, what]) => drift[name].slice(0, DRIFTED).map(({ id, rank_before: before, rank_now: now }) => {
      const ref = id.replace(/^local:/, "");
      return html`<li key=${name + id}>${what}: <a href=${recordAddress(ref)}>${ref}</a> ${t.places(before, now)}</li>`;
    }))}</ul></details>`;
}

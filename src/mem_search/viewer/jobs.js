// Jobs with their progress, and what became of each item that a source read.

import { api, useApi } from "./api.js";
import { html, useState } from "./html.js";
import { Waiting, attempt, timeOf } from "./parts.js";
import { count, texts } from "./texts.js";

const BUSY_MS = 1000;
const IDLE_MS = 5000;
const RUNNING = ["queued", "running"];

export function JobsPage() {
  const [busy, setBusy] = useState(true);
  const { data, error, reload } = useApi("/api/jobs", { limit: 30 }, { every: busy ? BUSY_MS : IDLE_MS });
  const isBusy = data?.jobs.some((job) => RUNNING.includes(job.state)) ?? true;
  if (isBusy !== busy) setBusy(isBusy);
  return html`<section><h1>${texts.jobs.jobs}</h1>
    ${!data ? html`<${Waiting} error=${error} reload=${reload} />`
    : data.jobs.length ? html`<ul class="jobs">${data.jobs.map((job) => html`<${Job} key=${job.id} job=${job} reload=${reload} />`)}</ul>`
    : html`<p>${texts.jobs.none}</p>`}
    <${Ledger} />
  </section>`;
}

function Job({ job, reload }) {
  const running = RUNNING.includes(job.state);
  const act = (what) => attempt(async () => {
    await api(`/api/jobs/${job.id}/${what}`, { method: "POST" });
    reload();
  });
  return html`<li>
    <strong>${job.name}</strong> <span class="state ${job.state}">${job.state}</span>
    <span class="quiet"> ${job.params.path ?? ""} · ${timeOf(job.created_at)}</span>
    ${running && html`<progress max=${job.total || 1} value=${job.total ? job.done : null} aria-label=${job.name}></progress>`}
    <p class="quiet">${job.total ? `${count(job.done)} / ${count(job.total)}` : ""}
      ${job.rate ? ` · ${texts.jobs.rate(job.rate)}` : ""}${job.seconds_left ? ` · ${texts.jobs.left(job.seconds_left)}` : ""}
      ${job.message && ` · ${job.message}`}</p>
    ${running && html`<button onClick=${() => act("cancel")}>${texts.jobs.cancel}</button>`}
    ${["failed", "cancelled", "set_aside"].includes(job.state) && html`<button onClick=${() => act("retry")}>${texts.jobs.retry}</button>`}
  </li>`;
}

function Ledger() {
  const [item, setItem] = useState("");
  const [outcome, setOutcome] = useState("");
  const { data, error } = useApi("/api/ledger", { item, outcome, limit: 50 });
  const t = texts.jobs;
  return html`<h2>${t.ledger}</h2>
    <p><label>${t.ledgerFind} <input type="search" value=${item} onInput=${(event) => setItem(event.target.value)} /></label>
      <label> ${t.outcome} <select value=${outcome} onChange=${(event) => setOutcome(event.target.value)}>
        <option value="">${t.any}</option>${["taken", "left", "failed", "deleted"].map((each) => html`<option value=${each}>${each}</option>`)}
      </select></label></p>
    ${!data ? html`<${Waiting} error=${error} />` : data.entries.length ? html`<table><thead><tr>
      <th scope="col">${t.item}</th><th scope="col">${t.outcome}</th><th scope="col">${t.reason}</th><th scope="col">${t.at}</th></tr></thead>
      <tbody>${data.entries.map((each) => html`<tr><td class="path">${each.item || each.location}</td><td>${each.outcome}</td>
        <td>${each.reason}</td><td>${timeOf(each.at)}</td></tr>`)}</tbody></table>` : html`<p>${t.noLedger}</p>`}`;
}

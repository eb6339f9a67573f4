// Adding files, jobs with their progress, and what became of each item that a source read.

import { api, useApi, useLive } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { Waiting, attempt, loggedIn, timeOf } from "./parts.js";
import { recordAddress } from "./route.js";
import { count, texts } from "./texts.js";

const LEDGER_MS = 2000; // how often the ledger is read again while a job runs
const RUNNING = ["queued", "running"];

export function JobsPage() {
  const { data, error, reload } = useLive("/api/jobs", { limit: 30 });
  const jobs = data?.jobs ?? [];
  const isBusy = jobs.some((job) => RUNNING.includes(job.state));
  const turn = isBusy ? Math.floor(Date.now() / LEDGER_MS) : jobs.map((job) => job.id + job.state).join();
  const [sending, setSending] = useState("");
  const add = async (files) => {
    for (const file of files) { // one after another: each is a job, which says what became of it
      setSending(file.name);
      const form = new FormData();
      form.append("file", file);
      await attempt(() => api("/documents/upload", { method: "POST", body: form }));
    }
    setSending("");
  };
  const drop = (event) => {
    event.preventDefault();
    if (data && !sending && loggedIn()) add([...event.dataTransfer.files]);
  };
  return html`<section onDragOver=${(event) => event.preventDefault()} onDrop=${drop}><h1>${texts.jobs.jobs}</h1>
    ${data && html`<${Add} sending=${sending} onAdd=${add} />`}
    ${!data ? html`<${Waiting} error=${error} reload=${reload} />`
    : jobs.length ? html`<ul class="jobs">${jobs.map((job) => html`<${Job} key=${job.id} job=${job} />`)}</ul>`
    : html`<p>${texts.jobs.none}</p>`}
    ${data?.embedding && html`<h2>${texts.jobs.embedding}</h2><${Embedding} ...${data.embedding} />`}
    ${data && html`<${Ledger} turn=${turn} />`}
  </section>`;
}

function Add({ sending, onAdd }) {
  const chosen = (event) => {
    onAdd([...event.target.files]);
    event.target.value = ""; // so that the same file can be chosen again
  };
  return html`<p><label class="file" aria-disabled=${sending ? "true" : null}>${texts.jobs.add}
      <input type="file" multiple disabled=${Boolean(sending)} onChange=${chosen}
        onClick=${(event) => { if (!loggedIn()) event.preventDefault(); }} /></label>
    <small role="status">${sending ? texts.jobs.sending(sending) : texts.jobs.addHint}</small></p>`;
}

function Job({ job }) {
  const running = RUNNING.includes(job.state);
  const act = (what) => attempt(() => api(`/api/jobs/${job.id}/${what}`, { method: "POST" }));
  return html`<li>
    <strong>${job.name}</strong> <span class="state ${job.state}">${job.state.replaceAll("_", " ")}</span>
    <span class="quiet"> ${job.params.path ?? job.params.name ?? ""} · ${timeOf(job.created_at)}</span>
    ${running && html`<progress max=${job.total || 1} value=${job.total ? job.done : null} aria-label=${job.name}></progress>`}
    <p class="quiet">${(running ? progress(job) : ended(job)).join(" · ")}
      ${job.result.document && html` <a href=${recordAddress(job.result.document)}>${texts.jobs.open}</a>`}</p>
    ${running && html`<button onClick=${() => act("cancel")}>${texts.jobs.cancel}</button>`}
    ${["failed", "cancelled", "set_aside"].includes(job.state) && html`<button onClick=${() => act("retry")}>${texts.jobs.retry}</button>`}
  </li>`;
}

function Embedding({ error, ...pace }) {
  return html`<progress max=${pace.total || 1} value=${pace.done} aria-label=${texts.jobs.embedding}></progress>
    <p class="quiet">${progress({ ...pace, message: error }).join(" · ")}</p>`;
}

function progress({ done, total, rate, seconds_left: left, message }) {
  return [
    total ? `${count(done)} / ${count(total)}` : "", rate ? texts.jobs.rate(rate) : "", left ? texts.jobs.left(left) : "", message,
  ].filter(Boolean);
}

/** What came of a job: records by what became of them, and how long it took. */
function ended({ result, state, started_at: began, ended_at: ended, message }) {
  const parts = [result, ...(result.locations ?? [])];
  const became = Object.entries(texts.jobs.became)
    .map(([name, what]) => [parts.reduce((sum, each) => sum + (each[name] ?? 0), 0), what])
    .filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`);
  const nothing = state === "done" && !became.length && parts.some((each) => "new" in each) ? [texts.jobs.nothing] : [];
  const took = began && ended ? [texts.jobs.took(Math.ceil((new Date(ended) - new Date(began)) / 1000))] : [];
  return [...became, ...nothing, ...took, message].filter(Boolean);
}

function Ledger({ turn }) {
  const [item, setItem] = useState("");
  const [outcome, setOutcome] = useState("");
  const { data, error, reload } = useApi("/api/ledger", { item, outcome, limit: 50 });
  useEffect(reload, [turn]);
  const t = texts.jobs;
  return html`<h2>${t.ledger}</h2>
    <p><label>${t.ledgerFind} <input type="search" value=${item} onInput=${(event) => setItem(event.target.value)} /></label>
      <label> ${t.outcome} <select value=${outcome} onChange=${(event) => setOutcome(event.target.value)}>
        <option value="">${t.any}</option>${["taken", "left", "failed", "deleted"].map((each) => html`<option value=${each}>${each}</option>`)}
      </select></label></p>
    ${!data ? html`<${Waiting} error=${error} />` : data.entries.length ? html`<table class="long"><thead><tr>
      <th scope="col">${t.item}</th><th scope="col">${t.outcome}</th><th scope="col">${t.reason}</th><th scope="col">${t.at}</th></tr></thead>
      <tbody>${data.entries.map((each) => html`<tr><td class="path">${each.item || each.location}
          ${each.item && html`<br /><small>${each.location}</small>`}</td><td>${each.outcome}</td>
        <td>${each.reason}</td><td class="when">${timeOf(each.at)}</td></tr>`)}</tbody></table>` : html`<p>${t.noLedger}</p>`}`;
}

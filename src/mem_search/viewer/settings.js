// What the store holds, the tokens, the settings and what they mean; what can be changed while the worker runs is.

import { api, session, useApi } from "./api.js";
import { html } from "./html.js";
import { Waiting, attempt, kindName, timeOf } from "./parts.js";
import { count, texts } from "./texts.js";

export function SettingsPage() {
  const stats = useApi("/api/stats");
  const tokens = useApi("/api/v1/tokens");
  const settings = useApi("/api/viewer/settings");
  const t = texts.settings;
  const sessions = useApi("/api/viewer/sessions");
  const current = session()?.id;
  const end = (id) => attempt(async () => {
    await api(`/api/viewer/sessions/${id}`, { method: "DELETE" });
    if (id === current) location.reload();
    else sessions.reload();
  });
  const revoke = (name) => confirm(t.sureRevoke(name)) && attempt(async () => {
    await api(`/api/v1/tokens/${encodeURIComponent(name)}`, { method: "DELETE" });
    tokens.reload();
  });
  const home = settings.data?.settings.find((each) => each.name === "home").value;
  return html`<section><h1>${texts.pages.settings}</h1>
    <h2>${t.store}</h2>${stats.data ? html`<${Store} stats=${stats.data} reload=${stats.reload} />` : html`<${Waiting} ...${stats} />`}
    <h2>${t.tokens}</h2>${!tokens.data ? html`<${Waiting} ...${tokens} />` : tokens.data.tokens.length ? html`<table>
      <thead><tr>${[t.name, t.user, t.expires, t.used, ""].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${tokens.data.tokens.map((each) => html`<tr><td>${each.name}</td><td>${each.user}${each.read_only ? ` (${t.readOnly})` : ""}</td>
        <td>${timeOf(each.expires_at)}</td><td>${timeOf(each.last_used_at)}</td>
        <td><button onClick=${() => revoke(each.name)}>${t.revoke}</button></td></tr>`)}</tbody></table>` : html`<p>${t.noTokens}</p>`}
    ${settings.data && html`<h2>${t.values}</h2><p class="quiet">${t.how(home)} <code>${t.restart}</code></p><table class="long">
      <thead><tr>${[t.name, t.value, t.from].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${settings.data.settings.map((each) => html`<tr><td><code>${each.variable}</code><br /><small>${each.meaning}</small></td><td class="path">${each.value}</td><td class="when">${each.is_default ? t.byDefault : t.changed}</td></tr>`)}</tbody></table>`}
    ${sessions.data && html`<h2>${t.logins}</h2><table>
      <thead><tr>${[t.browser, t.began, t.used, ""].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${sessions.data.sessions.map((each) => html`<tr key=${each.id}><td>${each.browser}${each.id === current ? ` (${t.this})` : ""}</td>
        <td>${timeOf(each.began_at)}</td><td>${timeOf(each.last_used_at)}</td>
        <td><button onClick=${() => end(each.id)}>${each.id === current ? t.logout : t.end}</button></td></tr>`)}</tbody></table>`}
  </section>`;
}

function Store({ stats, reload }) {
  const t = texts.settings;
  const stop = ({ source, path }) => confirm(t.sureStop(path)) && attempt(async () => {
    await api("/api/unfollow", { method: "POST", body: { source, path } });
    reload();
  });
  const { total, ...kinds } = stats.records;
  const largest = Math.max(1, ...Object.values(kinds));
  return html`<ul class="bars">${Object.entries(kinds).filter(([, n]) => n).map(([kind, n]) => html`<li>
      <span>${kindName(kind)}</span> <span class="bar" style=${{ width: `${(60 * n) / largest}%` }}></span> ${count(n)}</li>`)}</ul>
    <dl><dt>${t.records}</dt><dd>${count(total)}</dd>
      <dt>${t.index}</dt><dd>${stats.index.state} · ${Math.round(stats.embedding_coverage * 100)} %${stats.index.detail && ` · ${stats.index.detail}`}</dd>
      <dt>${t.model}</dt><dd>${stats.embedder.name}</dd>
      <dt>${t.database}</dt><dd class="path">${stats.database.path} · ${count(Math.round(stats.database.bytes / 1e6))} MB</dd>
      <dt>${t.worker}</dt><dd>${stats.worker.version} · pid ${stats.worker.pid}</dd>
      <dt>${t.sources}</dt><dd><ul class="lines">${stats.sources.map((each) => html`<li>${each.source} <span class="path">${each.path}</span>
        ${each.followed && html` · ${t.followed} <button class="link" onClick=${() => stop(each)}>${t.stop}</button>`} ${each.error && html`<span class="note">${each.error}</span>`}</li>`)}</ul></dd></dl>`;
}

// How this store is searched: frequent, empty and slow questions, from the log of this machine.

import { api, useApi } from "./api.js";
import { html } from "./html.js";
import { Waiting, attempt, loggedIn, tell, timeOf } from "./parts.js";
import { address } from "./route.js";
import { texts } from "./texts.js";

const LISTED = 20; // questions of each list

export function UsagePage() {
  const { data, error, reload } = useApi("/api/search/usage", { limit: LISTED });
  const t = texts.usage;
  if (!data) return html`<section><h1>${texts.pages.usage}</h1><${Waiting} error=${error} reload=${reload} /></section>`;
  const forget = () => loggedIn() && confirm(t.sure) && attempt(async () => {
    tell(t.forgotten((await api("/api/search/log", { method: "DELETE" })).deleted));
    reload();
  });
  const lists = [
    [t.popular, data.popular, (each) => t.times(each.times, each.total)],
    [t.empty, data.empty, (each) => `${t.times(each.times, each.total)} · ${timeOf(each.last_at)}`],
    [t.slow, data.slow, (each) => `${Math.round(each.took_ms)} ms · ${each.mode} · ${timeOf(each.at)}`],
  ];
  return html`<section><h1>${texts.pages.usage}</h1>
    <p class="quiet">${data.on ? t.kept : t.off}</p>
    ${data.searches ? html`<p>${t.since(data.searches, timeOf(data.first_at))} <button onClick=${forget}>${t.forget}</button></p>
      ${lists.map(([title, rows, said]) => html`<h2>${title}</h2>
        ${rows.length ? html`<ul class="lines">${rows.map((each, place) => html`<li key=${place}>
          <a href=${address("search", { q: each.query })}>${each.query}</a> <span class="quiet">${said(each)}</span></li>`)}</ul>`
        : html`<p>${t.none}</p>`}`)}` : html`<p>${t.nothing}</p>`}
  </section>`;
}

// A session from its first prompt to its end: prompts, the steps that followed each, decisions, and its summary.

import { api } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { Waiting, attempt, isoDay, timeOfDay, whenOf } from "./parts.js";
import { address, back, recordAddress } from "./route.js";
import { count, texts } from "./texts.js";

const PAGE = 100; // records that come at once
const CLASSES = { Prompt: "prompt", Decision: "decision", Session: "summary" };

export const sessionAddress = (id) => `#/session/${encodeURIComponent(id)}`;

export function SessionPage({ parts: [id], params }) {
  const [found, setFound] = useState({ results: [], total: 0, error: null, isThere: false });
  const onlyMain = params.has("main");
  const ask = async (before) => {
    const page = await api("/api/viewer/search", {
      params: { session: id, orderBy: "date_asc", fold: "false", limit: PAGE, offset: before.length },
    });
    setFound({ results: [...before, ...page.results], total: page.total, error: null, isThere: true });
  };
  useEffect(() => {
    ask([]).catch((error) => setFound((was) => ({ ...was, error })));
  }, [id]);
  const t = texts.session;
  if (!found.isThere) return html`<${Waiting} error=${found.error} />`;
  const { results, total } = found;
  if (!total) return html`<section><h1>${t.none}</h1><p><a href=${address("search")}>${texts.record.newest}</a></p></section>`;
  const [first] = results;
  const title = (results.find((each) => each.said === "Session") ?? results.find((each) => each.said === "Prompt") ?? first).title;
  const shown = onlyMain ? results.filter((each) => CLASSES[each.said]) : results;
  const more = () => attempt(() => ask(results));
  return html`<section class="session">
    <p><button class="link" onClick=${back}>← ${texts.record.back}</button></p>
    <h1 class="whole">${title}</h1>
    <p class="quiet">${first.place} · ${whenOf(first.created_at)} · ${t.records(total)} · <a href=${address("search", { session: id })}>${t.search}</a></p>
    <p><a class="button" href=${`${sessionAddress(id)}${onlyMain ? "" : "?main=1"}`}>${onlyMain ? t.all : t.main}</a></p>
    <ol class="timeline">${shown.map((each, place) => html`<${Step} key=${each.ref} step=${each} before=${shown[place - 1]} />`)}</ol>
    ${results.length < total && html`<button onClick=${more}>${t.more(Math.min(PAGE, total - results.length))}</button>`}
  </section>`;
}

const letters = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** Whether the title says all that the span would. */
const repeats = ({ title, span }) => letters(title).startsWith(letters(span).slice(0, letters(title).length));

function Step({ step, before }) {
  const day = isoDay(new Date(step.created_at));
  const isNew = before && isoDay(new Date(before.created_at)) !== day;
  return html`<li class=${CLASSES[step.said] ?? "step"}>
    <time datetime=${step.created_at}>${isNew && html`<span>${whenOf(step.created_at).split(",")[0]} </span>`}${timeOfDay(step.created_at)}</time>
    <div><a class="line" href=${recordAddress(step.ref)}><span class="icon" aria-hidden="true">${step.icon}</span>
      <span class="said">${step.said}</span> <span class="title">${step.title}</span></a>
      ${step.span && !repeats(step) && html`<p>${step.instruction_like && html`<small>${texts.search.instructions} · </small>`}${step.span}</p>`}</div></li>`;
}

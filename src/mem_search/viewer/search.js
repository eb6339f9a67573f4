// The search page: one box, suggestions and results as somebody types, filters, the reason for each result.

import { api, useApi } from "./api.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Kind, Marked, Waiting, dayOf, kindName, tell, attempt } from "./parts.js";
import { address, go, recordAddress } from "./route.js";
import { count, texts } from "./texts.js";

const PAGE = 20;
const PAUSE = 120; // ms without a key before a search begins
const FACETS = ["kind", "project", "type", "source", "tag", "author", "month"];
/** Facet → the parameter of a search that keeps one value. */
const PARAMETERS = { kind: "types", type: "type", tag: "tags" };
const ORDERS = Object.keys(texts.search.orders);

/** The parameters of `GET /api/search` for what the address of the page says. */
export function asked(params) {
  const query = (params.get("q") ?? "").trim();
  const filters = {};
  for (const name of [...FACETS, "domain", "folder", "session"]) {
    const values = params.getAll(name);
    if (!values.length) continue;
    if (name === "month") [filters.dateStart, filters.dateEnd] = [values[0], values[0]];
    else filters[PARAMETERS[name] ?? name] = values;
  }
  if (params.get("day")) [filters.dateStart, filters.dateEnd] = [params.get("day"), params.get("day")];
  if (!query && !Object.keys(filters).length) filters.dateEnd = "now"; // a search needs a filter: newest first
  return {
    query, ...filters, format: "json", tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
    orderBy: params.get("order") || (query ? "relevance" : "date_desc"),
    is: params.get("archived") || /\bis:archived\b/.test(query) ? "" : "active",
    include_weaker: params.get("weaker") ? "true" : "",
  };
}

export function SearchPage({ params }) {
  const [typed, setTyped] = useState(params.get("q") ?? "");
  const [extra, setExtra] = useState([]);
  const question = asked(params);
  const key = JSON.stringify(question);
  const draft = params.has("typing");
  const found = useApi("/api/search", { ...question, limit: PAGE, facets: FACETS, explain: "true" }, { draft });
  useEffect(() => setExtra([]), [key]);
  useEffect(() => {
    if ((params.get("q") ?? "") !== typed.trim()) setTyped(params.get("q") ?? "");
  }, [params.get("q")]);
  // Somebody writes: the address follows after a pause. `typing` keeps the question out of the log.
  useEffect(() => {
    if (typed.trim() === (params.get("q") ?? "")) return undefined;
    const timer = setTimeout(() => change(params, { q: typed.trim(), typing: "1" }, true), PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);
  const more = () => attempt(async () => {
    const offset = found.data.results.length + extra.length;
    const next = await api("/api/search", { params: { ...question, limit: PAGE, offset, explain: "true" } });
    setExtra([...extra, ...next.results]);
  });
  const page = found.data;
  const results = page ? [...page.results, ...extra] : [];
  return html`<section class="search">
    <${Box} typed=${typed} onType=${setTyped}
      onDone=${(q) => { setTyped(q); change(params, { q: q.trim(), typing: "" }); }} />
    <${Chosen} params=${params} />
    ${!page || found.error ? html`<${Waiting} ...${found} />` : html`
      <div class="columns">
        <${Facets} facets=${page.facets ?? {}} params=${params} />
        <div class="found">
          <${Head} page=${page} params=${params} question=${question} />
          ${results.length ? html`<ol class="results">${results.map((each, place) => html`
            <${Result} key=${each.ref} result=${each} place=${place} />`)}</ol>`
          : html`<p>${texts.search.none} ${texts.search.noneTry}</p>`}
          ${results.length && results.length < page.total - page.folded
            ? html`<button onClick=${more}>${texts.search.more}</button>` : null}
        </div>
      </div>`}
  </section>`;
}

/** Goes to the same search with other parameters; an empty value takes one away. */
function change(params, changes, replace = false) {
  const next = {};
  for (const name of new Set([...params.keys(), ...Object.keys(changes)])) {
    next[name] = name in changes ? changes[name] : params.getAll(name);
  }
  if (!("weaker" in changes)) next.weaker = "";
  go(address("search", next), { replace });
}

function Box({ typed, onType, onDone }) {
  const [offers, setOffers] = useState([]);
  const writes = useRef(false); // only what somebody types is completed, not what a link brought
  const [chosen, setChosen] = useState(-1);
  const box = useRef(null);
  useEffect(() => {
    setChosen(-1);
    if (typed.trim().length < 2 || !writes.current) return setOffers([]);
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      const reply = await api("/api/suggest", { params: { prefix: typed, limit: 6 }, signal: stop.signal })
        .catch(() => ({ completions: [] })); // the search itself tells what is wrong
      setOffers(reply.completions.filter((each) => each.text !== typed));
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [typed]);
  const done = (text) => {
    writes.current = false;
    setOffers([]);
    onDone(text);
  };
  const key = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && offers.length) {
      event.preventDefault();
      setChosen(chosen + step < -1 ? offers.length - 1 : chosen + step < offers.length ? chosen + step : -1);
    } else if (event.key === "Escape") {
      if (offers.length) setOffers([]);
      else box.current.blur();
    }
  };
  const active = chosen >= 0 && chosen < offers.length ? chosen : -1;
  const submit = (event) => {
    event.preventDefault();
    done(active >= 0 ? offers[active].text : typed);
  };
  return html`<form class="box" role="search" onSubmit=${submit}>
    <input ref=${box} id="question" type="search" value=${typed} autocomplete="off" autofocus spellcheck="false"
      placeholder=${texts.search.placeholder} aria-label=${texts.search.label}
      role="combobox" aria-autocomplete="list" aria-expanded=${offers.length > 0} aria-controls="offers"
      aria-activedescendant=${active >= 0 ? `offer-${active}` : null}
      onInput=${(event) => { writes.current = true; onType(event.target.value); }} onKeyDown=${key}
      onBlur=${() => setTimeout(() => setOffers([]), 150)} />
    <ul id="offers" role="listbox" aria-label=${texts.search.suggestions} hidden=${!offers.length}>
      ${offers.map((each, place) => html`<li id=${`offer-${place}`} role="option" aria-selected=${place === active}
        onMouseDown=${(event) => { event.preventDefault(); done(each.text); }}>
        <span>${each.text}</span> <small>${each.what} · ${count(each.records)}</small></li>`)}
    </ul>
  </form>`;
}

function Chosen({ params }) {
  const names = [...FACETS, "domain", "folder", "session", "day"];
  const chosen = names.flatMap((name) => params.getAll(name).map((value) => [name, value]));
  if (!chosen.length) return null;
  return html`<p class="chosen">${chosen.map(([name, value]) => html`
    <button onClick=${() => change(params, { [name]: params.getAll(name).filter((each) => each !== value) })}
      aria-label=${texts.search.clear(value)}>${texts.facets[name] ?? name}: ${shown(name, value)} ✕</button>`)}</p>`;
}

const shown = (name, value) => (name === "kind" ? kindName(value) : value);

function Facets({ facets, params }) {
  const named = FACETS.filter((name) => (facets[name]?.values.length ?? 0) > (params.has(name) ? 0 : 1));
  return html`<details class="facets" open=${matchMedia("(min-width: 50rem)").matches}>
    <summary>${texts.search.filters}</summary>
    ${named.map((name) => html`<div role="group" aria-label=${texts.facets[name]}>
      <h2>${texts.facets[name]}</h2>
      <ul>${ordered(name, facets[name].values).map(({ value, count: n }) => html`<li>
        <button aria-pressed=${params.getAll(name).includes(value)}
          onClick=${() => change(params, { [name]: toggled(name, params.getAll(name), value) })}>
          <span>${shown(name, value)}</span> <small>${count(n)}</small></button></li>`)}</ul>
    </div>`)}
  </details>`;
}

const ordered = (name, values) => (name === "month" ? [...values].sort((a, b) => (a.value < b.value ? 1 : -1)) : values);

function toggled(name, values, value) {
  if (values.includes(value)) return values.filter((each) => each !== value);
  return name === "month" || name === "project" ? [value] : [...values, value];
}

function Head({ page, params, question }) {
  const [name, setName] = useState(null); // of the search that is about to be saved
  // Filters of this page are no part of a saved search, so one with filters is not offered.
  const plain = question.query && [...params.keys()].every((each) => ["q", "typing", "order"].includes(each));
  const save = (event) => {
    event.preventDefault();
    attempt(async () => {
      await api("/api/v1/saved-searches", { method: "POST", body: { name, search: { query: question.query } } });
      setName(null);
      tell(texts.saved.done);
    });
  };
  return html`<div class="head">
    <p role="status"><strong>${question.query ? texts.search.found(page.total) : texts.search.newest}</strong>
      ${page.folded ? html` · ${texts.search.folded(page.folded)}` : ""}
      ${page.weaker ? html` · ${texts.search.weaker(page.weaker)}
        <button class="link" onClick=${() => change(params, { weaker: "1" })}>${texts.search.showWeaker}</button>` : ""}
      <small> · ${texts.search.took(page.search.took_ms)}</small></p>
    <label>${texts.search.order} <select value=${page.order}
      onChange=${(event) => change(params, { order: event.target.value })}>
      ${ORDERS.map((order) => html`<option value=${order}>${texts.search.orders[order]}</option>`)}</select></label>
    <label><input type="checkbox" checked=${params.has("archived")}
      onChange=${(event) => change(params, { archived: event.target.checked ? "1" : "" })} /> ${texts.search.archived}</label>
    ${plain && name === null && html`<button onClick=${() => setName(question.query.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, ""))}>${texts.saved.save}</button>`}
    ${name !== null && html`<form onSubmit=${save}><label>${texts.saved.saveAs} <input id="saved-name" value=${name} required pattern="[A-Za-z0-9][A-Za-z0-9_.\\-]*" title=${texts.saved.nameRule}
      onInput=${(event) => setName(event.target.value)} /></label> <button>${texts.saved.keep}</button></form>`}
    ${[...page.search.notices, ...page.search.analyzed.warnings].map((each) => html`<p class="note">${each}</p>`)}
  </div>`;
}

function Result({ result, place }) {
  const [open, setOpen] = useState(false);
  return html`<li class="result">
    <a href=${recordAddress(result.ref)} data-place=${place}>
      <${Kind} kind=${result.kind} />
      <span class="title"><${Marked} text=${result.title} spans=${result.highlights.title} /></span></a>
    ${result.snippet && result.snippet !== result.title && html`<p class="snippet">
      <${Marked} text=${result.snippet} spans=${result.highlights.snippet} /></p>`}
    <p class="quiet"><time datetime=${result.created_at}>${dayOf(result.created_at)}</time>
      ${result.project && html` · ${result.project}`}
      ${result.similar.length > 0 && html` · ${texts.search.similar(result.similar.length)}`}
      ${" · "}<button class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        ${open ? texts.search.whyNot : texts.search.why}</button></p>
    ${open && html`<ul class="why">${reasons(result).map((each) => html`<li>${each}</li>`)}</ul>`}
  </li>`;
}

/** Why a result stands where it does, from the scores that `explain` adds. */
export function reasons({ scores }) {
  const found = Object.keys(texts.why).filter((name) => scores[name]).map((name) => {
    const place = scores[`${name}.rank`];
    return texts.why[name] + (place ? texts.whyPlace(place) : "");
  });
  return found.length ? found : [texts.whyOrder];
}

// The search page: one box, suggestions and results as somebody types, filters, the reason for each result.

import { api, useApi, useNewest } from "./api.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { About, Intervals, Line, Marked, Waiting, attempt, kindName, loggedIn, tell } from "./parts.js";
import { address, go, recordAddress } from "./route.js";
import { count, texts } from "./texts.js";

const PAGE = 20;
const PAUSE = 120; // ms without a key before suggestions are asked for
const FOLLOWS = 400; // ms without a key before the address follows; browsers refuse to change it too often
const FACETS = ["kind", "project", "type", "source", "tag", "author", "month"];
/** Facet → the parameter of a search that keeps one value. */
const PARAMETERS = { kind: "types", type: "type", tag: "tags" };
const ORDERS = Object.keys(texts.search.orders);

const FILTERS = [...FACETS, "domain", "folder", "session"];

/** The parameters of `GET /api/search` for a question and for what the address of the page says. */
export function asked(params, query) {
  const filters = {};
  for (const name of FILTERS) {
    const values = params.getAll(name);
    if (!values.length) continue;
    if (name === "month") [filters.dateStart, filters.dateEnd] = [values[0], values[0]];
    else filters[PARAMETERS[name] ?? name] = values;
  }
  if (params.get("day")) [filters.dateStart, filters.dateEnd] = [params.get("day"), params.get("day")];
  if (!query && !Object.keys(filters).length) filters.dateEnd = "now"; // a search needs a filter: newest first
  return {
    query, ...filters, tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
    orderBy: params.get("order") || (query ? "relevance" : "date_desc"),
    is: params.get("archived") || /\bis:archived\b/.test(query) ? "" : "active",
    include_weaker: params.get("weaker") ? "true" : "",
  };
}

/** The question with the filters of the page in the query language, as a saved search keeps it. */
export function written(params, query) {
  const parts = query ? [query] : [];
  for (const name of FILTERS) {
    const values = params.getAll(name).map((value) => `"${value.replaceAll('"', " ")}"`);
    if (values.length) parts.push(`${name === "month" ? "in" : name}:${values.join(",")}`);
  }
  if (params.get("day")) parts.push(`in:${params.get("day")}`);
  return parts.join(" ");
}

export function SearchPage({ params }) {
  const q = params.get("q") ?? "";
  const [typed, setTyped] = useState(q);
  const [extra, setExtra] = useState([]);
  const query = typed.trim();
  const question = asked(params, query);
  const key = JSON.stringify(question);
  const draft = query !== q || params.has("typing"); // which keeps halves of words out of the log
  const found = useNewest("/api/viewer/search", { ...question, limit: PAGE, facets: FACETS, explain: "true" }, draft);
  useEffect(() => setExtra([]), [key]);
  useEffect(() => {
    if (q !== query) setTyped(q);
  }, [q]);
  useLayoutEffect(() => { // not useEffect, whose cleanup comes late: the timer would lead back to a page that was left
    if (query === q) return undefined;
    const timer = setTimeout(() => change(params, { q: query, typing: "1" }, true), FOLLOWS);
    return () => clearTimeout(timer);
  }, [query]);
  const done = (text) => {
    setTyped(text);
    change(params, { q: text.trim(), typing: "" });
  };
  const open = () => {
    if (!draft || !query) return;
    change(params, { q: query, typing: "" }, true);
    // Whoever opens a result has asked: now the question is logged. Without an answer only the log lacks it.
    api("/api/search", { params: { ...question, limit: 1 }, keepalive: true }).catch(() => {});
  };
  const more = () => attempt(async () => {
    const offset = found.data.results.length + extra.length;
    const next = await api("/api/viewer/search", { params: { ...question, limit: PAGE, offset, explain: "true" } });
    setExtra([...extra, ...next.results]);
  });
  const page = found.data;
  const results = page ? [...page.results, ...extra] : [];
  return html`<section class="search">
    <${Box} typed=${typed} onType=${setTyped} onDone=${done} />
    <${Chosen} params=${params} />
    ${!page ? html`<${Waiting} ...${found} />` : html`
      <div class="columns" aria-busy=${found.busy ? "true" : "false"} data-query=${page.query}>
        <${Facets} facets=${page.facets ?? {}} params=${params} />
        <div class="found">
          <${Head} page=${page} params=${params} query=${query} />
          ${results.length ? html`<ol class="results">${grouped(results).map(([first, ...others], place) => html`
            <${Result} key=${first.ref} result=${first} others=${others} words=${page.words} place=${place} onOpen=${open} />`)}</ol>`
          : html`<${None} params=${params} query=${query} />`}
          ${results.length && results.length < page.total - page.folded
            ? html`<button onClick=${more}>${texts.search.more}</button>` : null}
        </div>
      </div>`}
  </section>`;
}

/** Results that a person takes for the same, such as ten bumps of dependencies, below the first of them. */
function grouped(results) {
  const groups = new Map();
  for (const each of results) {
    const key = each.alike || each.ref;
    groups.set(key, [...groups.get(key) ?? [], each]);
  }
  return [...groups.values()];
}

/** In place of results where nothing is found: what may find something. */
function None({ params, query }) {
  const stats = useApi("/api/stats");
  const t = texts.search;
  if (stats.data?.records.total === 0) return html`<${Empty} />`;
  const filters = FILTERS.some((name) => params.has(name)) || params.has("day");
  return html`<p>${t.none} ${t.noneTry}</p><ul>
    ${filters && html`<li><a href=${address("search", { q: query })}>${t.noFilters}</a></li>`}
    ${!params.has("archived") && html`<li><button class="link" onClick=${() => change(params, { archived: "1" })}>${texts.record.inArchive}</button></li>`}
    <li><a href=${address("search")}>${texts.record.newest}</a></li></ul>`;
}

/** In place of results where nothing is stored. */
function Empty() {
  const t = texts.empty;
  return html`<h1>${t.title}</h1><p>${t.why}</p>
    <dl class="ways">${t.ways.map(([command, what]) => html`<dt><code>${command}</code></dt><dd>${what}</dd>`)}
      <dt><a class="button" href=${address("jobs")}>${t.upload}</a></dt><dd>${t.uploadHint}</dd></dl>`;
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
  const asking = useRef(null); // for suggestions
  const close = () => {
    asking.current?.abort(); // what still comes would open them again, over the results
    setOffers([]);
  };
  useEffect(() => {
    setChosen(-1);
    if (typed.trim().length < 2 || !writes.current) return setOffers([]);
    const stop = asking.current = new AbortController();
    const timer = setTimeout(async () => {
      const reply = await api("/api/suggest", { params: { prefix: typed, limit: 6 }, signal: stop.signal })
        .catch(() => ({ completions: [] })); // the search itself tells what is wrong
      if (!stop.signal.aborted) setOffers(reply.completions.filter((each) => each.text !== typed));
    }, PAUSE);
    setOffers((shown) => shown.filter((each) => begins(each.text, typed))); // never those for other words than the results
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [typed]);
  const done = (text) => {
    writes.current = false;
    close();
    onDone(text);
  };
  const key = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && offers.length) {
      event.preventDefault();
      setChosen(chosen + step < -1 ? offers.length - 1 : chosen + step < offers.length ? chosen + step : -1);
    } else if (event.key === "Escape") {
      event.preventDefault(); // browsers would empty the box
      if (offers.length) close();
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
      onBlur=${close} />
    <ul id="offers" role="listbox" aria-label=${texts.search.suggestions} hidden=${!offers.length}>
      ${offers.map((each, place) => html`<li id=${`offer-${place}`} role="option" aria-selected=${place === active}
        onMouseDown=${(event) => { event.preventDefault(); done(each.text); }}>
        <span>${each.text}</span> <small>${each.what}</small></li>`)}
    </ul>
  </form>`;
}

const begins = (text, typed) => text !== typed && text.toLowerCase().startsWith(typed.trimStart().toLowerCase());

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
  if (!named.length) return html`<div class="facets"></div>`;
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

function Head({ page, params, query }) {
  const [name, setName] = useState(null); // of the search that is about to be saved
  const [every, setEvery] = useState("");
  const whole = written(params, query);
  const save = (event) => {
    event.preventDefault();
    attempt(async () => {
      await api("/api/v1/saved-searches", { method: "POST", body: { name, search: { query: whole }, every: every || null } });
      setName(null);
      tell(texts.saved.done);
    });
  };
  return html`<div class="head">
    <p role="status"><strong>${!page.answerable ? texts.search.unanswered : whole ? texts.search.found(page.total) : texts.search.newest}</strong>
      ${page.weaker ? html` · <button class="link" onClick=${() => change(params, { weaker: "1" })}>${texts.search.weaker(page.weaker)}</button>` : ""}
      <small> · ${texts.search.took(page.search.took_ms)}</small></p>
    <select aria-label=${texts.search.order} value=${page.order}
      onChange=${(event) => change(params, { order: event.target.value })}>
      ${ORDERS.map((order) => html`<option value=${order}>${texts.search.orders[order]}</option>`)}</select>
    <label><input type="checkbox" checked=${params.has("archived")}
      onChange=${(event) => change(params, { archived: event.target.checked ? "1" : "" })} /> ${texts.search.archived}</label>
    ${whole && name === null && html`<button onClick=${() => loggedIn() && setName((query || whole).replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, ""))}>${texts.saved.save}</button>`}
    ${name !== null && html`<form onSubmit=${save}><label>${texts.saved.saveAs} <input id="saved-name" value=${name} required pattern="[A-Za-z0-9][A-Za-z0-9_.\\-]*" title=${texts.saved.nameRule}
      onInput=${(event) => setName(event.target.value)} /></label> <${Intervals} value=${every} onChange=${setEvery} /> <button>${texts.saved.keep}</button></form>`}
    ${page.search.notices.map((each) => html`<p class="note">${each}</p>`)}
  </div>`;
}

/** Two lines, as in the terminal: what it is and where, and the part of its text with the most words. */
function Result({ result, others, words, place, onOpen }) {
  const [open, setOpen] = useState("");
  const toggle = (what) => setOpen(open === what ? "" : what);
  const alike = others.length + result.similar.length;
  const remarks = [
    result.replaced_by && texts.search.replaced(result.replaced_by), result.instruction_like && texts.search.instructions,
    result.page && texts.search.page(result.page),
  ].filter(Boolean).join(" · ");
  return html`<li class="result">
    <a href=${recordAddress(result.ref, words)} data-place=${place} onClick=${onOpen}>
      <span class="icon" aria-hidden="true">${result.icon}</span><span class="said">${result.said}</span>
      <span class="title">${result.before && html`<span class="before">${result.before} › </span>`}<${Marked} text=${result.title} spans=${result.title_marks} /></span></a>
    <span class="about"><${About} line=${result} /></span>
    <p class="snippet">${alike > 0 && html`<button class="link" aria-expanded=${open === "alike"} onClick=${() => toggle("alike")}>${texts.search.similar(alike)}</button> `}
      ${remarks && html`<small>${remarks} · </small>`}<${Marked} text=${result.span} spans=${result.span_marks} /></p>
    <button class="link why" aria-expanded=${open === "why"} onClick=${() => toggle("why")}>${open === "why" ? texts.search.whyNot : texts.search.why}</button>
    ${open === "why" && html`<ul class="reasons">${reasons(result).map((each) => html`<li>${each}</li>`)}</ul>`}
    ${open === "alike" && html`<ul class="lines alike">${others.map((each) => html`<li><${Line} line=${each} words=${words} /></li>`)}
      ${result.similar.map((ref) => html`<li><a class="line" href=${recordAddress(ref, words)}>${ref}</a></li>`)}</ul>`}
  </li>`;
}

/** Why a result stands where it does, from the scores that `explain` adds. */
function reasons({ scores, relevance }) {
  const found = Object.keys(texts.why).filter((name) => scores[name]).map((name) => {
    const place = scores[`${name}.rank`];
    return texts.why[name] + (place ? texts.whyPlace(place) : "");
  });
  if (relevance != null) found.push(texts.search.relevance(relevance));
  return found.length ? found : [texts.whyOrder];
}

// Records by month as bars, and by day as a heat map of one year.

import { useApi } from "./api.js";
import { html } from "./html.js";
import { Waiting, isoDay } from "./parts.js";
import { address } from "./route.js";
import { count, texts } from "./texts.js";

const MONTHS = [...Array(12).keys()];
const LEVELS = 4;
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const ALL = { facets: "month", facet_limit: 366, limit: 1, dateEnd: "now", format: "json" };

export function CalendarPage({ params }) {
  const months = useApi("/api/search/unified", { ...ALL, tz: ZONE });
  if (!months.data) return html`<${Waiting} ...${months} />`;
  const years = [...new Set((months.data.facets?.month.values ?? []).map(({ value }) => Number(value.slice(0, 4))))].sort();
  const year = Number(params.get("year")) || years.at(-1) || new Date().getFullYear();
  return html`<section>
    <h1>${texts.calendar.year} ${year}</h1>
    <nav class="years" aria-label=${texts.calendar.years}>${years.map((each) => html`
      <a key=${each} href=${address("calendar", { year: each })} aria-current=${each === year ? "page" : null}>${each}</a>`)}</nav>
    <${Year} year=${year} />
  </section>`;
}

function Year({ year }) {
  const { data, error } = useApi("/api/search/unified", {
    dateStart: `${year}-01-01`, dateEnd: `${year}-12-31`, facets: "day", facet_limit: 366, limit: 1, format: "json", tz: ZONE,
  });
  if (!data) return html`<${Waiting} error=${error} />`;
  const days = new Map((data.facets?.day.values ?? []).map(({ value, count: n }) => [value, n]));
  if (!days.size) return html`<p>${texts.calendar.none}</p>`;
  const most = Math.max(...days.values());
  const months = MONTHS.map((month) => {
    const name = `${year}-${String(month + 1).padStart(2, "0")}`;
    const inIt = [...days].filter(([day]) => day.startsWith(name));
    return { month, name, total: inIt.reduce((sum, [, n]) => sum + n, 0) };
  });
  const largest = Math.max(...months.map((each) => each.total));
  return html`<h2>${texts.calendar.months}</h2>
    <ul class="bars">${months.filter((each) => each.total).map(({ month, name, total }) => html`<li>
      <a href=${address("search", { month: name })}>${monthName(month)}</a>
      <span class="bar" style=${{ width: `${(60 * total) / largest}%` }}></span> ${count(total)}</li>`)}</ul>
    <h2>${texts.calendar.days}</h2>
    <div class="heat">${months.map(({ month, total }) => html`<div role="group" aria-label=${monthName(month)} class=${total ? null : "empty"}>
      <h3>${monthName(month)}</h3>
      <div class="days">${daysOf(year, month).map(({ day, weekday, date }) => {
        const n = days.get(day) ?? 0;
        const place = { gridColumn: weekday + 1 };
        return n ? html`<a style=${place} class="day level-${Math.ceil(LEVELS * Math.sqrt(n / most))}" href=${address("search", { day, order: "date_desc" })}
          title=${texts.calendar.day(day, n)}>${date}<span class="unseen">: ${texts.calendar.records(n)}</span></a>`
        : html`<span style=${place} class="day">${date}</span>`;
      })}</div></div>`)}</div>`;
}

const monthName = (month) => new Intl.DateTimeFormat("en", { month: "long" }).format(new Date(2024, month, 1));

/** The days of a month with their weekday, Monday first. */
function daysOf(year, month) {
  const found = [];
  for (let at = new Date(year, month, 1); at.getMonth() === month; at = new Date(year, month, at.getDate() + 1)) {
    found.push({ day: isoDay(at), weekday: (at.getDay() + 6) % 7, date: at.getDate() });
  }
  return found;
}

export function ProjectsPage() {
  const { data, error, reload } = useApi("/api/projects");
  if (!data) return html`<${Waiting} error=${error} reload=${reload} />`;
  const t = texts.projects;
  return html`<section><h1>${texts.pages.projects}</h1>
    ${data.projects.length ? html`<table><thead><tr><th scope="col">${t.name}</th><th scope="col" class="number">${t.records}</th><th scope="col">${t.last}</th></tr></thead>
      <tbody>${data.projects.map((each) => html`<tr>
        <td><a href=${address("search", { project: each.name })}>${each.name}</a></td>
        <td class="number">${count(each.records)}</td><td>${each.last.slice(0, 10)}</td></tr>`)}</tbody></table>`
    : html`<p>${t.none}</p>`}
  </section>`;
}

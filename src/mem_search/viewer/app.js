// The frame: pages, keys, light and dark.

import { SESSION, logIn, session } from "./api.js";
import { CalendarPage, ProjectsPage } from "./calendar.js";
import { html, render, useEffect, useRef, useState } from "./html.js";
import { JobsPage } from "./jobs.js";
import { Login, LoginDialog, Notices } from "./parts.js";
import { RecordPage } from "./record.js";
import { ResearchPage, SavedPage } from "./saved.js";
import { SearchPage } from "./search.js";
import { SessionPage } from "./session.js";
import { SettingsPage } from "./settings.js";
import { address, back, go, useRoute } from "./route.js";
import { texts } from "./texts.js";
import { UsagePage } from "./usage.js";

const PAGES = {
  search: SearchPage, calendar: CalendarPage, projects: ProjectsPage, jobs: JobsPage, saved: SavedPage,
  research: ResearchPage, usage: UsagePage, settings: SettingsPage,
};
const JUMPS = { s: "search", c: "calendar", p: "projects", j: "jobs", i: "saved", r: "research", e: "settings" };
const THEME = "mem-search-theme";

function App() {
  const route = useRoute();
  const [arrived] = useState(route);
  const keys = useRef(null);
  useKeys(() => keys.current.showModal());
  useEffect(() => {
    const name = route.page === "record" ? route.parts[0] : route.params.get("q") || texts.pages[route.page];
    document.title = name ? `${name} · ${texts.name}` : texts.name;
  });
  const Page = route.page === "session" ? SessionPage : PAGES[route.page] ?? SearchPage;
  return html`<a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); document.getElementById("content").focus(); }}>${texts.skip}</a>
    <header><a class="name" href=${address("search")}>${texts.name}</a>
      <nav aria-label=${texts.menu}>${Object.keys(PAGES).map((page) => html`<a href=${address(page)} aria-current=${route.page === page ? "page" : null}>${texts.pages[page]}</a>`)}</nav>
      <${Theme} /><button class="quiet" onClick=${() => keys.current.showModal()} aria-label=${texts.keys}>?</button></header>
    <main id="content" tabindex="-1">${refused && route === arrived ? html`<${Refused} error=${refused} />` : route.page === "record"
      ? html`<${RecordPage} key=${route.parts[0]} reference=${route.parts[0]} params=${route.params} />` : html`<${Page} key=${route.page === "session" ? route.parts[0] : route.page} ...${route} />`}</main>
    <${Notices} /><${LoginDialog} />
    <dialog ref=${keys} aria-label=${texts.help.title}><h2>${texts.help.title}</h2>
      <dl>${texts.help.keys.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
      <form method="dialog"><button>${texts.help.close}</button></form></dialog>`;
}

/** In place of a page: the link that led here logs nobody in. */
function Refused({ error }) {
  const t = texts.login;
  return html`<section><h1>${t.refused}</h1><${Login} why=${error.message} />
    ${session() && html`<p>${t.still} <button onClick=${() => go(location.hash, { replace: true })}>${t.goOn}</button></p>`}</section>`;
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem(THEME) ?? "");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const turn = () => {
    const next = isDark ? "light" : "dark";
    localStorage.setItem(THEME, next);
    setTheme(next);
  };
  return html`<button class="quiet" onClick=${turn} title=${texts.theme}>${isDark ? texts.light : texts.dark}</button>`;
}

function useKeys(showKeys) {
  const jump = useRef(0);
  useEffect(() => {
    const press = (event) => {
      const writes = event.target.closest?.("input, textarea, select, dialog[open]");
      if (writes || event.ctrlKey || event.metaKey || event.altKey) return;
      const isJump = Date.now() - jump.current < 1000;
      jump.current = 0;
      if (isJump && JUMPS[event.key]) go(address(JUMPS[event.key]));
      else if (event.key === "g") jump.current = Date.now();
      else if (event.key === "?") showKeys();
      else if (event.key === "/") {
        event.preventDefault();
        const box = document.getElementById("question");
        if (box) box.select();
        else go(address("search"));
      } else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
      else if (event.key === "w") document.activeElement.closest(".result")?.querySelector("button.why")?.click();
      else if (event.key === "n") nextMark();
      else if (event.key === "u") back();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function step(by) {
  const links = [...document.querySelectorAll("main .results a[data-place], main a.line")];
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

function nextMark() {
  const marks = [...document.querySelectorAll(".body mark")];
  if (!marks.length) return;
  const at = marks.findIndex((each) => each.className === "this");
  marks[at]?.removeAttribute("class");
  const next = marks[(at + 1) % marks.length];
  next.className = "this";
  next.scrollIntoView({ block: "center" });
}

const LINK = /^#\/login\/([^/?]+)(.*)$/s; // a link of `mem-search view`: its code, and what to show

/** Logs this tab in if a link leads here, and takes the code out of the address. Returns why it failed. */
async function arrive() {
  const [, code, place] = location.hash.match(LINK) ?? [];
  if (!code) return null;
  history.replaceState(null, "", `#${place || "/search"}`);
  try {
    await logIn(code);
    return null;
  } catch (error) {
    return error;
  }
}

addEventListener("hashchange", () => { // a link that is opened in a tab with the viewer loads nothing by itself
  if (LINK.test(location.hash)) location.reload();
});
addEventListener("storage", ({ key, newValue }) => { // a link was opened in another tab
  if (key === SESSION && newValue && document.querySelector(".login")) location.reload();
});
const refused = await arrive();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);

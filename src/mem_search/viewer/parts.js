// Small parts that several pages show.

import { session } from "./api.js";
import { html, useState } from "./html.js";
import { recordAddress } from "./route.js";
import { texts } from "./texts.js";

const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const TIME = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const SHORT = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const CLOCK = new Intl.DateTimeFormat("en", { timeStyle: "short" });

/** The day, without the year where it is this one. */
const shortDay = (time) => (new Date(time).getFullYear() === new Date().getFullYear() ? SHORT.format(new Date(time)) : dayOf(time));
export const timeOfDay = (time) => CLOCK.format(new Date(time));
const dayOf = (time) => (time ? DAY.format(new Date(time)) : "");
/** The day and the time, where one is known: what has only a day is stored as its midnight. */
export const whenOf = (time) => (time.endsWith("T00:00:00.000Z") ? dayOf(time) : timeOf(time));
export const timeOf = (time) => (time ? TIME.format(new Date(time)) : "");
export const kindName = (kind) => kind.replaceAll("_", " ");

/** A calendar day of this browser as `2026-11-23`. */
export function isoDay(date) {
  const two = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** `text` with the places of `spans` marked. They count Unicode code points. */
export function Marked({ text, spans = [] }) {
  const points = Array.from(text);
  const pieces = [];
  let at = 0;
  for (const [start, end] of spans) {
    pieces.push(points.slice(at, start).join(""), html`<mark>${points.slice(start, end).join("")}</mark>`);
    at = end;
  }
  return html`${pieces}${points.slice(at).join("")}`;
}

export function RecordLine({ record }) {
  return html`<a class="line" href=${recordAddress(record.ref ?? record.id)}>
    <span class="title">${record.title}</span>
    <time datetime=${record.created_at}>${kindName(record.kind)} · ${shortDay(record.created_at)}</time>
  </a>`;
}

const line = ({ before, title }) => (before ? `${before} › ${title}` : title);

/** A record as a result of a search has it: icon, kind, title; `about` are place, day and ref. */
export function Line({ line: each, words, isThis }) {
  return html`<a class="line" href=${recordAddress(each.ref, words)} aria-current=${isThis ? "true" : null}>
    <span class="icon" aria-hidden="true">${each.icon}</span> <span class="title">${line(each)}</span></a>
    <span class="quiet"> <${About} line=${each} /></span>`;
}

/** Place, day and ref. */
export function About({ line: { place, dated, created_at: time, ref } }) {
  return html`${place && `${place} · `}<time datetime=${time}>${dated ? `${shortDay(time)} · ` : ""}</time>${ref}`;
}

/** What stands in place of a reply: that it is on its way, or why it does not come. */
export function Waiting({ error, reload }) {
  if (!error) return html`<p class="quiet" role="status">${texts.loading}</p>`;
  if (error.status === 401 || error.status === 403) return html`<${Login} />`;
  return html`<div class="problem" role="alert">
    <p>${texts.failed} ${error.message}</p>
    ${reload && html`<button onClick=${reload}>${texts.again}</button>`}
  </div>`;
}

export function Login({ why = texts.login.why }) {
  return html`<div class="problem login">
    <p>${why}</p><p>${texts.login.needed}</p><p><code>${texts.login.command}</code></p>
  </div>`;
}

let ask = () => {};

/** Whether this browser is logged in; else it is asked to at once, before somebody writes or waits for nothing. */
export function loggedIn() {
  if (!session()) ask();
  return Boolean(session());
}

export function LoginDialog() {
  const [isOpen, setOpen] = useState(false);
  ask = () => setOpen(true);
  const show = (box) => box && !box.open && box.showModal();
  return isOpen && html`<dialog class="login" ref=${show} aria-label=${texts.login.title} onClose=${() => setOpen(false)}>
    <h2>${texts.login.title}</h2><${Login} /><form method="dialog"><button>${texts.help.close}</button></form></dialog>`;
}

let show = () => {};

/**
 * Shows `text` at the foot of the page for `seconds`, below what is shown already; `action` is a label and what it does.
 * Returns what takes the notice away.
 */
export function tell(text, action = null, seconds = 4) {
  const notice = { text, action };
  const remove = () => show((shown) => shown.filter((each) => each !== notice));
  show((shown) => [...shown, notice]);
  setTimeout(remove, seconds * 1000);
  return remove;
}

export function Notices() {
  const [notices, setNotices] = useState([]);
  show = setNotices;
  const act = (notice) => {
    setNotices((shown) => shown.filter((each) => each !== notice));
    notice.action.run();
  };
  return html`<div class="notices" role="status" aria-live="polite">${notices.map((notice) => html`<p>${notice.text}
    ${notice.action && html`<button onClick=${() => act(notice)}>${notice.action.label}</button>`}</p>`)}</div>`;
}

/** Runs `work`; a failure is shown and false is returned. */
export async function attempt(work) {
  try {
    await work();
    return true;
  } catch (error) {
    if (error.status === 401) ask();
    else tell(error.message, null, 10);
    return false;
  }
}

/** How often a saved search runs. */
export function Intervals({ value, onChange }) {
  const { intervals, interval, own } = texts.saved;
  const known = value in intervals ? intervals : { ...intervals, [value]: own(value) };
  return html`<select aria-label=${interval} value=${value} onChange=${(event) => onChange(event.target.value)}>
    ${Object.entries(known).map(([every, said]) => html`<option key=${every} value=${every}>${said}</option>`)}</select>`;
}

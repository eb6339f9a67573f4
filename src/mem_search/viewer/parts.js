// Small parts that several pages show.

import { html, useState } from "./html.js";
import { recordAddress } from "./route.js";
import { texts } from "./texts.js";

const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const TIME = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export const dayOf = (time) => (time ? DAY.format(new Date(time)) : "");
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

export function Kind({ kind }) {
  return html`<span class="kind">${kindName(kind)}</span>`;
}

export function RecordLine({ record }) {
  return html`<a class="line" href=${recordAddress(record.ref ?? record.id)}>
    <${Kind} kind=${record.kind} /> <span class="title">${record.title}</span>
    <time datetime=${record.created_at}>${dayOf(record.created_at)}</time>
  </a>`;
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

export function Login() {
  return html`<div class="problem">
    <p>${texts.login.why}</p><p>${texts.login.needed}</p><p><code>${texts.login.command}</code></p>
  </div>`;
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
    const asked = error.status === 401 ? `${texts.login.needed} ${texts.login.command}` : error.message;
    tell(asked, null, 10);
    return false;
  }
}

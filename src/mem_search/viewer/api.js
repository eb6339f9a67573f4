// Requests to the worker, and the state of one that a component shows.

import { useCallback, useEffect, useRef, useState } from "./html.js";
import { texts } from "./texts.js";

export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** `path` with `params`: an empty one is left out, a list is sent once for each value. */
function addressed(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of [value].flat()) if (each !== "" && each != null) query.append(name, each);
  }
  return query.size ? `${path}?${query}` : path;
}

// In the storage of this origin, so that new tabs are logged in: the id and the secret of the login. The origin is new
// with each worker, and the session ends with it.
export const SESSION = "mem-search-session";

/** `{id, secret}` of the session by which this browser is logged in, or null. */
export const session = () => JSON.parse(localStorage.getItem(SESSION));

/** Redeems the code of a link of `mem-search view`. A link that does not count ends no login. Throws Problem. */
export async function logIn(code) {
  const began = await api("/api/viewer/sessions", { method: "POST", body: { code }, current: null });
  localStorage.setItem(SESSION, JSON.stringify(began));
}

/** A reply to `path`, asked by the session of this browser. One that has ended is dropped. */
async function ask(path, { headers, current = session(), ...options }) {
  const reply = await fetch(path, { ...options, headers: current ? { ...headers, "X-Mem-Search-Session": current.secret } : headers });
  if (reply.status === 401 && current && session()?.id === current.id) localStorage.removeItem(SESSION);
  return reply;
}

/** The JSON reply of `path`; `body` is a form, or a value that is sent as JSON. Throws Problem. */
export async function api(path, { method = "GET", params = {}, body, signal, draft, keepalive, current } = {}) {
  const headers = { Accept: "application/json" };
  const isForm = body instanceof FormData; // the browser writes its type, with the boundary
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  if (draft) headers["X-Draft"] = "1"; // a question that is still being typed is not logged
  let reply;
  try {
    reply = await ask(addressed(path, params), {
      method, headers, signal, keepalive, current, body: body === undefined || isForm ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, texts.offline);
  }
  const text = await reply.text();
  const type = reply.headers.get("Content-Type") ?? "";
  const value = type.includes("json") && text ? JSON.parse(text) : text;
  if (!reply.ok) throw new Problem(reply.status, value.detail ?? reply.statusText);
  return value;
}

/** `{data, error, reload}` of a GET; asked again when `path` or `params` change. */
export function useApi(path, params = {}) {
  const [state, setState] = useState({ data: null, error: null });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([path, params]);
  const shown = useRef("");
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    api(path, { params, signal: stop.signal }).then((data) => {
      shown.current = key;
      setState({ data, error: null });
    }, (error) => {
      if (error.name === "AbortError") return;
      setState((before) => ({ data: shown.current === key ? before.data : null, error }));
    });
    return () => stop.abort();
  }, [key, turn]);
  return { ...state, reload: useCallback(() => setTurn((n) => n + 1), []) };
}

/**
 * Like useApi for a question that changes with every key: one request at a time, and after it the newest question.
 * `busy` while `data` is not the answer to the newest one. A `draft` is not logged.
 */
export function useNewest(path, params, draft) {
  const [state, setState] = useState({ data: null, error: null, shown: "" });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([path, params, draft, turn]);
  const wanted = useRef(null);
  const asks = useRef(false);
  useEffect(() => {
    wanted.current = { key, params, draft };
    if (!asks.current) ask();
  }, [key]);
  useEffect(() => () => { wanted.current = null; }, []);
  async function ask() {
    asks.current = true;
    while (wanted.current) {
      const { key: shown, ...asked } = wanted.current;
      wanted.current = null;
      try {
        const data = await api(path, asked);
        setState({ data, error: null, shown });
      } catch (error) {
        setState({ data: null, error, shown });
      }
    }
    asks.current = false;
  }
  return { data: state.data, error: state.error, busy: state.shown !== key, reload: () => setTurn(turn + 1) };
}

/** Saves the reply of `path` as a file: a link would not say who asks. Throws Problem. */
export async function save(path, params, name) {
  const reply = await ask(addressed(path, params), {});
  if (!reply.ok) throw new Problem(reply.status, reply.statusText);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), RETRY_MS);
}

const RETRY_MS = 5000;

/** Tells `told` what the stream at `path` sends, until it ends. An EventSource could not say who asks. */
async function listen(path, signal, told) {
  const reply = await ask(path, { signal, headers: { Accept: "text/event-stream" } });
  if (!reply.ok) return;
  const pieces = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", piece; !(piece = await pieces.read()).done;) {
    const events = (text + piece.value).split("\n\n");
    text = events.pop();
    for (const event of events) if (event.startsWith("data: ")) told(JSON.parse(event.slice(6)));
  }
}

/** Like useApi, and then what the stream of the same name says, as long as the page is visible. */
export function useLive(path, params = {}) {
  const asked = useApi(path, params);
  const [live, setLive] = useState(null);
  const isThere = Boolean(asked.data);
  useEffect(() => {
    if (!isThere) return undefined;
    let stop = new AbortController();
    let timer;
    const open = async () => {
      stop.abort();
      clearTimeout(timer);
      if (document.hidden) return;
      const { signal } = stop = new AbortController();
      try {
        await listen(addressed(`${path}/events`, params), signal, setLive);
      } catch {
        // The worker has ended, or the page was left.
      }
      if (!signal.aborted) timer = setTimeout(open, RETRY_MS);
    };
    open();
    document.addEventListener("visibilitychange", open);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", open);
    };
  }, [isThere, path, JSON.stringify(params)]);
  return { ...asked, data: live ?? asked.data };
}

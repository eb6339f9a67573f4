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

/** The JSON reply of `path`; `body` is a form, or a value that is sent as JSON. Throws Problem. */
export async function api(path, { method = "GET", params = {}, body, signal, draft, keepalive } = {}) {
  const headers = { Accept: "application/json" };
  const isForm = body instanceof FormData; // the browser writes its type, with the boundary
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  if (draft) headers["X-Draft"] = "1"; // a question that is still being typed is not logged
  let reply;
  try {
    reply = await fetch(addressed(path, params), {
      method, headers, signal, keepalive, body: body === undefined || isForm ? body : JSON.stringify(body),
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

const RETRY_MS = 5000;

/** Like useApi, and then what the stream of the same name says, as long as the page is visible. */
export function useLive(path, params = {}) {
  const asked = useApi(path, params);
  const [live, setLive] = useState(null);
  const isThere = Boolean(asked.data);
  useEffect(() => {
    if (!isThere) return undefined;
    let stream;
    let timer;
    const open = () => {
      stream?.close();
      clearTimeout(timer);
      if (document.hidden) return;
      stream = new EventSource(addressed(`${path}/events`, params));
      stream.onmessage = (event) => setLive(JSON.parse(event.data));
      stream.onerror = () => { // the browser tries again by itself, unless it was refused
        if (stream.readyState === EventSource.CLOSED) timer = setTimeout(open, RETRY_MS);
      };
    };
    open();
    document.addEventListener("visibilitychange", open);
    return () => {
      stream?.close();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", open);
    };
  }, [isThere, path, JSON.stringify(params)]);
  return { ...asked, data: live ?? asked.data };
}

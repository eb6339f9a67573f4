// Requests to the worker, and the state of one that a component shows.

import { useCallback, useEffect, useRef, useState } from "./html.js";
import { texts } from "./texts.js";

export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The JSON reply of `path`. A parameter that is a list is sent once for each value. Throws Problem. */
export async function api(path, { method = "GET", params = {}, body, signal, draft, keepalive } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of [value].flat()) if (each !== "" && each != null) query.append(name, each);
  }
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (draft) headers["X-Draft"] = "1"; // a question that is still being typed is not logged
  let reply;
  try {
    reply = await fetch(query.size ? `${path}?${query}` : path, {
      method, headers, signal, keepalive, body: body === undefined ? undefined : JSON.stringify(body),
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

/** `{data, error, reload}` of a GET; asked again when `path` or `params` change, or every `every` ms. */
export function useApi(path, params = {}, { every = 0, draft = false } = {}) {
  const [state, setState] = useState({ data: null, error: null });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([path, params]);
  const shown = useRef("");
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    let timer;
    const ask = async () => {
      try {
        const data = await api(path, { params, signal: stop.signal, draft });
        shown.current = key;
        setState({ data, error: null });
      } catch (error) {
        if (error.name === "AbortError") return;
        setState((before) => ({ data: shown.current === key ? before.data : null, error }));
      }
      const pause = typeof every === "function" ? every() : every;
      if (pause) timer = setTimeout(ask, pause);
    };
    ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, turn]);
  return { ...state, reload: useCallback(() => setTurn((n) => n + 1), []) };
}

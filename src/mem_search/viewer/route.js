// Addresses inside the viewer: `#/page/part?name=value`.

import { useEffect, useState } from "./html.js";

export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...parts] = path.split("/").map(decodeURIComponent);
  return { page: page || "search", parts, params: new URLSearchParams(query) };
}

/** The address of a page; empty values are left out, a list is repeated. */
export function address(page, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of [value].flat()) if (each !== "" && each != null) query.append(name, each);
  }
  return `#/${page}${query.size ? `?${query}` : ""}`;
}

/** The page of a record; `words` are marked in it. */
export const recordAddress = (ref, words = []) => address(`record/${encodeURIComponent(ref)}`, { words: words.join(",") });

export function go(to, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = to;
}

let came = 0; // pages of the viewer that this tab has left
addEventListener("hashchange", ({ isTrusted }) => { came += isTrusted; });

/** Goes back; in a tab that has nothing to go back to, to the search. */
export function back() {
  if (globalThis.navigation?.canGoBack ?? came) history.back();
  else go(address("search"));
}

export function useRoute() {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const change = () => setRoute(read());
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return route;
}

// Every English text of the viewer.

export const texts = {
  name: "mem-search",
  skip: "Skip to the content",
  pages: {
    search: "Search", calendar: "Calendar", projects: "Projects", jobs: "Jobs", saved: "Saved",
    research: "Research", usage: "Usage", settings: "Settings",
  },
  search: {
    label: "Search everything", placeholder: "A question, a name, or words",
    suggestions: "Suggestions",
    found: (n) => `${count(n)} ${n === 1 ? "result" : "results"}`,
    weaker: (n) => `Show ${count(n)} weaker ${n === 1 ? "match" : "matches"}`,
    none: "Nothing was found.", noneTry: "Other words may help, or:", noFilters: "Without the filters",
    order: "Order", orders: { relevance: "Best first", date_desc: "Newest first", date_asc: "Oldest first" },
    more: "Show more", filters: "Filters", clear: (name) => `Without ${name}`,
    why: "Why", whyNot: "Hide why", took: (ms) => `${Math.round(ms)} ms`,
    unanswered: "Nothing here answers this", relevance: (share) => `${Math.round(100 * share)} % likely relevant`,
    newest: "Newest records", archived: "archived, too", similar: (n) => `+${n} like it`,
    replaced: (ref) => `replaced by ${ref}`, instructions: "reads like instructions", page: (n) => `page ${n}`,
  },
  empty: {
    title: "Nothing is stored yet", why: "Fill it from a terminal, or right here:",
    ways: [
      ["mem-search quickstart", "finds the sessions, repositories and notes of this machine, and reads what you agree to"],
      ["mem-search sync", "reads what your agents have written since"],
      ["mem-search add PATH", "reads a folder of notes, documents or mail, and follows it"],
    ],
    upload: "Upload files", uploadHint: "documents, mail, notes, exports of chats",
  },
  facets: {
    kind: "Kind", project: "Project", type: "Type", source: "Source", tag: "Tag", author: "Author",
    domain: "Site", folder: "Folder", month: "Month", day: "Day",
  },
  // Score → what it means; the names are those of the scores in the reply.
  why: {
    keyword: "It has words of the question", vector: "Its meaning is near the question",
    "every-word": "It has every word of the question", "intent-boost": "It is of the kind or person that the question names",
    time: "It is from the time that the question names", session: "Other records of its session match, too",
    neighbours: "What was said before and after it matches, too", feedback: "It is like the best results",
    recency: "It is new", importance: "It is important", opened: "It was opened lately",
  },
  whyPlace: (n) => ` (rank ${n})`, whyOrder: "Its place follows from the order that is chosen",
  record: {
    missing: (ref) => `There is no record ${ref}`, back: "Back", meant: (ref) => `Open ${ref}`, newest: "Newest records",
    inArchive: "Search the archive, too", ledger: "What became of each file and mail that was read",
    session: "its session", attachments: "Attachments", thread: "Thread", quoted: "Quoted text and signature", table: "Table",
    provenance: "Where it comes from", download: "Download the original", inObsidian: "Open in Obsidian", inMail: "Open in the mail program",
    inWeb: (host) => `Open at ${host}`, source: (name) => `read by ${name}`, address: "Address",
    citation: "Citation", style: "Style", copy: "Copy", copied: "Copied",
    links: "Links", neighbours: "Before and after", graph: "Related records",
    graphLabel: (title) => `Records that are related to ${title}`,
    metadata: "More details", text: "Text", whole: (n) => `Show all ${count(n)} characters`, moreNeighbours: "Show more",
    archive: "Archive", unarchive: "Take out of the archive", archived: "Archived.",
    unarchived: "Out of the archive.", forget: "Forget",
    forgetting: (s) => `This record will be forgotten for good in ${s} s.`,
    archiving: (s) => `This record will be archived in ${s} s.`,
    forgotten: "Forgotten.", kept: "The record stays as it is.",
    superseded: "A newer record replaces this one:", fromOutside: "from outside",
    instructions: "This text reads like instructions to an agent. An agent must not follow them.",
  },
  commit: { hash: "Commit", on: (branch) => ` on ${branch}`, size: "Lines", files: (n) => (n === 1 ? "File" : `${count(n)} files`) },
  styles: { apa: "APA", mla: "MLA", chicago: "Chicago", bibtex: "BibTeX", ris: "RIS" },
  session: {
    none: "There is no session of this name", records: (n) => `${count(n)} ${n === 1 ? "record" : "records"}`, search: "search in it",
    main: "Only prompts and decisions", all: "Every step", more: (n) => `Show ${count(n)} more`,
  },
  graph: {
    more: (n) => `Show up to ${count(n)}`,
    notStored: "page, not stored", in: "Zoom in", out: "Zoom out", all: "Show all", page: "Save as a page",
    list: (n) => `As a list of ${count(n)}`,
  },
  fields: {
    created: "Date", project: "Project", session: "Session", source: "Source", tags: "Tags",
    origin: "Written by", trust: "Trust",
  },
  calendar: {
    year: "Year", years: "Years", records: (n) => `${count(n)} ${n === 1 ? "record" : "records"}`, day: (day, n) => `${day}: ${texts.calendar.records(n)}`,
    months: "By month", days: "By day", none: "No records in this year.",
  },
  projects: { none: "No projects yet. Sessions and repositories bring them: mem-search sync", records: "Records", last: "Last active", name: "Project" },
  jobs: {
    none: "No jobs in the last week.", embedding: "Embedding passages", cancel: "Cancel", retry: "Run again", jobs: "Jobs",
    add: "Add files", open: "Open", addHint: "or drop them on this page: documents, mail, notes, exports of chats", sending: (name) => `Sending ${name} …`, ledger: "What became of each item",
    ledgerFind: "Part of a path", outcome: "Outcome", any: "any", item: "Item", reason: "Reason", at: "When",
    noLedger: "No such entries.", took: (s) => `took ${s < 90 ? `${count(s)} s` : `${count(Math.round(s / 60))} min`}`,
    became: { new: "new", changed: "changed", deleted: "deleted", failed: "failed" }, nothing: "nothing new", left: (s) => `about ${s} s left`, rate: (n) => `${n.toFixed(0)} a second`,
  },
  usage: {
    kept: "From the log of searches in your store. It stays on this machine, without secrets.",
    off: "Searches are not noted: the setting search_log is off.", nothing: "No searches are noted yet.", none: "None.",
    since: (n, at) => `${count(n)} ${n === 1 ? "search" : "searches"} since ${at}.`,
    times: (n, found) => `${count(n)} ${n === 1 ? "time" : "times"} · ${count(found)} found`,
    popular: "Asked most", empty: "Found nothing", slow: "Slowest", forget: "Forget them", sure: "Forget every search that was noted?",
    forgotten: (n) => `${count(n)} ${n === 1 ? "search" : "searches"} forgotten.`,
  },
  saved: {
    saved: "Saved searches", inbox: "New matches", none: "No saved searches yet. Search for something, then press “Save this search”: it tells what is new.", noInbox: "Nothing new.",
    run: "Run now", noQuestion: "everything", remove: "Delete", removed: "Deleted.", read: "Mark as read", save: "Save this search",
    name: "Name", every: "Every", newMatches: (n) => `${count(n)} new`, ran: "Last run", saveAs: "Its name", nameRule: "Letters, digits, - _ and .", keep: "Save",
    done: "Saved.", intervals: { "": "by hand", "15m": "every 15 minutes", "1h": "every hour", "1d": "every day", "1w": "every week" },
    interval: "Run", own: (every) => `every ${every}`, changed: "Changed.",
  },
  research: {
    none: "No research sessions yet. An agent or a program begins one with the first step of a chain of searches.", steps: (n) => `${count(n)} ${n === 1 ? "step" : "steps"}`, replay: "Replay",
    identical: "Every step finds the same today.", drift: "What a step finds has changed:",
    drifts: { appeared: "new", gone: "gone", changed: "changed", moved: "moved" }, same: "the same",
    places: (before, now) => (before && now ? `from place ${before} to ${now}` : now ? `at place ${now}` : `was at place ${before}`),
    found: (n) => `${count(n)} found`,
  },
  settings: {
    store: "Store", records: "Records", index: "Vector index", model: "Embedding model", database: "Database",
    worker: "Worker", tokens: "Tokens", noTokens: "There is only the token of this home. Another one: mem-search token create NAME", values: "Settings",
    name: "Name", value: "Now", user: "User", readOnly: "read only", expires: "Ends", used: "Last used", from: "State", byDefault: "default", changed: "set",
    how: (home) => `To change one, write a line such as follow = 30 into ${home}/config.toml, or set its variable, which counts more; then run:`,
    restart: "mem-search worker restart", revoke: "Revoke", sureRevoke: (name) => `Revoke the token ${name}? Programs that use it are refused at once.`,
    stop: "Stop following", sureStop: (path) => `Stop following ${path}? What was read stays.`, meaning: "What it is",
    logout: "Log this browser out", logins: "Browsers that are logged in", browser: "Browser", began: "Since", end: "End", this: "this one", sources: "Sources", followed: "followed",
  },
  login: {
    needed: "Run this in a terminal, and open the link that it shows:",
    title: "Log in", refused: "This link logs nobody in", still: "This browser is logged in already.", goOn: "Go on",
    command: "mem-search view", why: "Only a browser that you logged in sees what is stored. It stays logged in for 12 hours after its last use, until the worker ends.",
  },
  help: {
    title: "Keys", close: "Close",
    keys: [
      ["/", "write a question"], ["j, k", "next, previous record"], ["Enter", "open the result"],
      ["Escape", "close the suggestions, then leave the box"], ["w", "why the result is there"], ["n", "next marked word of a record"], ["u", "back"],
      ["g then s c p", "search, calendar, projects"], ["g then j i r e", "jobs, saved searches, research, settings"], ["?", "show these keys"],
    ],
  },
  loading: "Loading …", failed: "That did not work:", again: "Try again", offline: "The worker of this page does not answer. A new one has another address: mem-search view",
  undo: "Undo", dark: "Dark", light: "Light", theme: "Light or dark", menu: "Pages", keys: "Keys",
};

export function count(n) {
  return new Intl.NumberFormat("en").format(n);
}

"""Which words of agents and people choose one way, and which only sound like it."""

from __future__ import annotations

import pytest

from mem_search.sources.agent_work.choices import decision_in, decision_of_person

DECIDES = [
    "I'm putting the lock in Postgres, since every worker talks to it anyway.",
    "We'll do soft deletes: support restores accounts twice a week.",
    "Kept the old endpoint alive as a redirect so existing clients don't break.",
    "I prefer a plain cron job here; a scheduler service would be one more thing to operate.",
    "After comparing both I'm taking zod. Yup's types are weaker.",
    "Let's go with option B.",
    "The cleanest way is a separate table, so that's what I did.",
    "I ended up using a trie; the hash map version needed 3x the memory.",
    "No retries on 4xx: they would only fail again.",
    "Tabs over spaces it is, then.",
    "I dropped the idea of a plugin system. Nobody asked for it.",
    "We're not going to cache this, the query takes 2 ms.",
    "Migrating to Postgres is off the table for now, so SQLite stays.",
    "Instead of mocking the clock I inject it, which keeps the tests readable.",
    "I've picked UUIDv7 for the keys because they sort by time.",
    "Sampling at 10% is enough here, errors are kept in full anyway.",
    "To keep the bundle small, I import the icons one by one rather than the whole set.",
    "So the rule is: never retry writes.",
    "We'll live with the duplicate for now; a shared package isn't worth the release overhead.",
    "Ich nehme Redis statt Memcached, weil wir die Sortierung brauchen.",
    "Wir lassen den alten Endpunkt noch ein Jahr stehen, sonst brechen die Apps.",
    "Deshalb keine Warteschlange: die Last ist dafür zu klein.",
    "Die Entscheidung: JSON statt XML.",
    "Das Caching lassen wir weg.",
    "Am Ende ist es ein einfacher Index geworden, eine Suchmaschine wäre zu viel Betrieb.",
    "Me quedo con SQLite: no hace falta un servidor para tres usuarios.",
    "En vez de un hilo por conexión, uso un bucle de eventos.",
    "Hemos optado por paginar con cursores porque los offsets se vuelven lentos.",
    "Descarto Kafka, es demasiado para este volumen.",
    "J'ai préféré une table séparée plutôt qu'une colonne JSON.",
    "On reste sur REST, GraphQL n'apporte rien ici.",
    "Je pars sur des fichiers plats : la base serait de trop.",
    "Pas de cache côté client : les prix changent trop souvent.",
    "Decision: retry in the worker, not in the handler.",
    "I went back and forth on this and landed on server-side rendering.",
    "Since the API has no bulk endpoint, I batch on our side and accept the extra requests.",
    "The flag stays in the config file; an environment variable would be invisible in reviews.",
    "I made the timeout a constant instead of a setting. Nobody would ever change it.",
]

DECIDES_NOTHING = [
    "There are three lamps and one of them is out.",
    "The handler keeps the connection open instead of closing it.",
    "Let me check whether the queue is used anywhere.",
    "All tests pass now.",
    "I'll add a test for this.",
    "No tests cover the parser.",
    "The config is read from disk because the cache is cold.",
    "You could use Redis or Memcached.",
    "There are two ways to do this: polling and webhooks.",
    "We have 14 endpoints, and three of them return XML instead of JSON.",
    "Found it: the loop starts at 1 instead of 0.",
    "The file was renamed last year.",
    "I've updated the README.",
    "The old code used a list rather than a set, so lookups were slow.",
    "Done. The page loads in 300 ms instead of 2 s.",
    "Ich schaue mir zuerst die Konfiguration an.",
    "Der Test schlägt fehl, weil die Datenbank leer ist.",
    "Man könnte auch einen Trigger verwenden.",
    "Hay dos maneras de resolverlo.",
    "El servidor devuelve 500 porque falta la variable.",
    "Le test échoue parce que la table est vide.",
    "On pourrait utiliser un cache.",
    "It uses a mutex because two goroutines write to the map.",
    "I would suggest Postgres, but it depends on your team.",
    "I ran it with -race and there is no output.",
    "I'll use grep to find the callers.",
    "Now I'll make the function public.",
    "The error happens because the token is missing.",
    "That means the lock isn't taken when the cache is warm.",
    "I'll read the other file as well, since both are involved.",
    "No such table; the migration has not been run.",
    "Should we keep the old table or drop it?",
    "We use Redis for sessions, as far as I can see.",
]

PERSON_DECIDES = [
    ("no, make it a warning", ""),
    ("Postgres. One thing less to run", "Should it be Postgres or a file?"),
    ("the second one", "There are two ways: a trigger, or a job."),
    ("let's keep it simple, no queue", ""),
    ("Let's not do that, too risky before the release", "I could upgrade the driver as well."),
    ("use UTC everywhere, never local time", ""),
    ("go with kustomize", ""),
    ("ok but limit it to 100 rows", ""),
    ("leave it as a warning for now", "Should the check fail or warn?"),
    ("we don't support IE any more", ""),
    ("I'd rather have it in the database", ""),
    ("nimm lieber Postgres", "Redis oder Postgres?"),
    ("Nein, das bleibt in der Config", ""),
    ("wir machen das serverseitig", "Im Browser oder auf dem Server?"),
    ("mejor con cursores", "¿Offsets o cursores?"),
    ("sin caché, los precios cambian mucho", ""),
    ("on garde l'ancien format encore un an", ""),
    ("non, plutôt une table à part", ""),
    ("option 2", "1. Cache it.\n2. Compute it each time.\nWhich one?"),
    ("B, but with a limit", "Option A: queue. Option B: direct call. Which do you prefer?"),
    ("30 days, as in the contract", "How long should tokens live, 7 or 30 days?"),
    ("forget the plugin idea, ship it as one binary", ""),
    ("skip windows support", ""),
    ("both, but email first", "Should I do e-mail or SMS?"),
]
"""What the person says, and what the agent said last."""

PERSON_DECIDES_NOTHING = [
    ("ok do it", "I'd go with Postgres rather than Redis."),
    ("the login page shows no error", ""),
    ("can you use a set instead of a list?", ""),
    ("fix the tests", ""),
    ("why does it keep the connection?", ""),
    ("users want to export as csv", ""),
    ("add a flag to skip the tests", ""),
    ("run the tests again", ""),
    ("looks good, commit", "Should I commit or wait?"),
    ("there is no result when I search for foo", ""),
    ("rename foo to bar, foo is taken", ""),
    ("the dialog stays open after saving", ""),
    ("Warum bleibt der Dialog offen?", ""),
    ("füge einen Test hinzu", ""),
    ("añade un test", ""),
    ("ajoute un test pour le parser", ""),
    ("the upload fails with large files, use the log to find out", ""),
    ("thanks, that works", ""),
    ("now do the same for the invoices page", ""),
    ("write a migration for it", "I've chosen a separate table."),
    ("show me the diff", "Either A or B works."),
]


@pytest.mark.parametrize("said", DECIDES)
def test_an_agent_that_chooses_a_way_decides(said: str) -> None:
    chosen, because = decision_in(f"All tests pass.\n\n{said}")
    assert chosen
    assert because == said


@pytest.mark.parametrize("said", DECIDES_NOTHING)
def test_what_an_agent_does_finds_or_weighs_is_no_decision(said: str) -> None:
    assert decision_in(said) == ("", "")


@pytest.mark.parametrize(("prompt", "asked"), PERSON_DECIDES)
def test_a_person_that_chooses_or_answers_a_choice_decides(prompt: str, asked: str) -> None:
    chosen, because = decision_of_person(prompt, asked)
    assert chosen
    assert prompt in because


@pytest.mark.parametrize(("prompt", "asked"), PERSON_DECIDES_NOTHING)
def test_a_task_a_question_and_going_ahead_are_no_decision(prompt: str, asked: str) -> None:
    assert decision_of_person(prompt, asked) == ("", "")

"""The address of a commit on the forge that a remote names.

1. Every way of writing the remote of a forge gives one address, without who logs in.
2. What is no forge, or no ordinary host and path, gives none.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from git_repositories import Repository
from mem_search.git.marks import commit_url_prefix, commit_url_prefix_of
from mem_search.git.places import find


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://github.com/Ada/engine.git", "https://github.com/Ada/engine/commit/"),
        ("git@github.com:Ada/engine.git", "https://github.com/Ada/engine/commit/"),
        ("ssh://git@github.com:22/Ada/engine", "https://github.com/Ada/engine/commit/"),
        ("ssh://git@ssh.github.com:443/Ada/engine.git", "https://github.com/Ada/engine/commit/"),
        ("git://github.com/Ada/engine.git/", "https://github.com/Ada/engine/commit/"),
        ("https://ada:ghp_0123@github.com/Ada/e.git", "https://github.com/Ada/e/commit/"),
        ("https://oauth2:tok@en@gitlab.com/a/b.git", ""),
        ("https://x-token@gitlab.com/team/sub/e", "https://gitlab.com/team/sub/e/-/commit/"),
        ("git@gitlab.example.org:team/e.git", "https://gitlab.example.org/team/e/-/commit/"),
        (
            "https://gitlab.example.org:8443/t/e.git",
            "https://gitlab.example.org:8443/t/e/-/commit/",
        ),
        ("https://codeberg.org/ada/e", "https://codeberg.org/ada/e/commit/"),
        ("https://gitea.example.org/ada/e.git", "https://gitea.example.org/ada/e/commit/"),
        ("git@bitbucket.org:ada/e.git", "https://bitbucket.org/ada/e/commits/"),
        ("git@git.sr.ht:~ada/e", "https://git.sr.ht/~ada/e/commit/"),
    ],
)
def test_a_remote_names_the_address_of_its_commits(url: str, wanted: str) -> None:
    assert commit_url_prefix_of(url) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/git/engine.git",
        "../engine",
        "file:///srv/github.com/a/b",
        "https://example.org/ada/engine.git",  # nobody knows what runs there
        "https://github.com/engine",
        "https://github.com/ada/../../login",
        "https://github.com/ada/engine?next=javascript:alert(1)",
        "https://github.com/ada/engine#x",
        "https://github.com/ada/en gine",
        "https://github.com/ada/\x1b[31mengine",
        "https://github.com\n.evil.example/ada/engine",
        "https://gith\u0443b.com/github/engine",
        "https://github/ada/engine",
        "javascript://github.com/ada/engine",
        "ext::sh -c github.com/a/b",
        f"https://github.com/{'a/' * 5_000}b",
    ],
)
def test_what_names_no_forge_has_no_address(url: str) -> None:
    assert commit_url_prefix_of(url) == ""


def test_a_password_is_in_no_address() -> None:
    for url in ("https://ada:s3cret@github.com/a/b", "ssh://ada:s3cret@gitlab.com/a/b"):
        assert commit_url_prefix_of(url)
        assert "s3cret" not in commit_url_prefix_of(url)


def test_origin_counts_before_other_remotes_and_a_forge_before_a_folder(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "engine")
    repo.commit("one", "a")
    repo.run("remote", "add", "backup", "git@github.com:ada/backup.git")
    repo.run("remote", "add", "origin", "/srv/git/engine.git")
    place = find(repo.path)
    assert place is not None
    assert commit_url_prefix(place) == "https://github.com/ada/backup/commit/"
    repo.run("remote", "set-url", "origin", "git@github.com:ada/engine.git")
    assert commit_url_prefix(place) == "https://github.com/ada/engine/commit/"

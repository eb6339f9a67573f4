"""The text that a web page was opened for: an article, the posts of a thread, a description.

Headings are written as in Markdown, so that passages begin where sections do.

Trafilatura finds articles. It leaves out the replies of a thread, and most of a page that is no
article. So threads are read by the marks of the software that wrote them, and where trafilatura
takes only a small part of the page, the main region is read without its furniture. How the limits
were chosen is in docs/lab/reading.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any, Final

from mem_search.patterns import pattern

BLOCKS: Final = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5"
    " h6 header hr li main nav ol p pre section summary table td th tr ul title".split()
)
SILENT: Final = frozenset(("script", "style", "noscript", "template", "svg"))

_HEADING: Final = pattern(
    r"(<h([1-6])\b[^<>]{0,500}>)((?:(?!</?h[1-6]\b).){1,1000})(?=</h[1-6])",
    re.IGNORECASE | re.DOTALL,
)
_TAG: Final = pattern(r"<[^<>]*>")
_ANY_TAG: Final = pattern(r"<([/!?])?([a-zA-Z][\w-]{0,20})?[^<>]*>")
_NOT_SHOWN: Final = SILENT | {"head", "select", "textarea", "title"}
_WITHIN_WORDS: Final = frozenset(
    "a abbr b bdi em font i mark small span strong sub sup u wbr".split()
)

_MIN_RECALL_SHARE: Final = 0.8
_MAX_RECALL_SHARE: Final = 3.0
"""Trafilatura's text for recall is taken unless it is shorter than this share of its balanced one,
or, on a page that does not say that it is an article, longer than this multiple."""

_SMALL_PART: Final = 0.5
"""A text that is a smaller share of the main region is not what the page was opened for."""

_MIN_POSTS_SHARE: Final = 0.5
"""The share of trafilatura's text that the posts of a thread have at least."""

_LINKS: Final = 0.6
_MAX_MENU_CHARS: Final = 2000
"""A block is a menu when so much of it is links and it has fewer characters than this."""

_LIST: Final = 1.5
"""A region that is so many times as long with its blocks of links is a list: of products, of pages,
of results. Then the links are what the page was opened for."""

_SHORT: Final = 600
"""Trafilatura takes furniture with a text that has fewer characters."""

_MIN_ARTICLE_CHARS: Final = 200
"""Characters of an ``article`` element that is the main region, or of what is found of an article:
what is shorter is a teaser."""

_ARTICLES: Final = frozenset(
    "article newsarticle blogposting reportagenewsarticle opinionnewsarticle techarticle"
    " scholarlyarticle howto recipe".split()
)
_TYPES: Final = pattern(r'"@type"\s*:\s*\[?\s*"(\w{1,40})"')

_FURNITURE: Final = pattern(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|breadcrumbs?|side-?bar|footer|cookies?|consent"
    r"|gdpr|banner|ads?|advert\w*|promo\w*|sponsor\w*|newsletter|subscri\w+|sign-?up|shar(?:e|ing)"
    r"|social|related|relatives|recommend\w*|popular|trending|widget|pagination|pager|toolbar|popup"
    r"|modal|login|toc|skip|hidden|sr-only|visually-hidden|noprint|copyright|masthead|search\w*"
    r"|dropdown|off-?canvas|drawer|cart|wishlist|editsection|jump-link|navbox|catlinks|printfooter"
    r"|headerlink|comments?|respond|votes|meta|byline|metadata|signature)(?:$|[\s_-])",
    re.IGNORECASE,
)
_TAGS: Final = SILENT | frozenset(
    "nav aside footer form button select iframe object input textarea dialog canvas".split()
)
_ROLES: Final = frozenset(
    "navigation complementary contentinfo search dialog alertdialog menu menubar banner".split()
)


_SHOWING: Final = pattern(r"<(iframe|input|img)\b[^<>]{1,20000}>", re.IGNORECASE)
_ATTRIBUTE: Final = pattern(
    r"(?<=[\s\"'])(srcdoc|type|value|alt)\s?=\s?(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))",
    re.IGNORECASE,
)
_TYPED: Final = ("text", "email", "tel", "number", "date", "url", "search")


def _classed(*names: str) -> str:
    tests = (f'contains(concat(" ", normalize-space(@class), " "), " {name} ")' for name in names)
    return f"[{' or '.join(tests)}]"


_POSTS: Final = (
    f".//*{_classed('js-post-body')}",  # Stack Exchange
    f".//*{_classed('postbody')}//*{_classed('content')}",  # phpBB
    f".//*{_classed('bbWrapper')}",  # XenForo
    ".//*[starts-with(@id, 'post_message_')]",  # vBulletin
    ".//div[@class='inner' and starts-with(@id, 'msg_')]",  # Simple Machines
    f".//*{_classed('post_body')}",  # MyBB
    ".//*[@data-role='commentContent']",  # Invision
    f".//*{_classed('cPost_contentWrap')}",  # Invision without roles
    f".//*{_classed('cooked')}",  # Discourse
    f".//*{_classed('crawler-post')}//*{_classed('post')}",  # Discourse without scripts
    f".//*{_classed('Post-body')}",  # Flarum
    f".//*{_classed('bbp-reply-content', 'bbp-topic-content')}",  # bbPress
    f".//*{_classed('lia-message-body-content')}",  # Khoros
    f".//*{_classed('js-comment-body')}",  # GitHub
    ".//*[@data-testid='markdown-body']",  # GitHub's issues
    f".//*{_classed('note-text')}",  # GitLab
    f".//*{_classed('entry')}//*{_classed('usertext-body')}",  # old Reddit
    ".//*[@slot='text-body' or @slot='comment']",  # Reddit
    f".//*{_classed('commtext')}",  # Hacker News
    f".//*{_classed('comment_text')}",  # Lobsters
    f".//*{_classed('userContent')}",  # Vanilla
    f".//*{_classed('messageText')}",  # WoltLab
    f".//*{_classed('postmsg')}",  # FluxBB, PunBB
    f".//*{_classed('js-post__content-text')}",  # vBulletin 5
    ".//*[starts-with(@id, 'postmessage_')]",  # Discuz!
    ".//*[@component='post/content']",  # NodeBB
    f".//*{_classed('jive-rendered-content')}",  # Jive
    f".//*{_classed('forum_op')}//*{_classed('content')}"
    f" | .//*{_classed('commentthread_comment_text')}",  # Steam
)
"""Where a post stands in the pages of each forum software."""
_SCHEMA_POSTS: Final = ".//*[@itemprop='text' and not(self::meta)]"

_QUOTED: Final = (
    ".//blockquote[@class or .//cite] | .//aside[contains(@class, 'quote')]"
    f" | .//*{_classed('signature', 'quotetitle', 'quotecontent')}"
)
"""Inside a post: what another post says already, and signatures."""


def main_text(page: str) -> str:
    """The main text of a page of HTML; empty for a page without any text. Takes linear time."""
    import trafilatura

    page = with_headings(page)
    options: Any = {"include_comments": False, "include_tables": True}
    balanced = _text(trafilatura.bare_extraction(page, **options))
    wide = _text(trafilatura.bare_extraction(page, favor_recall=True, **options))
    is_article = _says_article(page)
    within = is_article or len(wide) < _MAX_RECALL_SHARE * len(balanced)
    text = wide if within and len(wide) >= _MIN_RECALL_SHARE * len(balanced) else balanced
    root = parsed(page)
    if root is None:
        return text
    # Forums say that they are articles, too; their marks are not those of schema.org alone.
    posts = _posts(root, _POSTS if is_article else (*_POSTS, _SCHEMA_POSTS))
    are_most = len(posts) >= max(1, _MIN_POSTS_SHARE * len(text))
    if are_most and (not is_article or _is_thread(text, posts)):
        return posts
    everything = _lines(root)
    is_short = len(text) < _SHORT
    if is_short or not is_article:
        region = _region(root)
        if region and (is_short or len(text) < _SMALL_PART * len(region)):
            text = region
    return text or everything


def plain_text(page: str) -> str:
    """All text of a page, a line for each block; empty for a page without any."""
    root = parsed(with_headings(with_values(page)))
    return "" if root is None else _lines(root)


def with_values(page: str, *, pictures: bool = True) -> str:
    """The page with what its attributes show as text: pages in frames, what was typed into fields,
    and, of ``pictures``, what stands in their place."""

    def shown(tag: re.Match[str]) -> str:
        name = tag[1].lower()
        said: dict[str, str] = {}
        for key, double, single, bare in _ATTRIBUTE.findall(tag[0]):
            said.setdefault(key.lower(), double or single or bare)
        match name:
            case "iframe":
                return f"{tag[0]}</iframe><div>{unescape(said.get('srcdoc', ''))}</div><iframe>"
            case "input" if said.get("type", "text").lower() in _TYPED:
                return f"{tag[0]}<span> {said.get('value', '')} </span>"
            case "img" if pictures:
                return f"{tag[0]}<span> {said.get('alt', '')} </span>"
        return tag[0]

    return _SHOWING.sub(shown, page)


def visible_words(page: str) -> str:
    """The words of a page by a plain pass over its tags: the second count of what is read."""
    page = with_values(page)
    pieces: list[str] = []
    at, silent = 0, ""
    body = _without_comments(page[max(0, page.lower().find("<body")) :])
    for tag in _ANY_TAG.finditer(body):
        name = (tag[2] or "").lower()
        if not silent:
            pieces += (body[at : tag.start()], "" if name in _WITHIN_WORDS else " ")
            silent = name if name in _NOT_SHOWN and not tag[1] else ""
        elif tag[1] == "/" and name == silent:
            silent = ""
        at = tag.end()
    return unescape("".join([*pieces, "" if silent else body[at:]]))


def _without_comments(page: str) -> str:
    pieces, at = [], 0
    while (start := page.find("<!--", at)) >= 0:
        pieces.append(page[at:start])
        end = page.find("-->", start)
        at = end + 3 if end >= 0 else len(page)
    return "".join([*pieces, page[at:]])


def with_headings(page: str) -> str:
    """The page with the sign of Markdown in the text of each heading that has words."""

    def marked(heading: re.Match[str]) -> str:
        tag, level, words = heading.groups()
        return f"{tag}{'#' * int(level)} {words}" if _TAG.sub("", words).strip() else heading[0]

    return _HEADING.sub(marked, page)


def parsed(page: str) -> Any:
    """The root element of a page; None for a page without elements."""
    from lxml import etree, html

    try:
        # Without libxml2's limit of depth, a hostile page takes minutes; with it, its end is lost.
        root = html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*>", "", page))
    except (etree.ParserError, ValueError):
        return None
    return root


def _text(document: Any) -> str:
    return (document.text or "") if document is not None else ""


def _says_article(page: str) -> bool:
    head = page[:200_000]
    if re.search(r"""og:type["'][^>]{0,80}["']article["']""", head):
        return True
    return any(match[1].lower() in _ARTICLES for match in _TYPES.finditer(head))


def _posts(root: Any, places: Iterable[str]) -> str:
    """The posts of a thread in their order, without what they quote of each other."""
    best = ""
    for where in places:
        posts = root.xpath(where)
        if not posts:
            continue
        inner = set(posts)
        outer = [post for post in posts if inner.isdisjoint(post.iterancestors())]
        for post in outer:
            for quoted in post.xpath(_QUOTED):
                if quoted.getparent() is not None and quoted is not post:
                    quoted.drop_tree()
        best = max(best, "\n\n".join(filter(None, map(_lines, outer))), key=len)
    if not best:
        return ""
    title = " ".join("".join(heading.itertext()) for heading in root.iter("h1")).split()
    return f"{' '.join(title)}\n{best}" if title else best


def _is_thread(article: str, posts: str) -> bool:
    """Whether ``posts`` have what ``article`` says, which the comments below an article do not."""
    longest = " ".join(max(article.split("\n"), key=len).split())
    if len(article) < _MIN_ARTICLE_CHARS or longest in posts:
        return True
    # A row of a table has the name of the author before the post.
    return any(len(line) > len(longest) / 2 and line in longest for line in posts.split("\n"))


def _region(root: Any) -> str:
    """The text of the main region, else of the body, without what is furniture by its name."""
    body = root.find("body")
    if body is None:
        return ""
    regions = body.xpath(".//main | .//*[@role='main']")
    chosen = regions[0] if len(regions) == 1 else body
    articles = chosen.xpath(".//article[not(ancestor::article)]")
    if len(articles) == 1 and len(_lines(articles[0])) > _MIN_ARTICLE_CHARS:
        chosen = articles[0]
    for element in [each for each in chosen.iterdescendants() if _is_furniture(each)]:
        if element.getparent() is not None:
            element.drop_tree()
    whole = _lines(chosen)
    size: dict[Any, tuple[int, int]] = {}
    for _, element in _walked(chosen, ("end",)):
        own = len((element.text or "").strip()) if isinstance(element.tag, str) else 0
        links = 0
        for child in element:
            inside, linked = size.pop(child, (0, 0))
            own += inside + len((child.tail or "").strip())
            links += linked
        size[element] = (own, own if element.tag == "a" else links)
        many = own and links > _LINKS * own and own < _MAX_MENU_CHARS
        if many and element is not chosen and element.tag in ("ul", "ol", "div", "section"):
            size[element] = (0, 0)
            for child in list(element):
                element.remove(child)
            element.text = None
    without_links = _lines(chosen)
    return whole if len(whole) > _LIST * len(without_links) else without_links


def _is_furniture(element: Any) -> bool:
    if not isinstance(element.tag, str):
        return False
    if element.tag in _TAGS or element.get("role") in _ROLES or element.get("hidden") is not None:
        return True
    style = (element.get("style") or "").replace(" ", "").lower()
    if "display:none" in style or "visibility:hidden" in style:
        return True
    named = f"{element.get('class') or ''} {element.get('id') or ''}"
    return element.tag not in ("main", "article") and bool(_FURNITURE.search(named))


def _walked(root: Any, events: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    from lxml import etree

    return iter(etree.iterwalk(root, events=events))


def _lines(root: Any) -> str:
    """The text below an element, a line for each block. The element's tail is not part of it."""
    pieces: list[str] = []
    silent = 0
    for event, element in _walked(root, ("start", "end", "comment", "pi")):
        named = isinstance(element.tag, str)
        if event == "start":
            silent += element.tag in SILENT
        elif event == "end":
            silent -= element.tag in SILENT
        if event in ("start", "end") and element.tag in BLOCKS:
            pieces.append("\n")
        said = element.text if event == "start" else element.tail if element is not root else None
        if said and not silent and (named or event != "start"):
            pieces.append(_spaced(said))
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)


def _spaced(text: str) -> str:
    """``text`` with single spaces, also where it begins or ends with some."""
    words = " ".join(text.split())
    return f"{' ' * text[0].isspace()}{words}{' ' * text[-1].isspace()}" if words else " "

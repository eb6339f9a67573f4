"""Word pieces of the uncased English BERT vocabulary, as the embedding model reads text.

The vocabulary is a file beside this module, read at the first call (about 50 ms). ``spans`` and
``count`` cut passages, ``encode`` is for the bundled embedder, which adds padding, truncation and
special tokens; those are never counted here.

    >>> [("unbelievable!"[a:b]) for a, b in spans("unbelievable!")]
    ['unbelievable', '!']
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mem_search.patterns import pattern

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY: Final = Path(__file__).parent / "data" / "vocab.txt"
UNKNOWN: Final = 100
START: Final = 101
END: Final = 102

_BLOCK = 100_000
"""Characters read at once: the tokenizer needs about 100 bytes for each, until it is done."""

_BREAK = pattern(r"[\s!-/:-@\[-`{-~\u2010-\u2027\u3001-\u3011\u4e00-\u9fff\uff01-\uff0f]")
"""Before one of these a text may be divided: white space, punctuation and ideographs are never part
of a word with what is before them. Not all of them: one is in every long text but a single word."""
_MAX_WORD_CHARS = 100
_SURROGATE = pattern("[\ud800-\udfff]")


def encode(texts: Sequence[str]) -> list[list[int]]:
    """The piece numbers of each whole text, without START and END.

    Text that looks like a special token (``[SEP]``) is ordinary text.
    """
    encodings = _tokenizer().encode_batch_fast(
        [_encodable(text) for text in texts], add_special_tokens=False
    )
    return [encoding.ids for encoding in encodings]


def spans(text: str) -> list[tuple[int, int]]:
    """The span of each piece, ``text[start:end]``, in order; as many as ``count(text)``.

    A piece includes the combining marks that follow it, so no cut separates a letter from its
    accent. Pieces of one character (a Hangul syllable, ``½``) share its span; other spans do not
    overlap.
    """
    offsets: list[tuple[int, int]] = []
    for first, block in _blocks(_encodable(text)):
        pieces = _tokenizer().encode(block, add_special_tokens=False).offsets
        offsets += pieces if not first else [(first + start, first + end) for start, end in pieces]
    if text.isascii():
        return offsets
    return [(start, _past_marks(text, end)) for start, end in offsets]


_ENDINGS: Final = frozenset({"##ing", "##ed", "##er", "##ers", "##ly", "##s", "##es"})


def is_word(word: str) -> bool:
    """Whether the vocabulary has ``word`` as a whole or with an ending: most English words."""
    if len(word) > _MAX_WORD_CHARS:
        return False
    pieces = _tokenizer().encode(_encodable(word), add_special_tokens=False).tokens
    return len(pieces) == 1 or (len(pieces) == 2 and pieces[1] in _ENDINGS)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a long text with their starts. No word is cut."""
    start = 0
    while len(text) - start > _BLOCK and (gap := _BREAK.search(text, start + _BLOCK)):
        yield start, text[start : gap.start()]
        start = gap.start()
    yield start, text[start:] if start else text


def count(text: str) -> int:
    """How many pieces the text has."""
    return sum(
        len(_tokenizer().encode(block, add_special_tokens=False).ids)
        for _, block in _blocks(_encodable(text))
    )


def _encodable(text: str) -> str:
    # JSON may contain a lone surrogate, which UTF-8 cannot encode. The replacement has the same
    # length, so offsets stay correct.
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _past_marks(text: str, end: int) -> int:
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end


@cache
def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    pieces = VOCABULARY.read_text("utf-8").splitlines()
    tokenizer = Tokenizer(
        WordPiece(
            {piece: number for number, piece in enumerate(pieces)},
            unk_token="[UNK]",  # noqa: S106  a piece, not a password
            max_input_chars_per_word=_MAX_WORD_CHARS,
        )
    )
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer

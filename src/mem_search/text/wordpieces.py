"""Text as the embedding model reads it: word pieces of the uncased English BERT vocabulary.

Pure: the vocabulary lies beside this module and is read at the first call (about 50 ms).
Passages are cut by ``spans`` and ``count``; the bundled embedder reads ``encode``. Padding,
truncation and the marks around a text belong to the embedder and are never counted here.

    >>> [("unbelievable!"[a:b]) for a, b in spans("unbelievable!")]
    ['unbelievable', '!']
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY: Final = Path(__file__).parent / "data" / "vocab.txt"
UNKNOWN: Final = 100
START: Final = 101
END: Final = 102

_LONGEST_WORD = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(texts: Sequence[str]) -> list[list[int]]:
    """The piece numbers of each text, as long as the text is, without START and END.

    Text that looks like a control token (``[SEP]``) is ordinary text and cannot forge one.
    """
    found = _tokenizer().encode_batch_fast(
        [_encodable(text) for text in texts], add_special_tokens=False
    )
    return [encoding.ids for encoding in found]


def spans(text: str) -> list[tuple[int, int]]:
    """Where each piece lies: ``text[start:end]``, in order; as many as ``count(text)``.

    A piece keeps the combining marks that follow it, so no cut parts a letter from its
    accent. Pieces made from one character (a Hangul syllable, ``½``) share its span; apart
    from that spans do not overlap.
    """
    offsets = _tokenizer().encode(_encodable(text), add_special_tokens=False).offsets
    if text.isascii():
        return offsets
    return [(start, _past_marks(text, end)) for start, end in offsets]


def count(text: str) -> int:
    """How many pieces the text has."""
    return len(_tokenizer().encode(_encodable(text), add_special_tokens=False).ids)


def _encodable(text: str) -> str:
    # JSON may carry half a surrogate pair, which UTF-8 cannot. The replacement has the same
    # length, so offsets stay true.
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
            max_input_chars_per_word=_LONGEST_WORD,
        )
    )
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer

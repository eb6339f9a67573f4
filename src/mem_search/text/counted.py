"""Numbers with their nouns: ``1 record``, ``2 records``."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """``number`` and its noun, in the plural unless it is one."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"

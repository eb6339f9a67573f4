from mem_search.text.content_lines import components


def one(text: bytes):
    (found,) = components(text)
    return found


def test_a_fold_may_cut_a_character_in_two() -> None:
    word = "Gebührenbescheid".encode()
    at = word.index(b"\xc3") + 1
    lines = b"BEGIN:X\r\nNOTE:" + word[:at] + b"\r\n " + word[at:] + b"\r\nEND:X\r\n"
    assert one(lines).text("NOTE") == "Gebührenbescheid"


def test_quoted_printable_goes_on_after_a_soft_line_break() -> None:
    lines = b"BEGIN:X\nNOTE;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Gr=FC=\n=DFe=0D=0Azweite\nEND:X"
    assert one(lines).text("NOTE") == "Grüße\r\nzweite"


def test_escapes_and_fields() -> None:
    found = one(b"BEGIN:X\nADR;TYPE=home,pref:;;Quay 5\\, left\\; rear;Kiel\nEND:X").all("ADR")[0]
    assert found.parts() == ["", "", "Quay 5, left; rear", "Kiel"]
    assert found.types == ["home"]


def test_quoted_parameters_may_have_colons() -> None:
    found = one(b'BEGIN:X\nATTENDEE;CN="Ada: the first":mailto:a@b.example\nEND:X')
    (person,) = found.all("ATTENDEE")
    assert (person.text, person.parameters["CN"]) == ("mailto:a@b.example", ["Ada: the first"])


def test_a_picture_is_no_text() -> None:
    lines = b"BEGIN:X\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ\nSkZJRgAB\n\nLOGO:data:image/png;base64,i\nEND:X"
    assert [each.is_binary for each in one(lines).properties] == [True, True]
    assert len(one(lines).properties) == 2

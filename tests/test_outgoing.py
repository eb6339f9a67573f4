"""Allowed receivers: every way to write, wrap or resolve an address that is not allowed."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.outgoing import (
    CheckedResolver,
    RefusedReceiver,
    check_url,
    is_near,
    is_public,
)

PUBLIC = """
    93.184.216.34 8.8.8.8 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1
""".split()
NOT_PUBLIC = """
    127.0.0.1 127.255.255.254 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1
    192.0.0.1 192.0.0.8 192.0.0.192 168.63.129.16 192.0.0.255 192.31.196.1 192.52.193.1
    192.88.99.1 192.175.48.1 198.18.0.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1
    ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
    64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 2002:7f00:1:: 2002:a00:1::1
    2001:0:7f00:1::f7f7:f7f7 2001:db8::1 2001:4:112::1 2001:2::1 2001:20::1 2620:4f:8000::1
    3fff::1 5f00::1 100::1 64:ff9b::c000:c0 ::ffff:192.0.0.192 2002:c000:c0::1 fc00::1
    fd00:ec2::254 fe80::1 fec0::1 ff02::1 ff0e::1 4000::1
""".split()


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_on_the_internet_is_allowed(address: str) -> None:
    assert is_public(ip_address(address))
    check_url(f"https://{f'[{address}]' if ':' in address else address}/hook")


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_nearer_than_the_internet_is_refused(address: str) -> None:
    assert not is_public(ip_address(address))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(RefusedReceiver, match="not an address on the internet"):
        check_url(f"http://{host}:9000/hook")


@given(st.ip_addresses(v=4).filter(lambda address: not is_public(address)))
def test_whatever_is_not_public_is_not_public_wrapped_either(address: IPv4Address) -> None:
    number = int(address)
    assert not is_public(IPv6Address((0xFFFF << 32) | number))
    assert not is_public(IPv6Address((0x0064FF9B << 96) | number))
    assert not is_public(IPv6Address((0x2002 << 112) | (number << 80)))
    assert not is_public(IPv6Address((0x20010000 << 96) | (0xFFFFFFFF ^ number)))
    assert not is_public(IPv6Address(number))


SPECIAL = (
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32",
    "192.0.0.10/32", "192.0.0.170/31", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32", "224.0.0.0/4", "::1/128", "::/128",
    "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128",
    "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48",
    "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2620:4f:8000::/48",
    "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "ff00::/8",
)  # fmt: skip
"""IANA's registries of special addresses as of 2025-10, with multicast; 6to4 and NAT64 are tested
by what they have inside.
"""


@given(st.sampled_from(SPECIAL), st.floats(0, 1))
def test_nothing_of_the_registries_of_special_addresses_is_public(text: str, part: float) -> None:
    network = ip_network(text)
    first, last = int(network[0]), int(network[-1])
    for number in (first, min(last, first + int(part * (last - first))), last):
        assert not is_public(type(network[0])(number))


@given(st.ip_addresses())
def test_what_python_knows_not_to_be_global_is_not_public(
    address: IPv4Address | IPv6Address,
) -> None:
    wraps = isinstance(address, IPv6Address) and (
        address.ipv4_mapped or address.sixtofour or address in ip_network("64:ff9b::/96")
    )
    assert wraps or address.is_global or not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_is_as_public_wrapped_as_it_is_plain(address: IPv4Address) -> None:
    number = int(address)
    for wrapped in ((0xFFFF << 32) | number, (0x0064FF9B << 96) | number,
                    (0x2002 << 112) | (number << 80)):  # fmt: skip
        assert is_public(IPv6Address(wrapped)) == is_public(address)


@given(st.ip_addresses())
def test_no_address_is_both_near_and_public(address: IPv4Address | IPv6Address) -> None:
    assert not (is_near(address) and is_public(address))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "must begin with"),
        ("ftp://example.org/", "must begin with"),
        ("file:///etc/passwd", "must begin with"),
        ("gopher://example.org/", "must begin with"),
        ("//example.org/", "must begin with"),
        ("https:///path", "must begin with"),
        ("https://example.org:0/", "must begin with"),
        ("https://example.org:99999/", "not a URL"),
        ("https://[::1/", "not a URL"),
        ("http://me:secret@example.org/", "name or password"),
        ("http://example.org@127.0.0.1/", "name or password"),
        ("http://example.org/a b", "spaces"),
        ("http://example.org/\r\nHost: other", "spaces"),
        (f"https://example.org/{'a' * 2000}", "longer than"),
        ("http://127.1/", "not an address"),
        ("http://2130706433/", "not an address"),
        ("http://0177.0.0.1/", "not an address"),
        ("http://1.2.3.4.5/", "not an address"),
        ("http://0x7f.1/", "not an address"),
        ("http://0x7F000001/", "not an address"),
        ("http://127.0.0.0x1/", "not an address"),
        ("http://127.0.0.1./", "not an address"),
        ("http://localhost/", "machine or network"),
        ("http://LOCALHOST:80/", "machine or network"),
        ("http://localhost./", "machine or network"),
        ("http://a.localhost/", "machine or network"),
        ("http://printer.local/", "machine or network"),
        ("http://metadata.google.internal/", "machine or network"),
        ("http://intranet/", "machine or network"),
    ],
)
def test_an_unusable_url_is_refused_when_it_is_saved(url: str, said: str) -> None:
    with pytest.raises(RefusedReceiver, match=said) as refused:
        check_url(url)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:9000/x", "127.0.0.1:9000"),
        ("http://[::1]:9000/", "[::1]:9000"),
        ("http://LocalHost:9000/", "localhost:9000"),
        ("http://10.1.2.3/", "10.1.2.3:80"),
        ("https://nas.local/", "nas.local:443"),
    ],
)
def test_a_near_receiver_is_fine_when_it_is_named_with_its_port(url: str, allowed: str) -> None:
    assert str(check_url(url, [allowed])) == url.lower()
    for other in ("127.0.0.1:9001", "127.0.0.1", "10.1.2.3:8080", "*"):
        with pytest.raises(RefusedReceiver):
            check_url(url, [other])


@pytest.mark.parametrize("host", ["169.254.169.254", "0.0.0.0", "224.0.0.1", "[fe80::1]", "[::]"])
def test_what_is_no_receiver_at_all_is_refused_even_when_it_is_named(host: str) -> None:
    with pytest.raises(RefusedReceiver, match="cannot be allowed") as refused:
        check_url(f"http://{host}:80/", [f"{host}:80"])
    assert "MEM_SEARCH_WEBHOOK_ALLOW" not in refused.value.message


async def test_a_name_is_refused_when_any_of_its_addresses_is() -> None:
    found = {"good.example": ["93.184.216.34", "2606:4700::1111"]}

    async def lookup(host: str, port: int) -> list[str]:
        return found[host]

    resolver = CheckedResolver((), lookup)
    assert [row["host"] for row in await resolver.resolve("good.example", 443)] == [
        "93.184.216.34",
        "2606:4700::1111",
    ]
    for address in NOT_PUBLIC:
        found["mixed.example"] = ["93.184.216.34", address]
        with pytest.raises(RefusedReceiver, match=r"mixed\.example resolves to"):
            await resolver.resolve("mixed.example", 443)
    found["nothing.example"] = []
    with pytest.raises(OSError, match="no address"):
        await resolver.resolve("nothing.example", 443)


async def test_names_of_this_machine_are_looked_up_and_refused() -> None:
    resolver = CheckedResolver(())
    for name in ("localhost", "0x7f.1"):
        with pytest.raises(RefusedReceiver):
            await resolver.resolve(name, 80)
    allowed = CheckedResolver(("localhost:80",))
    assert {row["host"] for row in await allowed.resolve("localhost", 80)} <= {"127.0.0.1", "::1"}

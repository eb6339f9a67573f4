"""A headless Chromium, driven by Selenium."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def chromium(width: int, height: int, *arguments: str) -> Iterator[Any]:
    """A browser with a window of this size. Ends the program where there is none."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        sys.exit("this needs a browser: install chromium and chromedriver")
    from selenium import webdriver  # a second, only for who opens a browser

    options = webdriver.ChromeOptions()
    options.binary_location = program
    size = f"window-size={width},{height}"
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", size, *arguments):
        options.add_argument(f"--{argument}")
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield found
    finally:
        found.quit()

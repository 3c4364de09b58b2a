"""README's first example as a recorded terminal: the site's build runs it, and README has to say what it prints."""

import fcntl
import os
import re
import struct
import subprocess
import termios
from html import escape
from pathlib import Path

COLUMNS, ROWS = 100, 40
BLOCK = re.compile(r"```console\n\$ ((?:.*\\\n)*.*\n)((?:.*\n)*?)```")
PICTURE = re.compile(r"<p><img [^>]*efficiency\.svg[^>]*></p>\n?")


def record(command: str, ckselect: Path, folder: Path) -> str:
    """What a shell prints on a terminal."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    paths = f"{ckselect.resolve().parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": paths, "HOME": os.environ.get("HOME", "/"), "TERM": "xterm-256color"}
    with subprocess.Popen(["sh", "-c", command], cwd=folder, env=environment, stdin=its, stdout=its, stderr=its):
        os.close(its)
        printed = b""
        try:
            while more := os.read(ours, 1 << 16):
                printed += more
        except OSError:  # how Linux says that the other end is closed
            pass
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


def first_screen(readme: str, body: str, ckselect: Path, folder: Path) -> tuple[str, list[str]]:
    """README's rendered body with the recording and the picture below it, and what is wrong with README."""
    command, written = BLOCK.search(readme).groups()
    recorded = record(command, ckselect, folder)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", recorded)
    shown = escape(recorded).replace("\x1b[1m", "<b>").replace("\x1b[0m", "</b>")
    wrong = []
    if plain != written:
        wrong.append(f"README.md: the first example prints otherwise:\n{plain}")
    if "\x1b" in shown:
        wrong.append(f"README.md: the first example has a colour that this page does not know: {recorded!r}")
    terminal = f'<pre class="terminal"><span>$ {escape(command)}</span>{shown}</pre>\n'
    picture = PICTURE.search(body)[0]
    body = re.sub(
        r"<pre>.*?</pre>\n", lambda _: terminal + picture, body.replace(picture, ""), count=1, flags=re.DOTALL
    )
    return body, wrong

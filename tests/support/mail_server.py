"""A mail server of a test: takes every mail on a free port of this machine and keeps it."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class MailServer:
    """The port, and the mails that came."""

    port: int
    mails: list[EmailMessage] = field(default_factory=list)


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Serve SMTP in a thread, without TLS and without a login, as far as ``smtplib`` speaks it."""

    class Session(socketserver.StreamRequestHandler):
        def say(self, words: str) -> None:
            self.wfile.write(f"{words}\r\n".encode())

        def handle(self) -> None:
            self.say("220 test")
            for line in self.rfile:
                command = line[:4].upper()
                if command == b"DATA":
                    self.say("354 go on")
                    lines = iter(self.rfile.readline, b".\r\n")
                    mail = message_from_bytes(b"".join(lines), policy=policy.default)
                    found.mails.append(mail)
                self.say("221 bye" if command == b"QUIT" else "250 ok")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        found = MailServer(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join()

"""The other clients of a block: programs that it starts, and HTTP clients that are not patched.

They are pointed at an HTTP proxy by the variables of the environment. While a block is recorded it
is the tape's own proxy; in replay it is a server that answers from the same calls as the block.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ptycassette.errors import StorageError, UsageError
from ptycassette.inprocess.calls import CallLog, ServedCalls
from ptycassette.system.files.abandoned import temporary_folder

if TYPE_CHECKING:
    from aiohttp import web

    from ptycassette.tape.matching._misses import Miss
    from ptycassette.tape.matching.matcher import Hit
    from ptycassette.tape.matching.question import Question


class Programs:
    """The proxy of a block, while it is entered.

    Attributes:
        environment: variables that point a program at it.
        secrets: what the environment holds that nobody may learn.
        address: host and port, which are others in each recording.
    """

    def __init__(self) -> None:
        if find_spec("aiohttp") is None or find_spec("trustme") is None:
            raise UsageError(
                "recording and answering programs needs more than is installed",
                hint="pip install 'ptycassette[tape]'",
            )
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(temporary_folder())
        self.environment: Mapping[str, str] = {}
        self.secrets: tuple[str, ...] = ()
        self.address = ""

    def close(self) -> None:
        """End it. Does nothing the second time."""
        self._stack.close()


class RecordedPrograms(Programs):
    """Notes the traffic of programs; ``close`` adds it to the log of the block."""

    def __init__(self, log: CallLog, environment: Mapping[str, str]) -> None:
        from ptycassette.tape.consent.terms import ANYWHERE, Terms  # noqa: PLC0415 - few blocks need it
        from ptycassette.tape.io.running_proxy import start_proxy  # noqa: PLC0415

        super().__init__()
        self._log, self._journal = log, self._folder / "tape"
        try:
            self._proxy = start_proxy(
                journal=self._journal,
                proxy_env=True,
                environment=environment,
                # The block itself may ask any provider, so what it starts may do so, too.
                terms=Terms(
                    upstreams=(ANYWHERE,), forbidden=(), unsearched=True, unknown_models=True
                ),
                origin_us=log.origin_us,
            )
        except BaseException:
            self._stack.close()
            raise
        self._stack.callback(self._finish)
        self.environment = self._proxy.environment
        self.secrets, self.address = self._proxy.secrets, self._proxy.address

    def _finish(self) -> None:
        from ptycassette.tape.io.journal_file import TapeJournalReader  # noqa: PLC0415

        self._proxy.close()
        if self._proxy.problem is not None:
            raise StorageError(f"the traffic of a program was not recorded: {self._proxy.problem}")
        with TapeJournalReader(self._journal) as reader:
            self._log.add_items(list(reader.poll()))


class ServedPrograms(Programs):
    """Answers programs from the recording of the block."""

    def __init__(self, served: ServedCalls) -> None:
        from ptycassette.rerun.gates import Gates  # noqa: PLC0415 - few blocks need it
        from ptycassette.rerun.io.tape_server import TapeServer  # noqa: PLC0415
        from ptycassette.tape.io.running_proxy import proxy_variables  # noqa: PLC0415

        super().__init__()

        class Server(TapeServer):
            async def ask(self, request: web.Request, question: Question) -> Hit | Miss:
                del request
                return served.ask_question(question)

        ca_file = self._folder / "ca.pem"
        server = Server(Gates([]), ca_file=ca_file)
        server.desk = served.desk
        try:
            self._stack.enter_context(server)
        except BaseException:
            self._stack.close()
            raise
        self.environment = proxy_variables(None, proxy=server.proxy, ca=str(ca_file))
        self.address = urlsplit(server.proxy).netloc.rpartition("@")[2]

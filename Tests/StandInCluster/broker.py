"""One address of the cluster."""

import asyncio
import contextlib
import random
import struct
import traceback

import requests

# Kafka's default of socket.request.max.bytes.
_GREATEST_REQUEST = 104_857_600


class Broker:
    """All share what they know; each answers for what it leads."""

    host = "127.0.0.1"

    def __init__(self, cluster, number, port, faults):
        self.cluster = cluster
        self.number = number
        self.port = port
        # The chance of a request, and of an answer, to get lost with its connection.
        self._faults = faults
        self._server = None
        # Of those that are open: what writes to it, and the task that serves it, which nobody else holds.
        self._connections = {}
        self.is_up = True

    async def start(self):
        security = self.cluster.security
        self._server = await asyncio.start_server(self._serve, self.host, self.port, ssl=security.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self):
        self.go()
        self._server.close()

    def go(self):
        """Goes away without a word: connections are cut, and new ones at once. The port stays its own."""
        self.is_up = False
        for writer in list(self._connections):
            writer.transport.abort()

    def come_back(self):
        self.is_up = True

    async def _serve(self, reader, writer):
        if not self.is_up:
            writer.transport.abort()
            return
        self._connections[writer] = asyncio.current_task()
        # The end of a connection may come in the middle of a request.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await self._answer(reader, writer)
        writer.transport.abort()
        del self._connections[writer]

    async def _answer(self, reader, writer):
        """Answers one request after the other; the next is not looked at before."""
        session = self.cluster.security.session()
        while not session.is_refused:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            if not 0 <= size <= _GREATEST_REQUEST:
                # Such as a greeting of TLS.
                return
            request = await reader.readexactly(size)
            if not session.is_open and not requests.is_open_to_all(request):
                # Kafka does not say why either.
                return
            faults = 0 if requests.is_administrative(request) else self._faults
            if random.random() < faults:
                return
            try:
                answer = await requests.handle(self, request, session)
            except Exception:
                # A fault of the stand-in's own.
                traceback.print_exc()
                return
            if random.random() < faults:
                return
            if answer is not None:
                writer.write(struct.pack(">i", len(answer)) + answer)
                await writer.drain()
        # What was refused is told before the connection ends.
        writer.close()
        await writer.wait_closed()

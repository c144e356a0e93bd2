"""Writes every frame that any interface of this network namespace sends or takes to a file, until it is told to end."""

import signal
import socket
import sys

ETH_P_ALL = 0x0003
frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024 * 1024)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with open(sys.argv[1], "wb") as kept:
    print("recording", flush=True)
    while True:
        kept.write(frames.recv(65536))
        kept.flush()

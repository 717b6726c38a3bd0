# SPDX-License-Identifier: Apache-2.0
"""A TCP port of this host that nobody uses and that nobody is given: the system takes from higher numbers where a program
asks for any. `python3 free_port.py` prints it.
"""
import random
import socket


def free_port():
    while True:
        port = random.SystemRandom().randrange(15000, 30000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


if __name__ == "__main__":
    print(free_port())

"""Reads recordings of other programs as captures, and writes captures in their formats.

- ``pcap`` reads packet files, with the help of ``packets`` and ``streams``.
- ``har`` reads the archives of HTTP clients.
- ``raw`` reads the bytes of one direction.
- ``pcapng`` writes a capture as packets.
"""

"""Sessions that other programs have recorded, read as captures; and captures written for them.

``pcap`` reads files of packets by way of ``packets`` and ``streams``, ``har`` the archives of HTTP
clients, ``raw`` the bytes of one direction; ``pcapng`` writes a capture as packets.
"""

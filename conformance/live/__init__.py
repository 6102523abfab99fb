"""Live traffic: relay two real peers to each other, and judge both during their session.

``relay`` moves bytes and knows no protocols. ``watch`` passes the bytes to a judge in a process of
its own. ``sides`` lists the two parties of each connection.
"""

"""Live traffic: relays two real peers to each other, and judges both while they talk.

``relay`` moves bytes and knows nothing of protocols; ``watch`` judges what has passed, in a thread
of its own; ``sides`` says who talks to whom.
"""

"""Live traffic: relays two real peers to each other, and judges both while they talk.

``relay`` moves bytes and knows nothing of protocols; ``watch`` hands what has passed to a judge in
a process of its own; ``sides`` says who talks to whom.
"""

"""Judge the traffic between peers: captures, live and recorded sessions, and their findings."""

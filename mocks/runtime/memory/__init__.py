"""What the mocks with buffers share: mapped objects, and the peers that work with them."""

"""What the mocks with buffers share: mapped objects, and whoever works with them."""

"""Code that mocks with buffers share: mapped objects, and peers that work with them."""

"""What the public module ``minichainer.link`` is made of."""

"""Links with weights: linear layers, convolutions and embeddings."""

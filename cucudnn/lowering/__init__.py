"""How a graph runs: partition, kernels, dialects, libraries, devices."""

"""`aisbench doctor`: checks of keys, names, certificates, clocks, proxies and libraries."""

"""Whether this machine can work with a profile's region: keys, names, certificates, clocks, proxies, libraries."""

"""Commands over a server: the client that sends them, the child process that runs them there, and logins."""

"""Commands for programs that speak to the console: tokens and the API."""

"""OBS through its SDK: objects, uploads in parts, and the client below them."""

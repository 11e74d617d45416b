"""Signs people in with an OpenID Connect provider, before any request reaches Streamlit."""

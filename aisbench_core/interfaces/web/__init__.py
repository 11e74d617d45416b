"""ASGI middleware in front of Streamlit: access control, cookies and uploads."""

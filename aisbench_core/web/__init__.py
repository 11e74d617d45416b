"""What stands between a browser and Streamlit: who may reach the console, from which pages."""

"""The OpenAPI document, made from the endpoints."""

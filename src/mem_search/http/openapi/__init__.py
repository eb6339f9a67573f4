"""The OpenAPI document and the page made from it."""

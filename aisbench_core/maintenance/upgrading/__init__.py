"""`aisbench upgrade`: brings a data folder of a development version to the schemas of the first release."""

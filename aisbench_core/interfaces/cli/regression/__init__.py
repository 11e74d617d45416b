"""`aisbench regress` and `baseline`: whether the newest runs differ from earlier ones, for people and for CI."""

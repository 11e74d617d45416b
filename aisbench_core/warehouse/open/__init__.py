"""The warehouse for others: views for analysts, SQL, and data frames."""

"""What the warehouse is asked, and answers: frozen values, free of SQL."""

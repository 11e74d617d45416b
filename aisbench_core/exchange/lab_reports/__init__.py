"""Numbered reports of the lab: prepared by one person, authorised by another, amended and withdrawn in the open."""

"""What people see: tables, pictures, progress, and where output goes."""

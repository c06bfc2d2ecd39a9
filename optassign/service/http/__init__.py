"""What speaks HTTP: the pages, what stands before all of them, what requests may say and how they are refused."""

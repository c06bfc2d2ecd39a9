"""Balance by weight: load per thread × capacity instead of counts (docs/reference/rules.md, "Balanced under load")."""

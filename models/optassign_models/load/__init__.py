"""Balance by weight: load per thread × capacity instead of counts (docs/rules.md, "Balanced under load")."""

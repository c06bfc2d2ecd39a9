"""What operators say of an application: hold still, drain a client, forget the plan; quiet hours and limits (docs/holding.md)."""

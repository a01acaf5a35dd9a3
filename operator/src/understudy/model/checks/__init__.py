"""The faults of a well-formed job. Each check yields one refusal per fault; `validate` lists all checks."""

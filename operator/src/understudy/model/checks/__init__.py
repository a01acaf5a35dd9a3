"""What can be wrong with a well-formed job. Each check yields a refusal per fault; `validate` lists them
all."""

"""Systems of senders and a network as constraints: grid, variables, properties, rules, and traces of them."""

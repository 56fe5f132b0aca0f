"""Video at frame level: generated content, encoder tables, senders, and metrics at the receiver."""

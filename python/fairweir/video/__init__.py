"""Video at frame level: generated content, tables of encoders, senders, and what the receiver sees."""

"""What can be swapped: language models, search engines, page readers, exporters, nested researchers."""

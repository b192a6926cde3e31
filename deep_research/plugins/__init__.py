"""What can be swapped: language models, search engines, readers, researchers, exporters."""

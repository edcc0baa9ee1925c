"""Reports as web pages: the page around them, tables that fit any screen, and plots drawn as SVG."""

"""Practice: mock interview, quiz, numbers to know, deck and design picture, all made from the pages."""

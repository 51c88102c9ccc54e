"""Evidence lanes: each turns cells into observations and stores nothing itself."""

"""What agent programs call by themselves; a hook never fails what it was called for (O-11)."""

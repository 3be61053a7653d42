"""Loop bodies reconstructed from kernel text where no IR was dumped."""

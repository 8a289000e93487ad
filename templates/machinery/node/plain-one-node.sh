(software; ranks)

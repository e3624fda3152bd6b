plan "smallest-1.0" {} # WARNING: Plan decides nothing

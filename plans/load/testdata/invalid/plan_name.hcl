plan "my plan/2" {} # ERROR: Invalid plan name

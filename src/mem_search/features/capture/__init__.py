"""Takes what hooks of agents tell, gives them context, and says what that costs."""
